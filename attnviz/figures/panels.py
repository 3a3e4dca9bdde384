"""Matrices laid out in a grid: operands and result where they meet, on shared axes and comparable colours."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import plotly.graph_objects as go

from attnviz.figures import style
from attnviz.figures.style import escape, number, shorten

NUMBERED = 16
"""Matrices of up to this many rows and columns carry their numbers in the cells."""
LABELLED = 64
"""Up to this many tokens each has its label; beyond, every second, fourth, ... has."""

COLOUR_BAR = {"thickness": 10, "len": 0.5, "x": 1.01, "y": 0, "yanchor": "bottom", "outlinewidth": 0, "nticks": 5}

Scale = Literal["signed", "weights"]


@dataclass(frozen=True, slots=True, eq=False)
class Panel:
    """One matrix in a figure."""

    name: str
    title: str
    values: npt.NDArray[np.float32]
    """(rows, cols); NaN where a cell is hidden"""
    rows: str
    """What the rows are: query, key, model, dim, concat"""
    cols: str
    limit: float | None = None
    """The end of the colour domain, where panels share one; the panel's own largest magnitude when None"""
    scale: Scale = "signed"
    col_ticks: dict[int, str] = field(default_factory=dict)
    """Labels of columns that are not tokens; positions to text"""
    bar: bool = False
    """Whether this panel's colour bar is drawn"""


@dataclass(frozen=True, slots=True)
class Pin:
    """The pinned cell; either may be None."""

    q: int | None = None
    k: int | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Layout:
    """A figure's grid of panels (None is an empty place) and what surrounds it."""

    grid: Sequence[Sequence[Panel | None]]
    widths: Sequence[float]
    """Relative width of each grid column"""
    heights: Sequence[float]
    products: dict[str, dict[str, Any]] = field(default_factory=dict)
    """Which panel is the product of which: result -> {"left", "right", "bias"}; read by the browser"""
    between: str = ""
    """What happens between the panels, e.g. "× 0.35"; written in the empty corner or between two panels"""


def compose(layout: Layout, labels: Mapping[str, Sequence[str]], *, pin: Pin, view: str, height: int) -> go.Figure:
    """Build the figure.

    Args:
        layout: the panels and their places.
        labels: token labels of the axis kinds "query" and "key".
        pin: the cell whose row and column are outlined.
        view: a string that names this picture, kept in `layout.meta`.
        height: pixels.
    """
    boxes = _boxes(layout)
    spec: dict[str, Any] = {
        "height": height,
        "margin": {"l": 8, "r": 8, "t": 46, "b": 8},
        "paper_bgcolor": "rgba(0,0,0,0)",
        "plot_bgcolor": "rgba(0,0,0,0)",
        "meta": {"id": view, "products": layout.products},
        "dragmode": "zoom",
        "showlegend": False,
        "annotations": [],
        "shapes": [],
        "images": [],
        "hoverlabel": {"align": "left"},
    }
    data = []
    for number_, (row, col, panel, box) in enumerate(boxes, start=1):
        last_in_column = not any(lower[col] is not None for lower in list(layout.grid)[row + 1 :])
        first_in_row = not any(left is not None for left in layout.grid[row][:col])
        data.append(_heatmap(panel, number_))
        suffix = "" if number_ == 1 else str(number_)
        spec[f"xaxis{suffix}"] = _axis("x", panel, number_, box, labels, show=last_in_column or bool(panel.col_ticks))
        spec[f"yaxis{suffix}"] = _axis("y", panel, number_, box, labels, show=first_in_row)
        spec["annotations"].append(_title(panel, box))
        spec["shapes"] += _pin_shapes(panel, number_, pin)
        if np.isnan(panel.values).any():
            spec["images"].append(_hatch(number_, panel))
    if layout.between:
        spec["annotations"].append(_between(layout, boxes))
    return go.Figure({"data": data, "layout": spec})


Box = tuple[float, float, float, float]
"""left, right, bottom, top of a panel, as fractions of the figure"""


def _boxes(layout: Layout) -> list[tuple[int, int, Panel, Box]]:
    """Place the grid: columns and rows take their share of what the gaps leave."""
    gap_x, gap_y = 0.05, 0.14
    free_x, free_y = 1 - gap_x * (len(layout.widths) - 1), 1 - gap_y * (len(layout.heights) - 1)
    wide = [w / sum(layout.widths) * free_x for w in layout.widths]
    high = [h / sum(layout.heights) * free_y for h in layout.heights]
    boxes = []
    for r, row in enumerate(layout.grid):
        for c, panel in enumerate(row):
            if panel is not None:
                left, top = sum(wide[:c]) + gap_x * c, 1 - sum(high[:r]) - gap_y * r
                boxes.append((r, c, panel, (left, min(1.0, left + wide[c]), max(0.0, top - high[r]), top)))
    return boxes


def _heatmap(panel: Panel, axis: int) -> dict[str, Any]:
    rows, cols = panel.values.shape
    limit = panel.limit if panel.limit is not None else _magnitude(panel.values)
    trace: dict[str, Any] = {
        "type": "heatmap",
        "name": panel.name,
        "z": panel.values,
        "meta": {"rows": panel.rows, "cols": panel.cols},
        "xaxis": f"x{axis}" if axis > 1 else "x",
        "yaxis": f"y{axis}" if axis > 1 else "y",
        "zmin": -limit if panel.scale == "signed" else 0,
        "zmax": limit,
        "colorscale": style.SIGNED if panel.scale == "signed" else style.WEIGHTS,
        "showscale": panel.bar,
        "hoverongaps": True,
        "hovertemplate": f"{panel.name}[%{{y}}, %{{x}}] = %{{z:.4f}}<extra></extra>",
    }
    if panel.bar:
        trace["colorbar"] = COLOUR_BAR
    if max(rows, cols) <= NUMBERED:
        trace |= {"texttemplate": "%{z:.2f}"}
    if max(rows, cols) <= 48:
        trace |= {"xgap": 1, "ygap": 1}
    return trace


