"""Figures of a classifier: its training, its accuracy, and its prediction for one text. Plotly draws them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import partial

import numpy as np
from numpy.typing import NDArray

from attnviz.figures.plots import TITLE, Spec, axis, figure, labelled, turned_room, upright
from attnviz.figures.style import Palette, cell_texts, escape
from attnviz.formatting import exact, percent, weight

TRAINING, CELL = 270, 56
"""px: the height of a plot, and of a cell of the confusion matrix"""
BELOW = {"orientation": "h", "x": 0, "y": 1.02, "yanchor": "bottom"}
"""The place of a legend: one line above the plot"""


def losses(
    steps: NDArray[np.float32], training: NDArray[np.float32], evaluations: NDArray[np.float32], palette: Palette
) -> Spec:
    """Return the figure of the loss over the steps.

    Args:
        steps: (n,): the steps of the training loss.
        training: (n,): the loss on the step's own batch, in nats.
        evaluations: (E, 2): the number of steps, and the loss on held-out texts after them.
        palette: the colours of the theme.
    """
    data = [
        {
            "type": "scatter", "mode": "lines", "name": name, "x": x, "y": loss, "line": line,
            "customdata": cell_texts([loss], partial(exact, digits=3))[0],
            "hovertemplate": f"{name}<br>step %{{x:.0f}}: <b>%{{customdata}}</b> nats<extra></extra>",
        }
        for name, x, loss, line in (
            ("training", steps, training, {"color": palette.rule, "width": 1.5}),
            ("held out", *evaluations.T, {"color": palette.ink.attention, "width": 2.5}),
        )
    ]  # fmt: skip
    loss_axis = _axis("loss in nats", palette) | {"rangemode": "tozero"}
    return figure(data, palette, TRAINING, legend=BELOW, xaxis=_axis("step", palette), yaxis=loss_axis)


def confusion(counts: NDArray[np.int64], labels: Sequence[str], palette: Palette) -> Spec:
    """Return the figure of a confusion matrix, (K, K), with its numbers: rows are classes, columns predictions."""
    top = max(1, int(counts.max()))
    cells = {
        "type": "heatmap",
        "z": counts.tolist(),
        "zmin": 0,
        "zmax": top,
        "colorscale": palette.weights,
        "showscale": False,
        "texttemplate": "%{z}",
        "textfont": {"size": 18},
        "xgap": 2,
        "ygap": 2,
        "hovertemplate": "is %{y}, predicted %{x}: <b>%{z}</b><extra></extra>",
    }
    below = {"title": {"text": "predicted"}, "zeroline": False, "showgrid": False}
    beside = {"title": {"text": "is", "standoff": TITLE}, "autorange": "reversed", "showgrid": False}
    classes = labelled(labels, "", palette)
    height = max(TRAINING, 90 + CELL * len(labels))
    return figure([cells], palette, height, xaxis=classes | below, yaxis=classes | beside)


def seeds(shares: Mapping[str, Sequence[float]], names: Sequence[str], palette: Palette) -> Spec:
    """Return the figure of accuracies over several seeds: a row of points each, and their mean as a line.

    Args:
        shares: the accuracies, from 0 to 1, by the name of what was trained: one per seed.
        names: the names of the points, such as "seed 0".
        palette: the colours of the theme.
    """
    rows = list(shares)
    points = [
        {
            "type": "scatter", "mode": "markers", "x": [100 * share for share in values], "y": [row] * len(values),
            "text": [escape(name) for name in names], "customdata": [percent(share, 1) for share in values],
            "showlegend": False,
            "marker": {"size": 13, "opacity": 0.65, "color": palette.ink.attention if row == 0 else palette.ink.key},
            "hovertemplate": f"{escape(rows[row])}, %{{text}}: <b>%{{customdata}}</b><extra></extra>",
        }
        for row, values in enumerate(shares.values())
    ]  # fmt: skip
    means = [
        {
            "type": "line", "x0": mean, "x1": mean, "y0": row - 0.3, "y1": row + 0.3,
            "line": {"color": palette.text, "width": 3},
        }
        for row, mean in enumerate(100 * float(np.mean(values)) for values in shares.values())
    ]  # fmt: skip
    return figure(
        points, palette, 90 + 46 * len(rows), shapes=means, xaxis=_axis("right, in %; the line is the mean", palette),
        yaxis=labelled(rows, "", palette) | {"range": [len(rows) - 0.5, -0.5]},
    )  # fmt: skip


def _axis(title: str, palette: Palette) -> Spec:
    return axis("", palette) | {"title": {"text": title, "standoff": TITLE}}


WORDS = 170
"""px: the height of a bar chart without its labels"""
TURN = -60
"""Degrees by which words are turned where they have no room side by side"""
WRITTEN = 24
"""The most words that are named below their bars, in a plot that takes half of the page"""
COVERAGE = 260
"""px: the height of the plot of coverage and error"""


def effects(values: Sequence[float], words: Sequence[str], palette: Palette) -> Spec:
    """Return the bars of what each word adds to the probability of a class, in percentage points.

    Args:
        values: how much the probability falls without each word, from −1 to 1.
        words: the words that were left out, one at a time.
        palette: the colours of the theme; brown is below 0, purple above.
    """
    against, for_it = palette.signed[0][1], palette.signed[-1][1]
    bars = {
        "type": "bar",
        "x": list(range(len(words))),
        "y": [100 * value for value in values],
        "marker": {"color": [for_it if value >= 0 else against for value in values]},
        "customdata": [escape(word) for word in words],
        "hovertemplate": "%{customdata}<br><b>%{y:+.1f}</b> percentage points<extra></extra>",
    }
    most = max((abs(100 * value) for value in values), default=0) or 1
    zero_line = {"zerolinecolor": palette.text, "zeroline": True}
    points = axis("percentage points", palette, range=[-1.1 * most, 1.1 * most]) | zero_line
    return figure([bars], palette, WORDS + turned_room(words), xaxis=_words(words, palette), yaxis=points)


def looks(mean: Sequence[float], head: Sequence[float] | None, tokens: Sequence[str], palette: Palette) -> Spec:
    """Return the bars of [CLS]'s weights: the mean over the heads, and one head as points.

    Args:
        mean: (T,).
        head: (T,), or None.
        tokens: the labels.
        palette: the colours of the theme.
    """
    shared = {"x": list(range(len(tokens))), "customdata": [escape(token) for token in tokens]}
    hover = "<br>%{customdata}: <b>%{hovertext}</b><extra></extra>"
    data: list[Spec] = [
        {
            "type": "bar", "name": "mean over heads", "y": list(mean), "hovertext": list(map(weight, mean)), **shared,
            "marker": {"color": palette.ink.attention}, "hovertemplate": f"mean{hover}",
        }
    ]  # fmt: skip
    if head is not None:
        data.append({
            "type": "scatter", "mode": "markers", "name": "chosen head", "y": list(head),
            "hovertext": list(map(weight, head)), **shared,
            "marker": {"color": palette.text, "size": 8, "symbol": "diamond"}, "hovertemplate": f"head{hover}",
        })  # fmt: skip
    return figure(
        data, palette, WORDS + turned_room(tokens), showlegend=head is not None, legend=BELOW,
        xaxis=_words(tokens, palette), yaxis=axis("weight", palette, rangemode="tozero"),
    )  # fmt: skip


def coverage(
    thresholds: NDArray[np.float64], covered: NDArray[np.float64], error: NDArray[np.float64], chosen: float,
    palette: Palette,
) -> Spec:  # fmt: skip
    """Return the figure of coverage and error at each threshold, in %, with the chosen threshold marked.

    Args:
        thresholds: (n,), from 0 to 1.
        covered: (n,), the share that is not handed to a human.
        error: (n,), the share of these that is wrong; nan if nothing is covered.
        chosen: the chosen threshold.
        palette: the colours of the theme.
    """
    data = [
        {
            "type": "scatter", "mode": "lines", "name": name, "x": thresholds,
            "y": [None if math.isnan(value) else 100 * value for value in values],
            "customdata": [percent(value, 1) for value in values],
            "line": {"color": colour, "width": 2.5, "dash": dash, "shape": "hv"},
            "hovertemplate": f"threshold %{{x:.2f}}<br>{name}: <b>%{{customdata}}</b><extra></extra>",
        }
        for name, values, colour, dash in (
            ("coverage", covered, palette.ink.query, "solid"), ("error", error, palette.ink.key, "dash"),
        )
    ]  # fmt: skip
    return figure(
        data, palette, COVERAGE, legend=BELOW, shapes=[upright(chosen, color=palette.text, dash="dot", width=2)],
        xaxis=axis("threshold: below it a human is asked", palette, range=[0, 1]),
        yaxis=axis("% of reports", palette, range=[0, 103]),
    )  # fmt: skip


def _words(labels: Sequence[str], palette: Palette) -> Spec:
    words = labelled(labels, "", palette)
    step = math.ceil(len(words["tickvals"]) / WRITTEN) or 1
    written = {key: words[key][::step] for key in ("tickvals", "ticktext")}
    return words | written | {"showgrid": False, "autotickangles": [0, TURN]}
