"""Plots of the model without some heads: the effect of each head, of each token's change, and against a measure."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, Any

from attnviz.figures.plots import SIDE, Spec, base, heatmap, labelled
from attnviz.figures.style import Palette, escape
from attnviz.formatting import DIGITS, number

if TYPE_CHECKING:
    from torch import Tensor

Head = tuple[int, int]

GRID, BESIDE = 330, 340
"""px: the heights of the grid of heads, and of the plot beside it"""
LARGE = 420
"""px: the height of both in a lecture"""
UNKNOWN = 0.25
"""The opacity of the cells before the effects are computed"""
WRITTEN = 20
"""The most tokens that are named below their bars, in a plot that takes half of the page"""
TARGET = 34
"""px: of the invisible square over a cell of the grid"""
INSET = 0.43
"""Half the side of a frame, in cells: less than 0.5, so that frames of neighbours do not touch"""
THOUSANDTHS = 1000
LEAST = 1e-7
"""The smallest effect on a logarithmic axis: smaller ones are float32's rounding, and are drawn here"""
NUMBERED = 6
"""The most switched-off heads that are named in the plot of effects"""


def grid(
    effects: Tensor | None, off: Collection[Head], palette: Palette, *, layers: int, heads: int, height: int = GRID
) -> Spec:
    """Return the figure of the effects of all heads, (L, H), with a frame around those that are switched off.

    The second trace has a click target for each head, whose customdata is its layer and head.

    Args:
        effects: 1 − cosine of each head; None if not computed.
        off: the heads that are switched off.
        palette: the colours of the theme.
        layers: L.
        heads: H.
        height: in px.
    """
    cells, layout = _cells(effects, layers, heads, palette)
    layout["xaxis"] |= {"range": [-0.5, heads - 0.5], "showgrid": False, "fixedrange": True}
    layout["yaxis"] |= {"range": [layers - 0.5, -0.5], "autorange": False, "showgrid": False, "fixedrange": True}
    frames = [
        {
            "type": "rect", "x0": head - INSET, "x1": head + INSET, "y0": layer - INSET, "y1": layer + INSET,
            "line": {"width": 3, "color": palette.ink.key},
        }
        for layer, head in off
    ]  # fmt: skip
    layout |= {
        "height": height, "showlegend": False, "margin": {"l": 60, "r": SIDE, "t": SIDE, "b": 40}, "shapes": frames,
        "dragmode": False, "clickmode": "event+select",
    }  # fmt: skip
    return {"data": [cells, _targets(effects, off, layers, heads)], "layout": layout}


def _cells(effects: Tensor | None, layers: int, heads: int, palette: Palette) -> tuple[Spec, Spec]:
    """Return the trace of the cells, with their numbers in thousandths if there are any, and its layout."""
    import torch

    numbers = torch.zeros(layers, heads) if effects is None else effects
    rows = [f"layer {layer}" for layer in range(layers)]
    spec = heatmap(numbers, rows, [str(head) for head in range(heads)], palette, across="head", signed=False)
    (cells,) = spec["data"]
    cells |= {"xgap": 2, "ygap": 2, "hoverinfo": "skip", "showscale": False}
    del cells["hovertemplate"], cells["customdata"], cells["colorbar"]
    if effects is None:
        cells |= {"colorscale": [[0, palette.rule], [1, palette.rule]], "opacity": UNKNOWN}
    else:
        cells |= {
            "text": [[short(THOUSANDTHS * effect) for effect in row] for row in numbers.tolist()],
            "texttemplate": "%{text}",
        }
    return cells, spec["layout"]


def _targets(effects: Tensor | None, off: Collection[Head], layers: int, heads: int) -> Spec:
    """Return the trace of an invisible square for each head, which takes clicks and whose tooltip explains them."""
    places = [(layer, head) for layer in range(layers) for head in range(heads)]
    tooltips = ["" if effects is None else f"<br>1 − cosine: <b>{float(effects[place]):.3g}</b>" for place in places]
    return {
        "type": "scatter",
        "mode": "markers",
        "x": [head for _, head in places],
        "y": [layer for layer, _ in places],
        "marker": {"symbol": "square", "size": TARGET, "opacity": 0},
        "customdata": [list(place) for place in places],
        "hovertemplate": [
            f"layer {layer} · head {head}{text}<br>{'on again' if (layer, head) in off else 'switch off'} by a click"
            "<extra></extra>"
            for (layer, head), text in zip(places, tooltips, strict=True)
        ],
    }