def _axis(
    letter: str, panel: Panel, axis: int, box: Box, labels: Mapping[str, Sequence[str]], *, show: bool
) -> dict[str, Any]:
    kind = panel.cols if letter == "x" else panel.rows
    size = panel.values.shape[1 if letter == "x" else 0]
    tokens = labels.get(kind)
    ticks = panel.col_ticks if letter == "x" and panel.col_ticks else _ticks(tokens, size)
    return {
        "domain": box[:2] if letter == "x" else box[2:],
        "anchor": f"{'y' if letter == 'x' else 'x'}{axis if axis > 1 else ''}",
        "range": [-0.5, size - 0.5] if letter == "x" else [size - 0.5, -0.5],
        "tickvals": list(ticks),
        "ticktext": [escape(shorten(text)) for text in ticks.values()],
        "tickangle": (-55 if letter == "x" and tokens is not None else 0),
        "tickfont": {"size": 12 if size <= 32 else 9},
        "showticklabels": show,
        "ticks": "",
        "showgrid": False,
        "zeroline": False,
        "showline": False,
        "automargin": True,
        "constrain": "domain",
        "title": {
            "text": style.AXIS_TITLE.get(kind, "") if show else "",
            "font": {"size": 12, "color": style.AXIS_COLOUR.get(kind)},
            "standoff": 6,
        },
    }


def _ticks(tokens: Sequence[str] | None, size: int) -> dict[int, str]:
    """Choose which positions are labelled: all tokens while they fit, a few round numbers for features."""
    if tokens is not None:
        every = max(1, 2 ** int(np.ceil(np.log2(max(1, size) / LABELLED))))
        return {i: f"{i} {tokens[i]}" if size > LABELLED else tokens[i] for i in range(0, size, every)}
    every = next(step for step in (1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024) if size / step <= 9)
    return {i: str(i) for i in range(0, size, every)}


def _title(panel: Panel, box: Box) -> dict[str, Any]:
    rows, cols = panel.values.shape
    seen = panel.values[~np.isnan(panel.values)]
    span = f" · {number(float(seen.min()))} … {number(float(seen.max()))}" if seen.size else ""
    return {
        "text": f"<b>{panel.title}</b><br><span style='font-size:11px'>{rows} × {cols}{span}</span>",
        "font": {"size": 14, "color": style.ROLE.get(panel.name)},
        "xref": "paper",
        "yref": "paper",
        "x": box[0],
        "y": box[3],
        "xanchor": "left",
        "yanchor": "bottom",
        "align": "left",
        "showarrow": False,
    }


def _between(layout: Layout, boxes: list[tuple[int, int, Panel, Box]]) -> dict[str, Any]:
    """Write the operation in the empty corner of a product, or above the gap of two panels in a row."""
    if len(layout.grid) > 1 and layout.grid[0][0] is None:
        below, beside = boxes[-2][3], boxes[0][3]
        x, y = (below[0] + below[1]) / 2, (beside[2] + beside[3]) / 2
    else:
        x, y = (boxes[0][3][1] + boxes[1][3][0]) / 2, 1.0
    return {
        "text": layout.between, "xref": "paper", "yref": "paper", "x": x, "y": y, "showarrow": False,
        "xanchor": "center", "yanchor": "middle" if len(layout.grid) > 1 else "bottom", "font": {"size": 15},
    }  # fmt: skip


def _pin_shapes(panel: Panel, axis: int, pin: Pin) -> list[dict[str, Any]]:
    """Outline the pinned query in blue and the pinned key in vermilion, wherever they are a row or a column."""
    rows, cols = panel.values.shape
    suffix = "" if axis == 1 else str(axis)
    bands = []
    for kind, index, colour in (("query", pin.q, style.QUERY), ("key", pin.k, style.KEY)):
        if index is None:
            continue
        if panel.rows == kind and index < rows:
            bands.append((-0.5, cols - 0.5, index - 0.5, index + 0.5, colour))
        if panel.cols == kind and index < cols:
            bands.append((index - 0.5, index + 0.5, -0.5, rows - 0.5, colour))
    return [
        {"type": "rect", "x0": x0, "x1": x1, "y0": y0, "y1": y1, "xref": f"x{suffix}", "yref": f"y{suffix}",
         "line": {"color": colour, "width": 2}, "fillcolor": "rgba(0,0,0,0)"}
        for x0, x1, y0, y1, colour in bands
    ]  # fmt: skip


def _hatch(axis: int, panel: Panel) -> dict[str, Any]:
    rows, cols = panel.values.shape
    suffix = "" if axis == 1 else str(axis)
    return {
        "source": style.HATCH_URI, "xref": f"x{suffix}", "yref": f"y{suffix}", "x": -0.5, "y": -0.5,
        "sizex": cols, "sizey": rows, "sizing": "stretch", "layer": "below",
    }  # fmt: skip


def _magnitude(values: npt.NDArray[np.float32]) -> float:
    """Return the largest finite magnitude, or 1 where there is none."""
    finite = np.abs(values[np.isfinite(values)])
    return float(finite.max()) or 1.0 if finite.size else 1.0
