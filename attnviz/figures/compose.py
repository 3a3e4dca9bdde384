"""Converts a layout of panels to a Plotly figure with labelled axes, shared colour domains, pins and hidden cells."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from math import ceil
from typing import Any

from attnviz.figures.panels import SPACED, Layout, Panel, Pin, PlacedPanel, place_panels
from attnviz.figures.style import (
    AXIS_TITLE,
    LIGHT,
    LONGEST_LABEL,
    TURN,
    Palette,
    cell_texts,
    escape,
    hatching,
    row_kind,
    shorten,
)
from attnviz.formatting import exact, number, weight

COLOUR_BAR = {"thickness": 10, "len": 0.5, "x": 1.01, "y": 0, "yanchor": "bottom", "outlinewidth": 0, "nticks": 5}

USUAL_WIDTH, USUAL_HEIGHT = 560, 380
"""The usual size of the plotting area on a laptop in pixels, which decides how many labels fit."""
NEEDED_ACROSS, NEEDED_DOWN = {"tokens": 11, "numbers": 26}, 9
"""px: what a label of a column and of a row takes up along its axis"""
MARGINS = {"left": 34, "letter": 6.5, "right": 12, "bar": 56, "top": 46, "bottom": 30, "numbers": 14, "slant": 0.82}
"""px: the margins without labels (right of a colour bar: `bar`), the width of a letter, the height of numbers below;
`slant`: the height of a rotated label, as a fraction of its width"""

Spec = dict[str, Any]
Labels = Mapping[str, Sequence[str]]


def compose(
    layout: Layout,
    labels: Labels,
    *,
    pin: Pin | None = None,
    height: int | None = None,
    palette: Palette = LIGHT,
) -> Spec:
    """Build a figure specification for plotly.js. Notebooks validate and show it with `go.Figure(spec)`.

    The app's pages make the same figure in the browser, in components/frontend/chart/figure.ts.

    Args:
        layout: the panels and their places.
        labels: token labels of the axis kinds "query" and "key".
        pin: the cell whose row and column are outlined.
        height: in pixels; None fills the container.
        palette: the colours of the theme.
    """
    places = place_panels(layout)
    spec: Spec = {
        "template": {"layout": {}},
        "height": height,
        "margin": _margins(places, labels),
        "paper_bgcolor": "rgba(0,0,0,0)",
        "plot_bgcolor": "rgba(0,0,0,0)",
        "meta": {"products": layout.products},
        "dragmode": "zoom",
        "showlegend": False,
        "annotations": [_title(place, palette) for place in places],
        "shapes": [s for place in places for s in _pin_shapes(place, pin or Pin(), palette) + _heads(place, palette)],
        "images": [_hatching(place, palette) for place in places if place.panel.has_gaps],
        "hoverlabel": {"align": "left", "bgcolor": palette.canvas, "font": {"color": palette.text}},
        "font": {"family": '"Source Sans", sans-serif', "color": palette.text},
        "modebar": {"bgcolor": "rgba(0,0,0,0)", "color": palette.rule, "activecolor": palette.text},
    }
    for place in places:
        spec[f"xaxis{place.suffix}"] = _x_axis(place, labels, palette)
        spec[f"yaxis{place.suffix}"] = _y_axis(place, labels, palette)
    if layout.between:
        spec["annotations"].append(_operation(layout, places))
    return {"data": [_heatmap(place, palette) for place in places], "layout": spec}


def _heatmap(place: PlacedPanel, palette: Palette) -> dict[str, Any]:
    panel = place.panel
    signed, (low, high) = panel.scale == "signed", panel.domain
    trace: dict[str, Any] = {
        "type": "heatmap",
        "name": panel.name,
        "z": panel.values,
        "meta": {"rows": panel.rows, "cols": panel.cols},
        "xaxis": f"x{place.suffix}",
        "yaxis": f"y{place.suffix}",
        "zmin": low,
        "zmax": high,
        "colorscale": palette.signed if signed else palette.weights,
        "showscale": panel.bar,
        "customdata": cell_texts(panel.values, exact if signed else weight),
        "hovertemplate": f"{panel.name}[%{{y}}, %{{x}}] = %{{customdata}}<extra></extra>",
    }
    if panel.bar:
        trace["colorbar"] = COLOUR_BAR
    if panel.has_numbers:
        texts = cell_texts(panel.values, partial(number, digits=panel.decimals))
        trace |= {"text": texts, "texttemplate": "%{text}", "textfont": {"size": 10}}
    if max(panel.values.shape) <= SPACED and not panel.has_gaps:  # hatching would show through between the cells
        trace |= {"xgap": 1, "ygap": 1}
    return trace


def _margins(places: list[PlacedPanel], labels: Labels) -> dict[str, float]:
    """Return margins in pixels that fit the labels. Plotly's automargin would lay out every figure three times."""

    def longest(kind: str) -> int:
        return max((min(LONGEST_LABEL, len(label)) for label in labels.get(kind, ())), default=3)

    left = max((longest(place.panel.rows) for place in places if place.leftmost), default=3)
    below = [place.panel.cols for place in places if place.bottom]
    depth = MARGINS["slant"] * MARGINS["letter"]
    bottom = max((depth * longest(kind) if kind in labels else MARGINS["numbers"] for kind in below), default=0)
    return {
        "l": MARGINS["left"] + ceil(MARGINS["letter"] * left),
        "r": MARGINS["bar" if any(place.panel.bar for place in places) else "right"],
        "t": MARGINS["top"],
        "b": MARGINS["bottom"] + ceil(bottom),
    }


