"""Draws a layout of matrices as marks: the counterpart, for files, of the board in the browser."""

from __future__ import annotations

import math
import re
from dataclasses import replace
from math import radians, sin

import numpy as np

from attnviz.export.drawing import fonts
from attnviz.export.drawing.colours import colour_cells, domain, scale
from attnviz.export.drawing.marks import RULE, Box, Gradient, Line, Mark, Matrix, Text
from attnviz.export.drawing.placing import (
    AXIS,
    INDEX_GUTTER,
    LABEL,
    MARK,
    MAX_LABEL_WIDTH,
    NAME,
    SHAPE,
    TURN,
    Labels,
    Placed,
    label_text,
    longest,
    place,
    shorten,
    ticks,
)
from attnviz.export.drawing.themes import Theme
from attnviz.figures.panels import Layout, Panel
from attnviz.figures.style import AXIS_TITLE, Palette
from attnviz.formatting import number

THINNED = 14.0
"""Font size of column labels if not all columns have one"""
LARGEST_NUMBER, SMALLEST_NUMBER = 20.0, 9.0
"""Font sizes of numbers in cells; numbers that would be smaller are left out"""


def draw_layout(
    layout: Layout, labels: Labels, *, x: float, y: float, width: float, height: float, theme: Theme
) -> list[Mark]:
    """Draw the matrices of a layout into a box on a sheet.

    Args:
        layout: the matrices and their places.
        labels: the tokens of the axis kinds "query" and "key".
        x: the left edge of the box, in pixels of the sheet; `y` is its upper edge.
        theme: the colours.
    """
    placed, used = place(layout, labels, width, height)
    # Centre a small picture in its box.
    across, down = max(0.0, (width - used[0]) / 2), max(0.0, (height - used[1]) / 2)
    marks: list[Mark] = []
    for one in placed:
        moved = replace(one, x=one.x + x + across, y=one.y + y + down)
        marks += _draw(moved, labels, theme)
    return marks


def _draw(at: Placed, labels: Labels, theme: Theme) -> list[Mark]:
    palette = theme.palette
    marks: list[Mark] = [_matrix(at, theme), *_heads(at, palette), *_title(at, palette)]
    if at.row_labels:
        marks += _row_labels(at, labels, palette)
    if at.column_labels:
        marks += _column_labels(at, labels, palette)
    if at.panel.bar:
        marks += _bar(at, palette)
    return marks


def _matrix(at: Placed, theme: Theme) -> Matrix:
    numbers, size = _numbers(at.panel, at.cell)
    colours = colour_cells(at.panel, theme.palette)
    box = (at.x, at.y, at.width, at.height)
    return Matrix(at.panel.name, *box, at.panel.values, colours, numbers, size, theme)


def _numbers(panel: Panel, cell: tuple[float, float]) -> tuple[tuple[tuple[str, ...], ...], float]:
    """Return the numbers of a matrix as they fit its cells, and their font size, by the rule of the browser's board."""
    if not panel.has_numbers or not panel.values.size:
        return (), 0.0
    signed = panel.scale == "signed"
    digits = max(1, math.floor(math.log10(max(1.0, panel.largest))) + 1) + signed
    small = panel.scale == "weights" or panel.largest < 0.995

    def size(letters: float) -> float:
        return min(LARGEST_NUMBER, cell[1] * 0.66, cell[0] * 0.9 / (letters * 0.53))

    formats = (
        (2, False, size(digits + 2.5) if panel.largest < 9.995 else 0.0, SMALLEST_NUMBER + 1),
        (2, True, size(2.6 + signed) if small else 0.0, SMALLEST_NUMBER),
        (1, False, 0.0 if small else size(digits + 1.5), SMALLEST_NUMBER),
    )
    for decimals, bare, fits, minimum in formats:
        if fits >= minimum:
            return tuple(tuple(_cell_text(v, decimals, bare) for v in row) for row in panel.values.tolist()), fits
    return (), 0.0


def _cell_text(value: float, decimals: int, bare: bool) -> str:
    if math.isnan(value):
        return ""
    text = number(value, decimals)
    return re.sub(r"^(−?)0(?=\.)", r"\1", text) if bare else text


def _heads(at: Placed, palette: Palette) -> list[Mark]:
    """Draw lines between concatenated heads and a frame around the current head."""
    if at.panel.parts is None:
        return []
    size, followed = at.panel.parts
    wide = at.cell[0] * size
    count = at.panel.values.shape[1] // max(1, size)
    lines = [Line(at.x + h * wide, at.y, at.x + h * wide, at.y + at.height, RULE, 1) for h in range(1, count)]
    frame = Box(at.x + followed * wide, at.y, wide, at.height, outline=palette.ink.attention, line=3)
    return [*lines, frame]


