"""Plots of what every head does over a corpus: its mean weights by relative position, and where one text lies."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from attnviz.figures.head_grid import Head, frames, targets
from attnviz.figures.plots import SIDE, Spec, base, labelled
from attnviz.figures.style import Palette

NEAR = 8
"""The farthest relative position in the picture of a head, in tokens"""
GRID, BESIDE = 430, 300
"""px: the heights of the grid of heads, and of a plot beside it"""
LARGE = 480, 360
"""px: of both in a lecture"""
DARKEST = 0.5
"""The mean weight that has the darkest colour, and all above it"""


def pictures(
    offset_mean: npt.NDArray[np.float64], offsets: Sequence[int], palette: Palette, *, chosen: Head,
    said: Mapping[Head, str], height: int = GRID,
) -> Spec:  # fmt: skip
    """Return the figure of all heads: for each a small matrix, whose cell (i, j) is the mean weight at j − i.

    The second trace holds a target for each head, whose customdata is its layer and head.

    Args:
        offset_mean: the mean weight at each relative position, (L, H, R).
        offsets: the R positions, which go from −`NEAR` at least to `NEAR`.
        palette: the colours of the theme.
        chosen: the head that has a frame.
        said: what each head says while it is pointed at.
        height: in px.
    """
    layers, heads, _ = offset_mean.shape
    side = NEAR + 1
    apart = np.arange(side)[None, :] - np.arange(side)[:, None]  # (side, side): key − query
    tiles = offset_mean[..., apart - offsets[0]]  # (L, H, side, side)
    spaced = np.full((layers, side + 1, heads, side + 1), np.nan)
    spaced[:, :side, :, :side] = tiles.transpose(0, 2, 1, 3)
    cells = spaced.reshape(layers * (side + 1), heads * (side + 1))
    # Each head has the place of its number, −0.5 to 0.5, less the gap behind its last cell.
    across, down = (np.arange(count * (side + 1)) / (side + 1) - 0.5 + 1 / (side + 1) for count in (heads, layers))
    picture = {
        "type": "heatmap",
        "x": across.tolist(),
        "y": down.tolist(),
        "z": [[None if one != one else round(one, 4) for one in row] for row in cells.tolist()],  # noqa: PLR0124
        "zmin": 0,
        "zmax": DARKEST,
        "colorscale": palette.weights,
        "hoverinfo": "skip",
        "hoverongaps": False,
        "colorbar": {
            "orientation": "h", "y": 1, "yanchor": "bottom", "x": 1, "xanchor": "right", "len": 0.5,
            "ticklabelposition": "outside top",
            "thickness": 8, "outlinewidth": 0, "tickvals": [0, DARKEST / 2, DARKEST],
            "ticktext": ["0", f"{DARKEST / 2:g}", f"≥ {DARKEST:g}"],
        },
    }  # fmt: skip
    axis = {"showgrid": False, "zeroline": False, "fixedrange": True, "automargin": True}
    return {
        "data": [picture, targets(said)],
        "layout": {
            **base(palette, height),
            "margin": {"l": 60, "r": SIDE, "t": 34, "b": 40},
            "showlegend": False,
            "shapes": [*_outlines(layers, heads, side, palette), *frames([chosen], palette)],
            "dragmode": False,
            "clickmode": "event+select",
            "xaxis": {
                **axis, "title": {"text": "head"}, "range": [-0.52, heads - 0.48],
                "tickvals": list(range(heads)), "ticktext": [str(head) for head in range(heads)],
            },
            "yaxis": {
                **axis, "range": [layers - 0.48, -0.52],
                "tickvals": list(range(layers)), "ticktext": [f"layer {layer}" for layer in range(layers)],
            },
        },
    }  # fmt: skip


def _outlines(layers: int, heads: int, side: int, palette: Palette) -> list[Spec]:
    """Return a thin line around each head's matrix, so that a pale one is seen as one."""
    inset = 0.5 / (side + 1)
    return [
        {
            "type": "rect", "x0": head - 0.5 + inset, "x1": head + 0.5 - inset, "y0": layer - 0.5 + inset,
            "y1": layer + 0.5 - inset, "line": {"width": 1, "color": palette.rule},
        }
        for layer in range(layers)
        for head in range(heads)
    ]  # fmt: skip


