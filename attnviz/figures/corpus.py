"""Plots of a head's measures over a corpus, and of one text among them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from attnviz.figures.plots import Spec, axis, figure, labelled, upright
from attnviz.figures.style import AXIS_TITLE, Palette, cell_texts
from attnviz.formatting import counted, number, weight

BESIDE, LARGE = 260, 360
"""px: the height of a plot, and its height in a lecture"""
TICKS = 4
"""Tokens between two ticks of an axis of relative positions"""


def distribution(
    counts: Sequence[int], edges: Sequence[float], palette: Palette, *, title: str, here: float | None,
    height: int = BESIDE,
) -> Spec:  # fmt: skip
    """Return the figure of a histogram, with a line at this text's value. Empty bins at the ends are left out.

    Args:
        counts: the number of sentences in each bin.
        edges: the bounds of the bins, one more than there are bins.
        palette: the colours of the theme.
        title: the title of the measure, with its unit.
        here: this text's value; None if it has no value.
        height: in px.
    """
    filled = [bin_number for bin_number, count in enumerate(counts) if count]
    first, last = (min(filled), max(filled) + 1) if filled else (0, len(counts))
    low, high = edges[first], edges[last]
    bounds = list(zip(edges[first:last], edges[first + 1 : last + 1], strict=True))
    bars = {
        "type": "bar",
        "x": [(a + b) / 2 for a, b in bounds],
        "width": [b - a for a, b in bounds],
        "y": list(counts[first:last]),
        "customdata": [[a, b] for a, b in bounds],
        "marker": {"color": palette.ink.attention, "line": {"width": 0}},
        "hovertemplate": "%{customdata[0]:.3g} to %{customdata[1]:.3g}: <b>%{y:,}</b> sentences<extra></extra>",
    }
    marks: Spec = {}
    if here is not None:
        name = {"x": here, "y": 1, "yref": "paper", "yanchor": "bottom", "showarrow": False, "text": "this text",
                "font": {"color": palette.text_ink.key}}  # fmt: skip
        marks = {"shapes": [upright(here, color=palette.ink.key, width=3)], "annotations": [name]}
    ends = [low, high, *([] if here is None else [here])]
    room = 0.02 * (max(ends) - min(ends))
    return figure(
        [bars], palette, height, bargap=0, showlegend=False, yaxis=_up("sentences", palette), **marks,
        xaxis=axis(title, palette, range=[min(ends) - room, max(ends) + room]),
    )  # fmt: skip


def positions(means: Sequence[float], offsets: Sequence[int], palette: Palette, height: int = BESIDE) -> Spec:
    """Return the figure of a bar for each relative position: the mean weight between tokens at that distance."""
    bars = {
        "type": "bar",
        "x": list(offsets),
        "y": list(means),
        "marker": {"color": palette.ink.attention},
        "customdata": [[apart(offset), weight(mean)] for offset, mean in zip(offsets, means, strict=True)],
        "hovertemplate": "%{customdata[0]}: <b>%{customdata[1]}</b><extra></extra>",
    }
    ticks = [offset for offset in offsets if offset % TICKS == 0]
    distance = {
        "title": {"text": "tokens before (left) or after (right) the query"},
        "tickvals": ticks, "ticktext": [str(abs(offset)) for offset in ticks],
        "gridcolor": palette.rule, "zeroline": False,
    }  # fmt: skip
    spec = figure([bars], palette, height, bargap=0.15, xaxis=distance, yaxis=_up("mean weight", palette))
    spec["layout"]["margin"] |= {"t": 10}
    return spec


def by_part(means: npt.NDArray[np.float64], parts: Sequence[str], palette: Palette, height: int = BESIDE) -> Spec:
    """Return the figure of the mean weights, (P, P), from each part of a sentence, in the rows, to each other part."""
    shown = np.nan_to_num(means)
    cells: dict[str, Any] = {
        "type": "heatmap",
        "z": shown.round(4).tolist(),
        "zmin": 0,
        "zmax": 1,
        "colorscale": palette.weights,
        "colorbar": {"thickness": 10, "outlinewidth": 0},
        "text": cell_texts(shown, number),
        "texttemplate": "%{text}",
        "customdata": cell_texts(shown, weight),
        "hovertemplate": "from %{y} to %{x}: <b>%{customdata}</b><extra></extra>",
        "xgap": 2,
        "ygap": 2,
    }
    side = {"title": {"text": AXIS_TITLE["query"], "standoff": 16}, "autorange": "reversed", "showgrid": False}
    below = labelled(parts, AXIS_TITLE["key"], palette) | {"showgrid": False}
    spec = figure([cells], palette, height, xaxis=below, yaxis=labelled(parts, "", palette) | side)
    spec["layout"]["margin"] |= {"t": 10}
    return spec


def _up(title: str, palette: Palette) -> Spec:
    """Return the axis of bars that begin at 0."""
    return {"title": {"text": title}, "rangemode": "tozero", "gridcolor": palette.rule, "automargin": True}


def apart(offset: int) -> str:
    """Write a relative position in words."""
    if offset == 0:
        return "the token itself"
    return f"{counted(abs(offset), 'token')} {'before' if offset < 0 else 'after'}"