def _title(at: Placed, palette: Palette) -> list[Mark]:
    panel = at.panel
    rows, cols = panel.values.shape
    size = f"{rows} × {cols}"
    seen = panel.values[np.isfinite(panel.values)]
    whole = f"{size} · {number(float(seen.min()))} … {number(float(seen.max()))}" if seen.size else size
    name = shorten(panel.title, at.title_width, NAME, bold=True)
    about = whole if fonts.width(whole, SHAPE) <= at.title_width else size
    ink = palette.role(panel.name) or palette.text
    return [
        Text(at.x, at.y - 28, name, NAME, ink, bold=True),
        Text(at.x, at.y - 9, about, SHAPE, ink),
    ]


def _row_labels(at: Placed, labels: Labels, palette: Palette) -> list[Mark]:
    tokens, high = labels.get(at.panel.rows), at.cell[1]
    size = max(11.0, min(LABEL, high * 1.05))
    shown, every = ticks(at.panel.values.shape[0], high, 13 if tokens else 17)
    marks: list[Mark] = []
    for i in shown:
        text = shorten(label_text(tokens, i, every), MAX_LABEL_WIDTH, size) if tokens else str(i)
        middle = at.y + (i + 0.5) * high
        marks.append(Text(at.x - 8, middle + size * 0.33, text, size, palette.text, anchor="end"))
    title = AXIS_TITLE.get(at.panel.rows, "")
    if title and fonts.width(title, AXIS) <= at.height + 60:
        left = (longest(tokens) if tokens else INDEX_GUTTER - 10) + 18
        ink = palette.role(at.panel.rows) or palette.text
        marks.append(Text(at.x - left, at.y + at.height / 2, title, AXIS, ink, anchor="middle", turn=90))
    return marks


def _column_labels(at: Placed, labels: Labels, palette: Palette) -> list[Mark]:
    tokens, wide, bottom = labels.get(at.panel.cols), at.cell[0], at.y + at.height
    turned = tokens is not None and longest(tokens) > wide - 4
    shown, every = ticks(at.panel.values.shape[1], wide, 18 if tokens else 30)
    size = LABEL if every == 1 or not tokens else THINNED
    texts = at.panel.col_ticks or {
        j: shorten(label_text(tokens, j, every), MAX_LABEL_WIDTH, size) if tokens else str(j) for j in shown
    }
    marks: list[Mark] = []
    deepest = 18.0
    for j, text in (texts if tokens else _thinned(texts, wide)).items():
        middle = at.x + (j + 0.5) * wide
        if turned:
            deepest = max(deepest, fonts.width(text, size) * sin(radians(TURN)) + 12)
            marks.append(Text(middle + 4, bottom + 14, text, size, palette.text, anchor="end", turn=TURN))
        else:
            marks.append(Text(middle, bottom + 19, text, size, palette.text, anchor="middle"))
    title = AXIS_TITLE.get(at.panel.cols, "")
    if title:
        width = max(at.width, fonts.width(title, AXIS) * 0.6)
        ink = palette.role(at.panel.cols) or palette.text
        marks.append(Text(at.x + width / 2, bottom + deepest + 18, title, AXIS, ink, anchor="middle"))
    return marks


def _thinned(texts: dict[int, str], wide: float) -> dict[int, str]:
    """Keep every 1st, 2nd, 3rd, … label of named columns (heads), so that labels do not overlap."""
    places = sorted(texts)
    if len(places) < 2:
        return texts
    widest = max(fonts.width(text, LABEL) for text in texts.values()) + 8
    every = max(1, math.ceil(widest / max((places[1] - places[0]) * wide, 0.01)))
    return {j: texts[j] for j in places[::every]}


def _bar(at: Placed, palette: Palette) -> list[Mark]:
    low, high = domain(at.panel)
    tall = min(at.height, 220.0) if at.height >= 70 else 70.0
    left, top = at.x + at.width + 14, at.y + at.height - tall
    colours = tuple(str(colour) for _, colour in reversed(scale(at.panel, palette)))
    digits = 1 if high >= 9.995 else 3 if high < 0.1 else 2
    values = (high, 0.0, low) if low < 0 else (high, (high + low) / 2, low)
    marks: list[Mark] = [Gradient(left, top, 12, tall, colours), Box(left, top, 12, tall, outline=RULE, line=0.5)]
    for place_, value in enumerate(values):
        text = number(value, 0 if value == 0 else digits)
        marks.append(Text(left + 17, top + 10 + (tall - 14) * place_ / 2, text, MARK, palette.text))
    return marks
