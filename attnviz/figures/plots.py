"""Plots that several pages share: heatmaps and lines. Plotly draws them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from attnviz.figures.style import Palette, cell_texts, escape, shorten

if TYPE_CHECKING:
    from torch import Tensor


Spec = dict[str, Any]

ROW, LEAST, MOST = 17, 220, 640
"""px: the height of a labelled row, and the least and most of a heatmap without the labels below it"""
LINES = 280
"""px: the height of a line plot without its labels and its legend"""
LETTER, LONGEST = 6, 28
"""px: the width of a letter in a rotated label of a narrow plot; letters: the length of the longest label"""
SIDE = 10
"""px: the margin right of a plot"""
TITLE = 6
"""px: the space between the labels of an axis and its title"""
NUMBERS, WORDS = 12, 40
"""The most labels of an axis, if they are numbers and if they are words"""
ROUNDING, AROUND = 1e-5, 0.01
"""If all numbers of a plot are below the first, its axis goes to the second, so they appear as 0: on an axis fitted to
them, the rounding of float32 would look like a result"""
LEGEND = 20
"""px: the height of a legend row; on a phone, each line of the plot has its own row"""
ABOVE = {"orientation": "h", "x": 0, "y": 1, "yanchor": "bottom"}
"""The place of a legend: above the plot"""


def heatmap(
    values: Tensor,
    rows: Sequence[str],
    columns: Sequence[str],
    palette: Palette,
    *,
    across: str,
    signed: bool = True,
    limit: float | None = None,
    texts: Sequence[Sequence[str]] | None = None,
) -> Spec:
    """Return the figure of one matrix, (rows, columns), with the first row at the top.

    Args:
        values: the numbers.
        rows: the labels of the rows.
        columns: the labels of the columns.
        palette: the colours of the theme.
        across: the title of the columns.
        signed: whether the colours diverge around 0; if not, they go from 0 to the largest number.
        limit: the end of the colour domain; None is the largest number.
        texts: what stands in each cell, if it is not only a colour.
    """
    numbers = values.tolist()
    limit = limit or max((abs(x) for row in numbers for x in row), default=0.0) or 1.0
    data = {
        "type": "heatmap",
        "z": numbers,
        "zmin": -limit if signed else 0,
        "zmax": limit,
        "colorscale": palette.signed if signed else palette.weights,
        "colorbar": {"thickness": 10, "outlinewidth": 0},
        "customdata": cell_texts(values),
        "hovertemplate": "%{y} · %{x}<br><b>%{customdata}</b><extra></extra>",
    }
    if texts is not None:
        written = [[escape(shorten(text, LONGEST)) for text in row] for row in texts]
        data |= {"text": written, "texttemplate": "%{text}"}
        data["hovertemplate"] = "%{y} · %{x}<br><b>%{text}</b> %{customdata}<extra></extra>"
    height = min(MOST, max(LEAST, ROW * len(rows) + 70)) + turned_room(columns)
    below, beside = labelled(columns, across, palette), labelled(rows, "", palette) | {"autorange": "reversed"}
    return figure([data], palette, height, xaxis=below, yaxis=beside)


NARROW = 240
"""px: the width of a narrow plot"""


def lines(
    series: Mapping[str, Sequence[float]],
    over: Sequence[str] | Sequence[int],
    palette: Palette,
    *,
    title: str,
    across: str,
    is_logarithmic: bool = False,
    marked: int | None = None,
) -> Spec:
    """Return the figure of several lines.

    Args:
        series: the numbers of each line, by its name.
        over: the labels or the lengths that the numbers belong to.
        palette: the colours of the theme.
        title: the title of the numbers.
        across: the title of `over`.
        is_logarithmic: whether both axes are logarithmic.
        marked: the length that a vertical line marks.
    """
    places = list(over) if is_logarithmic else list(range(len(over)))
    mode = "lines" if is_logarithmic else "lines+markers"
    data = [
        {"x": places, "y": list(numbers), "mode": mode, **_line(name, n, palette)}
        for n, (name, numbers) in enumerate(series.items())
    ]
    scale = {"type": "log"} if is_logarithmic else {}
    x_axis = {"title": {"text": across}, "gridcolor": palette.rule, **scale}
    is_rounding = all(abs(x) < ROUNDING for numbers in series.values() for x in numbers)
    # Plotly leaves out a label that extends beyond the plot, as the last labels do when labels are slightly rotated.
    beyond = [turned_room([str(label)]) // 2 - NARROW * n // len(over) for n, label in enumerate(reversed(over))]
    right = max(SIDE, *beyond) if over and not is_logarithmic else SIDE
    y_axis = {
        "title": {"text": title, "standoff": TITLE}, "rangemode": "tozero", "automargin": True,
        "gridcolor": palette.rule, **({"range": [-AROUND / 20, AROUND]} if is_rounding else {}), **scale,
    }  # fmt: skip
    marks = {} if marked is None else {"shapes": [upright(marked, color=palette.text, dash="dot", width=1)]}
    return figure(
        data, palette, LINES + turned_room(map(str, over)) + (LEGEND * len(series) if len(series) > 1 else 0), right,
        showlegend=len(series) > 1, legend=ABOVE, yaxis=y_axis, **marks,
        xaxis=x_axis if is_logarithmic else labelled([str(label) for label in over], across, palette),
    )  # fmt: skip


def upright(at: float, **line: object) -> Spec:
    """Return a vertical line over the whole plot, with its style."""
    return {"type": "line", "x0": at, "x1": at, "y0": 0, "y1": 1, "yref": "paper", "line": line}


def _line(name: str, number: int, palette: Palette) -> Spec:
    """Return the style of the line with this number."""
    colours = (palette.ink.attention, palette.ink.query, palette.ink.key, palette.ink.value, palette.text)
    dashes = ("solid", "dash", "dot", "dashdot", "longdash", "longdashdot")
    return {
        "type": "scatter",
        "name": name,
        "line": {"color": colours[number % len(colours)], "dash": dashes[number % len(dashes)], "width": 2.5},
        "hovertemplate": f"{escape(name)}<br>%{{x}}: <b>%{{y:,.4g}}</b><extra></extra>",
    }


def figure(data: Sequence[Spec], palette: Palette, height: int, right: int = SIDE, **layout: object) -> Spec:
    """Return a figure of these traces; `layout` is what it adds to the layout of all plots.

    `height` and the room on the right are in px.
    """
    font = {"family": '"Source Sans", sans-serif', "size": 14, "color": palette.text}
    shared = {
        "template": {"layout": {}},
        "height": height,
        "margin": {"l": 60, "r": right, "t": 30, "b": 40},
        "paper_bgcolor": "rgba(0,0,0,0)",
        "plot_bgcolor": "rgba(0,0,0,0)",
        "font": font,
        "hoverlabel": {"align": "left", "bgcolor": palette.canvas, "font": font},
    }
    return {"data": data, "layout": {**shared, **layout}}


def axis(title: str, palette: Palette, **more: object) -> Spec:
    """Return an axis of numbers with grid lines and without a line at 0."""
    return {"title": {"text": title}, "gridcolor": palette.rule, "zeroline": False, "automargin": True, **more}


def turned_room(labels: Iterable[str]) -> int:
    """Return the room below a plot for labels, in px, if the plot is so narrow that they are rotated."""
    return LETTER * min(LONGEST, max(map(len, labels), default=0))


def labelled(labels: Sequence[str], title: str, palette: Palette) -> Spec:
    """Return an axis with a label at each place, or only at some places if there are many."""
    most = NUMBERS if all(label.isdigit() for label in labels) else WORDS
    step = 1 if len(labels) <= most else 2 ** math.ceil(math.log2(len(labels) / most))
    places = list(range(0, len(labels), step))
    return {
        "title": {"text": title, "standoff": TITLE},  # without it, the title overlaps rotated labels
        "tickvals": places,
        "ticktext": [escape(shorten(labels[place], LONGEST)) for place in places],
        "automargin": True,
        "gridcolor": palette.rule,
        "zeroline": False,
    }