def _x_axis(place: PlacedPanel, labels: Labels, palette: Palette) -> dict[str, Any]:
    panel, size = place.panel, place.panel.values.shape[1]
    tokens = labels.get(panel.cols)
    width = USUAL_WIDTH * (place.box[1] - place.box[0])
    ticks = panel.col_ticks or _ticks(tokens, size, width, NEEDED_ACROSS["tokens" if tokens else "numbers"])
    return {
        **_axis(panel.cols, ticks, size, palette, show=place.bottom and bool(panel.cols)),
        "domain": place.box[:2],
        "anchor": f"y{place.suffix}",
        "range": [-0.5, size - 0.5],
        "tickangle": -TURN if tokens else 0,
    }


def _y_axis(place: PlacedPanel, labels: Labels, palette: Palette) -> dict[str, Any]:
    panel, size = place.panel, place.panel.values.shape[0]
    height = USUAL_HEIGHT * (place.box[3] - place.box[2])
    ticks = _ticks(labels.get(panel.rows), size, height, NEEDED_DOWN)
    return {
        **_axis(row_kind(panel.rows, panel.cols), ticks, size, palette, show=place.leftmost),
        "tickfont": {"size": max(8, min(12, int(height / max(1, len(ticks)))))},
        "domain": place.box[2:],
        "anchor": f"x{place.suffix}",
        "range": [size - 0.5, -0.5],  # row 0 on top
    }


def _axis(kind: str, ticks: dict[int, str], size: int, palette: Palette, *, show: bool) -> dict[str, Any]:
    return {
        "tickvals": list(ticks),
        "ticktext": [escape(shorten(text)) for text in ticks.values()],
        "tickfont": {"size": 12 if size <= 32 else 9},
        "showticklabels": show,
        "ticks": "",
        "showgrid": False,
        "zeroline": False,
        "showline": False,
        "automargin": False,
        "title": {
            "text": AXIS_TITLE.get(kind, "") if show else "",
            "font": {"size": 12, "color": getattr(palette.text_ink, kind) if kind in ("query", "key") else None},
            "standoff": 6,
        },
    }


def _ticks(tokens: Sequence[str] | None, size: int, length: float, needed: float) -> dict[int, str]:
    """Label every position if each label has the `needed` pixels on an axis of this length, else every 2nd, 4th, ..."""
    step = 1
    while size and step < size and length / size * step < needed:
        step *= 2
    if tokens is None:
        return {i: str(i) for i in range(0, size, step)}
    numbered = step >= ceil(size / 64) and step > 1  # with labels left out, numbers identify the rest
    return {i: f"{i} {tokens[i]}" if numbered else tokens[i] for i in range(0, size, step)}


