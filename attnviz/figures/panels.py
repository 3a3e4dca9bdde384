"""Matrices laid out in a grid: operands and result where they meet, on shared axes and comparable colours."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import plotly.graph_objects as go

from attnviz.figures import style
from attnviz.figures.style import escape, shorten
from attnviz.vocabulary import ATTENTION, KEY, QUERY, number

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
    parts: tuple[int, int] | None = None
    """For heads side by side: the width of one head, and which one is being followed"""
    bar: bool = False
    """Whether this panel's colour bar is drawn"""
    numbered: bool = True
    """Whether the cells carry their numbers, where there are few enough"""


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
    """The operation, e.g. "Q · Kᵀ = scores"; written in the empty corner of a product"""


def compose(
    layout: Layout, labels: Mapping[str, Sequence[str]], *, pin: Pin, view: str, height: int | None
) -> go.Figure:
    """Build the figure.

    Args:
        layout: the panels and their places.
        labels: token labels of the axis kinds "query" and "key".
        pin: the cell whose row and column are outlined.
        view: a string that names this picture, kept in `layout.meta`.
        height: pixels; the container's own height when None.
    """
    boxes = _boxes(layout)
    spec: dict[str, Any] = {
        "height": height,
        "autosize": True,
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
        spec["shapes"] += _pin_shapes(panel, number_, pin) + _part_shapes(panel, number_)
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
    if panel.numbered and max(rows, cols) <= NUMBERED:
        trace |= {"texttemplate": "%{z:.2f}", "textfont": {"size": 10}}
    if max(rows, cols) <= 48 and not np.isnan(panel.values).any():  # hatching would show through the gaps
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
    """Write the operation in the empty corner above the left operand."""
    beside = boxes[0][3]
    below = next(box for row, _, _, box in boxes if row == len(layout.grid) - 1)
    return {
        "text": layout.between,
        "xref": "paper",
        "yref": "paper",
        "x": below[0],
        "y": (beside[2] + beside[3]) / 2,
        "xanchor": "left",
        "showarrow": False,
        "font": {"size": 15},
    }


def _pin_shapes(panel: Panel, axis: int, pin: Pin) -> list[dict[str, Any]]:
    """Outline the pinned query in blue and the pinned key in vermilion, wherever they are a row or a column."""
    rows, cols = panel.values.shape
    suffix = "" if axis == 1 else str(axis)
    bands = []
    for kind, index, colour in (("query", pin.q, QUERY), ("key", pin.k, KEY)):
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


def _part_shapes(panel: Panel, axis: int) -> list[dict[str, Any]]:
    """Draw a line between heads that lie side by side, and a frame around the one being followed."""
    if panel.parts is None:
        return []
    (width, followed), (rows, cols) = panel.parts, panel.values.shape
    suffix = "" if axis == 1 else str(axis)
    place = {"xref": f"x{suffix}", "yref": f"y{suffix}", "y0": -0.5, "y1": rows - 0.5}
    lines = [
        {"type": "line", "x0": x - 0.5, "x1": x - 0.5, "line": {"color": "rgba(128,128,140,0.6)", "width": 1}, **place}
        for x in range(width, cols, width)
    ]
    frame = {"x0": followed * width - 0.5, "x1": (followed + 1) * width - 0.5, "line": {"color": ATTENTION, "width": 2}}
    return [*lines, {"type": "rect", "fillcolor": "rgba(0,0,0,0)", **frame, **place}]


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


def number_sizes(figure: go.Figure) -> str:
    """Return CSS that fits the numbers to their cells, whatever the size of the container that the figure fills.

    A container unit (cqw, cqh) is a hundredth of the container's width or height; a digit is about half an em wide.
    """
    rules = []
    for trace in figure.data:
        if not trace.texttemplate:
            continue
        axes = trace.xaxis or "x", trace.yaxis or "y"
        x, y = figure.layout[f"xaxis{axes[0][1:]}"], figure.layout[f"yaxis{axes[1][1:]}"]
        rows, cols = trace.z.shape
        finite = np.abs(trace.z[np.isfinite(trace.z)])
        characters = 4 if trace.zmin == 0 else 5 + int(finite.size and finite.max() >= 10)
        wide = 82 * (x.domain[1] - x.domain[0]) / cols / (0.53 * characters)  # labels and colour bar take 18 %
        high = 70 * (y.domain[1] - y.domain[0]) / rows * 0.8
        rules.append(
            f".st-key-picture .subplot.{axes[0]}{axes[1]} .heatmap-label text"
            f"{{font-size:min(15px,{wide:.2f}cqw,{high:.2f}cqh)!important}}"
        )
    return "".join(rules)
