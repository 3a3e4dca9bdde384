"""Several matrices of weights in a grid, with one colour domain. Plotly draws them."""

from __future__ import annotations

import math
from collections.abc import Sequence

from torch import Tensor

from attnviz.figures.plots import LONGEST, Spec, base
from attnviz.figures.style import Palette, cell_texts, escape, shorten
from attnviz.formatting import weight

GAP, TITLE = 0.03, 24
"""The space between two matrices, as a fraction of the width; px: the height of a title"""
AROUND = 10
"""px: the space above and below the grid, together"""
ACROSS = ((1, 1), (2, 2), (3, 3), (4, 2), (6, 3), (math.inf, 4))
"""For up to this many matrices: how many columns the grid has"""


def multiples(
    matrices: Tensor,
    titles: Sequence[str],
    labels: Sequence[str],
    palette: Palette,
    *,
    limit: float,
    height: int,
) -> Spec:
    """Return the figure of several matrices, each with its title above it and its first row at the top.

    Args:
        matrices: (n, T, T), numbers from 0 up.
        titles: the titles of the n matrices.
        labels: the labels of rows and columns, the same for all; a matrix shows them on hovering.
        palette: the colours of the theme.
        limit: the end of the colour domain.
        height: the height of the whole figure, in px.
    """
    layout: Spec = {
        **base(palette, height),
        "margin": {"l": 10, "r": 10, "t": 4, "b": AROUND - 4},
        "coloraxis": {
            "colorscale": palette.weights,
            "cmin": 0,
            "cmax": limit,
            "colorbar": {"thickness": 10, "outlinewidth": 0},
        },
        "annotations": [],
    }
    axis, data = _axis(labels), []
    for number, (matrix, title) in enumerate(zip(matrices, titles, strict=True)):
        name = "" if number == 0 else str(number + 1)
        (left, right), (bottom, top) = _place(number, len(matrices), height)
        layout[f"xaxis{name}"] = axis | {"domain": [left, min(1.0, right)], "anchor": f"y{name}"}
        layout[f"yaxis{name}"] = axis | {
            "domain": [max(0.0, bottom), top], "anchor": f"x{name}", "autorange": "reversed",
        }  # fmt: skip
        layout["annotations"].append({
            "text": escape(title), "x": (left + right) / 2, "y": top, "xref": "paper", "yref": "paper",
            "xanchor": "center", "yanchor": "bottom", "showarrow": False,
        })  # fmt: skip
        data.append({
            "type": "heatmap", "z": matrix.numpy(), "coloraxis": "coloraxis", "xaxis": f"x{name}", "yaxis": f"y{name}",
            "customdata": cell_texts(matrix, weight),
            "hovertemplate": f"{escape(title)}<br>%{{y}} → %{{x}}<br><b>%{{customdata}}</b><extra></extra>",
        })  # fmt: skip
    return {"data": data, "layout": layout}


def _axis(labels: Sequence[str]) -> Spec:
    """Return the properties that all axes share: labels that only hovering shows."""
    return {
        "tickvals": list(range(len(labels))),
        "ticktext": [escape(shorten(label, LONGEST)) for label in labels],
        "showticklabels": False,
        "ticks": "",
        "showgrid": False,
        "zeroline": False,
    }


def _place(number: int, count: int, height: int) -> tuple[tuple[float, float], tuple[float, float]]:
    """Return where one of `count` matrices is, from left to right and from bottom to top, each from 0 to 1."""
    across = next(wide for most, wide in ACROSS if count <= most)
    down = math.ceil(count / across)
    wide, room = (1 - GAP * (across - 1)) / across, TITLE / (height - AROUND)
    high = (1 - room * down) / down
    row, column = divmod(number, across)
    left, top = column * (wide + GAP), 1 - row * (high + room) - room
    return (left, left + wide), (top - high, top)