def changes(values: Sequence[float], labels: Sequence[str], palette: Palette, height: int = BESIDE) -> Spec:
    """Return the figure of a bar for each token, 1 − cosine of its output embedding."""
    bars = {
        "type": "bar",
        "x": list(range(len(values))),
        "y": list(values),
        "marker": {"color": palette.ink.attention},
        "customdata": [[escape(label), number(1 - value, DIGITS)] for label, value in zip(labels, values, strict=True)],
        "hovertemplate": "%{customdata[0]}<br>cosine <b>%{customdata[1]}</b><extra></extra>",
    }
    layout = {
        **base(palette, height),
        "bargap": 0.15,
        "xaxis": labelled(labels, "token", palette),
        "yaxis": {
            "title": {"text": "1 − cosine"}, "rangemode": "tozero", "automargin": True, "gridcolor": palette.rule,
        },
    }  # fmt: skip
    layout["margin"] |= {"t": 10}
    axis = layout["xaxis"]
    step = math.ceil(len(axis["tickvals"]) / WRITTEN) or 1
    axis |= {key: axis[key][::step] for key in ("tickvals", "ticktext")}
    return {"data": [bars], "layout": layout}


def against(
    measure: Sequence[float], effects: Sequence[float], off: Collection[Head], palette: Palette, *, title: str,
    heads: int, height: int = BESIDE,
) -> Spec:  # fmt: skip
    """Return the figure of all heads as points: a measure of attention to the right, the effect upwards.

    Args:
        measure: a number for each head, layer by layer, (L · H,).
        effects: 1 − cosine of each head, in the same order.
        off: the heads that are switched off, which are marked and named.
        palette: the colours of the theme.
        title: the title of the measure, with its unit.
        heads: H.
        height: in px.
    """
    places = [divmod(number, heads) for number in range(len(effects))]
    raised = [max(effect, LEAST) for effect in effects]
    last = places[-1][0]
    data = []
    for name, is_last in (("other layers", False), (f"layer {last}", True)):
        chosen = [n for n, place in enumerate(places) if (place[0] == last) == is_last and place not in off]
        points = _points(name, chosen, places, measure, raised, palette)
        points["marker"] |= {"symbol": "circle" if is_last else "circle-open"}
        data.append(points)
    crossed = [n for n, place in enumerate(places) if place in off]
    marks = _points("switched off", crossed, places, measure, raised, palette)
    marks["marker"] = {"symbol": "x", "size": 11, "color": palette.ink.key}
    if len(crossed) <= NUMBERED:
        names = [f"{layer} · {head}" for layer, head in (places[n] for n in crossed)]
        marks |= {"mode": "markers+text", "text": names, "textposition": "top center"}
    grid_line = {"gridcolor": palette.rule, "automargin": True, "zeroline": False, "fixedrange": True}
    layout = {
        **base(palette, height),
        "legend": {"orientation": "h", "x": 0, "y": 1, "yanchor": "bottom"},
        "xaxis": {"title": {"text": title}, **grid_line},
        "yaxis": {"title": {"text": "1 − cosine"}, "type": "log", "dtick": 1, "exponentformat": "none", **grid_line},
        "dragmode": False,
        "clickmode": "event+select",
    }
    return {"data": [*data, marks], "layout": layout}


def _points(
    name: str, chosen: Sequence[int], places: Sequence[Head], x: Sequence[float], y: Sequence[float], palette: Palette
) -> dict[str, Any]:
    """Return the trace of the heads with the numbers `chosen`."""
    return {
        "type": "scatter",
        "mode": "markers",
        "name": name,
        "x": [x[n] for n in chosen],
        "y": [y[n] for n in chosen],
        "marker": {"size": 9, "color": palette.ink.attention, "line": {"width": 1.5, "color": palette.ink.attention}},
        "customdata": [list(places[n]) for n in chosen],
        "hovertemplate": "layer %{customdata[0]} · head %{customdata[1]}<br>%{x:.3g} · 1 − cosine %{y:.3g}"
        "<extra></extra>",
        "cliponaxis": False,
        "selected": {"marker": {"opacity": 1}},
        "unselected": {"marker": {"opacity": 1}},
    }


def short(number: float) -> str:
    """Write a number in up to three characters for a cell: 79, 2.3, 0.1."""
    return f"{number:.0f}" if round(number, 1) >= 10 else f"{number:.1f}"
