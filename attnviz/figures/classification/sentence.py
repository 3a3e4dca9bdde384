"""What a classifier makes of one text: what each word does, what [CLS] looks at; and coverage against error."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from attnviz.figures.classification.training import BELOW
from attnviz.figures.plots import LETTER, LONGEST, Spec, base, labelled
from attnviz.figures.style import Palette, escape

HEIGHT = 170
"""px: of bars without their labels"""
WRITTEN = 24
"""The most words that are named below their bars, which have half of the page"""
COVERAGE = 260
"""px: of coverage and error"""


def effects(values: Sequence[float], words: Sequence[str], palette: Palette) -> Spec:
    """Return the bars of what each word adds to the probability of a class, in percentage points.

    Args:
        values: by how much the probability falls without the word, from −1 to 1.
        words: what was left out each time.
        palette: the colours of the theme; brown is below 0, purple above.
    """
    against, for_it = palette.signed[0][1], palette.signed[-1][1]
    bars = {
        "type": "bar",
        "x": list(range(len(words))),
        "y": [100 * one for one in values],
        "marker": {"color": [for_it if one >= 0 else against for one in values]},
        "customdata": [escape(word) for word in words],
        "hovertemplate": "%{customdata}<br><b>%{y:+.1f}</b> percentage points<extra></extra>",
    }
    most = max((abs(100 * one) for one in values), default=0) or 1
    return {
        "data": [bars],
        "layout": {
            **base(palette, HEIGHT + _room(words)),
            "xaxis": _words(words, palette),
            "yaxis": {
                "title": {"text": "percentage points"}, "range": [-1.1 * most, 1.1 * most],
                "gridcolor": palette.rule, "zerolinecolor": palette.text, "zeroline": True, "automargin": True,
            },
        },
    }  # fmt: skip


def looks(mean: Sequence[float], head: Sequence[float] | None, tokens: Sequence[str], palette: Palette) -> Spec:
    """Return the bars of [CLS]'s weights: the mean over the heads, and one head as points.

    Args:
        mean: (T,).
        head: (T,), or None.
        tokens: the labels.
        palette: the colours of the theme.
    """
    shared = {"x": list(range(len(tokens))), "customdata": [escape(token) for token in tokens]}
    hover = "<br>%{customdata}: <b>%{y:.3f}</b><extra></extra>"
    data: list[Spec] = [
        {
            "type": "bar", "name": "mean over heads", "y": list(mean), **shared,
            "marker": {"color": palette.ink.attention}, "hovertemplate": f"mean{hover}",
        }
    ]  # fmt: skip
    if head is not None:
        data.append({
            "type": "scatter", "mode": "markers", "name": "chosen head", "y": list(head), **shared,
            "marker": {"color": palette.text, "size": 8, "symbol": "diamond"}, "hovertemplate": f"head{hover}",
        })  # fmt: skip
    return {
        "data": data,
        "layout": {
            **base(palette, HEIGHT + _room(tokens)),
            "showlegend": head is not None,
            "legend": BELOW,
            "xaxis": _words(tokens, palette),
            "yaxis": {
                "title": {"text": "weight"}, "rangemode": "tozero", "gridcolor": palette.rule, "zeroline": False,
                "automargin": True,
            },
        },
    }  # fmt: skip


def coverage(
    thresholds: NDArray[np.float64], covered: NDArray[np.float64], error: NDArray[np.float64], chosen: float,
    palette: Palette,
) -> Spec:  # fmt: skip
    """Return the figure of coverage and error at each threshold, in %, with the chosen threshold marked.

    Args:
        thresholds: (n,), from 0 to 1.
        covered: (n,), the share that is not handed over.
        error: (n,), the share of these that is wrong; nan if there is none.
        chosen: the chosen threshold.
        palette: the colours of the theme.
    """
    data = [
        {
            "type": "scatter", "mode": "lines", "name": name, "x": thresholds,
            "y": [None if math.isnan(one) else 100 * one for one in values],
            "line": {"color": colour, "width": 2.5, "dash": dash, "shape": "hv"},
            "hovertemplate": f"threshold %{{x:.2f}}<br>{name}: <b>%{{y:.1f}} %</b><extra></extra>",
        }
        for name, values, colour, dash in (
            ("coverage", covered, palette.ink.query, "solid"), ("error", error, palette.ink.key, "dash"),
        )
    ]  # fmt: skip
    mark = {
        "type": "line", "x0": chosen, "x1": chosen, "y0": 0, "y1": 1, "yref": "paper",
        "line": {"color": palette.text, "dash": "dot", "width": 2},
    }  # fmt: skip
    axis = {"gridcolor": palette.rule, "zeroline": False, "automargin": True}
    return {
        "data": data,
        "layout": {
            **base(palette, COVERAGE),
            "legend": BELOW,
            "shapes": [mark],
            "xaxis": {"title": {"text": "threshold: below it a human is asked"}, "range": [0, 1], **axis},
            "yaxis": {"title": {"text": "% of reports"}, "range": [0, 103], **axis},
        },
    }


def _room(labels: Sequence[str]) -> int:
    """Return the room for labels that are turned, in px."""
    return LETTER * min(LONGEST, max(map(len, labels), default=0)) if len(labels) > 8 else 20


def _words(labels: Sequence[str], palette: Palette) -> Spec:
    axis = labelled(labels, "", palette)
    every = math.ceil(len(axis["tickvals"]) / WRITTEN) or 1
    written = {what: axis[what][::every] for what in ("tickvals", "ticktext")}
    return axis | written | {"showgrid": False, "tickangle": -60 if len(labels) > 8 else 0}