def _title(place: PlacedPanel, palette: Palette) -> dict[str, Any]:
    """Return the annotation with a matrix's name, shape and range, and what its hatchings mean."""
    panel = place.panel
    rows, cols = panel.values.shape
    seen = panel.values[panel.values == panel.values]
    span = f" · {number(float(seen.min()))} … {number(float(seen.max()))}" if seen.size and panel.cols else ""
    said = f"{rows} × {cols}{span}{panel.legend and f' · {panel.legend}'}"
    return {
        "text": f"<b>{escape(panel.title)}</b><br><span style='font-size:11px'>{said}</span>",
        "font": {"size": 14, "color": palette.role(panel.name)},
        "xref": "paper",
        "yref": "paper",
        "x": place.box[0],
        "y": place.box[3],
        "xanchor": "left",
        "yanchor": "bottom",
        "align": "left",
        "showarrow": False,
    }


def _operation(layout: Layout, places: list[PlacedPanel]) -> dict[str, Any]:
    """Return the annotation with the operation, in the empty corner above the left operand."""
    beside = places[0].box
    below = next(place.box for place in places if place.leftmost and place.bottom)
    return {
        "text": escape(layout.between),
        "xref": "paper",
        "yref": "paper",
        "x": below[0],
        "y": (beside[2] + beside[3]) / 2,
        "xanchor": "left",
        "showarrow": False,
        "font": {"size": 15},
    }


def _rectangle(place: PlacedPanel, x: tuple[float, float], y: tuple[float, float], colour: str) -> dict[str, Any]:
    return {
        "type": "rect",
        "xref": f"x{place.suffix}",
        "yref": f"y{place.suffix}",
        "x0": x[0],
        "x1": x[1],
        "y0": y[0],
        "y1": y[1],
        "line": {"color": colour, "width": 2},
        "fillcolor": "rgba(0,0,0,0)",
    }


def _pin_shapes(place: PlacedPanel, pin: Pin, palette: Palette) -> list[dict[str, Any]]:
    """Outline the pinned query and key in their colours in every matrix that has them as a row or column."""
    panel = place.panel
    rows, cols = panel.values.shape
    shapes = []
    for kind, index, colour in (("query", pin.q, palette.ink.query), ("key", pin.k, palette.ink.key)):
        if index is None:
            continue
        if panel.rows == kind and index < rows:
            shapes.append(_rectangle(place, (-0.5, cols - 0.5), (index - 0.5, index + 0.5), colour))
        if panel.cols == kind and index < cols:
            shapes.append(_rectangle(place, (index - 0.5, index + 0.5), (-0.5, rows - 0.5), colour))
    return shapes


def _heads(place: PlacedPanel, palette: Palette) -> list[dict[str, Any]]:
    """Draw lines between concatenated heads, and a frame around the current head."""
    panel: Panel = place.panel
    if panel.parts is None:
        return []
    (width, followed), (rows, cols) = panel.parts, panel.values.shape
    whole = (-0.5, rows - 0.5)
    lines = [_rectangle(place, (x - 0.5, x - 0.5), whole, palette.rule) for x in range(width, cols, width)]
    for line in lines:
        line["line"] = {"color": palette.rule, "width": 1}
    return [
        *lines,
        _rectangle(place, (followed * width - 0.5, (followed + 1) * width - 0.5), whole, palette.ink.attention),
    ]


def _hatching(place: PlacedPanel, palette: Palette) -> dict[str, Any]:
    """Return hatching behind a matrix, visible in its hidden cells."""
    rows, cols = place.panel.values.shape
    return {
        "source": hatching(palette.hatch, place.panel.reasons),
        "xref": f"x{place.suffix}",
        "yref": f"y{place.suffix}",
        "x": -0.5,
        "y": -0.5,
        "sizex": cols,
        "sizey": rows,
        "sizing": "stretch",
        "layer": "below",
    }
