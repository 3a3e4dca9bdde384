"""How a classifier is trained and how good it is: losses, confusion, several seeds. Plotly draws them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from attnviz.figures.plots import TITLE, Spec, base, labelled
from attnviz.figures.style import Palette, escape

HEIGHT, CELL = 270, 56
"""px: of a plot, and of a cell of the confusion"""
BELOW = {"orientation": "h", "x": 0, "y": 1.02, "yanchor": "bottom"}
"""Where a legend is: in one line above the plot"""


def losses(
    steps: NDArray[np.float32], training: NDArray[np.float32], evaluations: NDArray[np.float32], palette: Palette
) -> Spec:
    """Return the figure of the loss over the steps.

    Args:
        steps: (n,), of the training loss.
        training: (n,): the loss on the step's own batch, in nats.
        evaluations: (E, 2): after how many steps, and the loss on held-out texts.
        palette: the colours of the theme.
    """
    hover = "<br>step %{x:.0f}: <b>%{y:.3f}</b> nats<extra></extra>"
    data = [
        {
            "type": "scatter", "mode": "lines", "name": "training", "x": steps, "y": training,
            "line": {"color": palette.rule, "width": 1.5}, "hovertemplate": f"training{hover}",
        },
        {
            "type": "scatter", "mode": "lines", "name": "held out", "x": evaluations[:, 0], "y": evaluations[:, 1],
            "line": {"color": palette.ink.attention, "width": 2.5}, "hovertemplate": f"held out{hover}",
        },
    ]  # fmt: skip
    return {
        "data": data,
        "layout": {
            **base(palette, HEIGHT),
            "legend": BELOW,
            "xaxis": _axis("step", palette),
            "yaxis": _axis("loss in nats", palette) | {"rangemode": "tozero"},
        },
    }


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
    return {
        "data": [cells],
        "layout": {
            **base(palette, max(HEIGHT, 90 + CELL * len(labels))),
            "xaxis": labelled(labels, "", palette) | below,
            "yaxis": labelled(labels, "", palette)
            | {"title": {"text": "is", "standoff": TITLE}, "autorange": "reversed", "showgrid": False},
        },
    }


def seeds(shares: Mapping[str, Sequence[float]], names: Sequence[str], palette: Palette) -> Spec:
    """Return the figure of accuracies over several seeds: a row of points each, and their mean as a line.

    Args:
        shares: the accuracies by the name of what was trained, from 0 to 1: one a seed.
        names: what a point is called, such as "seed 0".
        palette: the colours of the theme.
    """
    rows = list(shares)
    points = [
        {
            "type": "scatter", "mode": "markers", "x": [100 * one for one in values], "y": [row] * len(values),
            "text": [escape(name) for name in names], "showlegend": False,
            "marker": {"size": 13, "opacity": 0.65, "color": palette.ink.attention if row == 0 else palette.ink.key},
            "hovertemplate": f"{escape(rows[row])}, %{{text}}: <b>%{{x:.1f}} %</b><extra></extra>",
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
    return {
        "data": points,
        "layout": {
            **base(palette, 90 + 46 * len(rows)),
            "shapes": means,
            "xaxis": _axis("right, in %; the line is the mean", palette),
            "yaxis": labelled(rows, "", palette) | {"range": [len(rows) - 0.5, -0.5]},
        },
    }


def _axis(title: str, palette: Palette) -> Spec:
    named = {"title": {"text": title, "standoff": TITLE}}
    return {**named, "gridcolor": palette.rule, "zeroline": False, "automargin": True}