def distribution(
    counts: Sequence[int], edges: Sequence[float], palette: Palette, *, title: str, here: float | None,
    height: int = BESIDE,
) -> Spec:  # fmt: skip
    """Return the figure of a histogram, with a line where this text lies. Empty bins at the ends are left out.

    Args:
        counts: the sentences of each bin.
        edges: the bounds of the bins, one more.
        palette: the colours of the theme.
        title: of the measure, with its unit.
        here: this text's value; None if it has none.
        height: in px.
    """
    filled = [place for place, count in enumerate(counts) if count]
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
    layout = {
        **base(palette, height),
        "bargap": 0,
        "showlegend": False,
        "xaxis": {
            "title": {"text": title}, "range": _with_room(low, high, here), "gridcolor": palette.rule,
            "automargin": True, "zeroline": False,
        },
        "yaxis": {
            "title": {"text": "sentences"}, "rangemode": "tozero", "gridcolor": palette.rule, "automargin": True,
        },
    }  # fmt: skip
    if here is not None:
        line = {"color": palette.ink.key, "width": 3}
        layout["shapes"] = [{"type": "line", "x0": here, "x1": here, "y0": 0, "y1": 1, "yref": "paper", "line": line}]
        layout["annotations"] = [
            {
                "x": here, "y": 1, "yref": "paper", "yanchor": "bottom", "showarrow": False, "text": "this text",
                "font": {"color": palette.text_ink.key},
            }
        ]  # fmt: skip
    return {"data": [bars], "layout": layout}


def positions(means: Sequence[float], offsets: Sequence[int], palette: Palette, height: int = BESIDE) -> Spec:
    """Return the figure of a bar for each relative position: the mean weight between tokens so far apart."""
    bars = {
        "type": "bar",
        "x": list(offsets),
        "y": list(means),
        "marker": {"color": palette.ink.attention},
        "customdata": [_apart(offset) for offset in offsets],
        "hovertemplate": "%{customdata}: <b>%{y:.4f}</b><extra></extra>",
    }
    layout = {
        **base(palette, height),
        "bargap": 0.15,
        "xaxis": {"title": {"text": "key − query, tokens"}, "gridcolor": palette.rule, "zeroline": False},
        "yaxis": {"title": {"text": "mean weight"}, "rangemode": "tozero", "gridcolor": palette.rule,
                  "automargin": True},
    }  # fmt: skip
    layout["margin"] |= {"t": 10}
    return {"data": [bars], "layout": layout}


def by_part(means: npt.NDArray[np.float64], parts: Sequence[str], palette: Palette, height: int = BESIDE) -> Spec:
    """Return the figure of the mean weight from each part of a sentence, in the rows, to each, (P, P)."""
    cells: dict[str, Any] = {
        "type": "heatmap",
        "z": np.nan_to_num(means).round(4).tolist(),
        "zmin": 0,
        "zmax": 1,
        "colorscale": palette.weights,
        "colorbar": {"thickness": 10, "outlinewidth": 0},
        "texttemplate": "%{z:.2f}",
        "hovertemplate": "from %{y} to %{x}: <b>%{z:.4f}</b><extra></extra>",
        "xgap": 2,
        "ygap": 2,
    }
    layout = {
        **base(palette, height),
        "xaxis": labelled(parts, "to (key)", palette) | {"showgrid": False},
        "yaxis": labelled(parts, "", palette)
        | {"title": {"text": "from (query)", "standoff": 16}, "autorange": "reversed", "showgrid": False},
    }
    layout["margin"] |= {"t": 10}
    return {"data": [cells], "layout": layout}


def _with_room(low: float, high: float, here: float | None) -> list[float]:
    """Return an axis on which the bins and this text lie, with a little room."""
    ends = [low, high, *([] if here is None else [here])]
    room = 0.02 * (max(ends) - min(ends))
    return [min(ends) - room, max(ends) + room]


def _apart(offset: int) -> str:
    """Write a relative position in words."""
    if offset == 0:
        return "the token itself"
    return f"{abs(offset)} token{'' if abs(offset) == 1 else 's'} {'before' if offset < 0 else 'after'}"
