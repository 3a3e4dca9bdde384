"""Draws a layout of matrices as marks, as the browser's board does: positions, colours, and many cells as a raster."""

from __future__ import annotations

import math
import re
from base64 import b64encode
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from io import BytesIO
from math import ceil, radians, sin

import numpy as np
import numpy.typing as npt
from PIL import Image

from attnviz.export.drawing import fonts
from attnviz.export.drawing.marks import Box, Gradient, Line, Mark, Matrix, Rgb, Text, Theme
from attnviz.figures.panels import BARE_BELOW, BEYOND, ONE_DECIMAL_FROM, THREE_DECIMALS_BELOW, Layout, Panel
from attnviz.figures.style import (
    AXIS_TITLE,
    INK_ON_DARK,
    INK_ON_LIGHT,
    LIGHT_FROM,
    NUMBERED_LABELS,
    RULE,
    TURN,
    Colours,
    Palette,
    brief_title,
    row_kind,
)
from attnviz.formatting import number
from attnviz.mask_reasons import REASONS


def scale(panel: Panel, palette: Palette) -> Colours:
    """Return the colour scale of a panel, from low to high."""
    return palette.signed if panel.scale == "signed" else palette.weights


def blend(colours: Colours, shares: npt.NDArray[np.floating]) -> Rgb:
    """Interpolate the colours at `shares`, (...) from 0 to 1, as (..., 3). NaN takes the first colour."""
    along = np.nan_to_num(np.clip(shares, 0, 1), nan=0.0)
    stops = np.array([stop for stop, _ in colours], dtype=float)
    ends = np.array([channels(str(colour)) for _, colour in colours], dtype=float)
    mixed = np.stack([np.interp(along, stops, ends[:, channel]) for channel in range(3)], axis=-1)
    return np.floor(mixed + 0.5).astype(np.uint8)


def colour_cells(panel: Panel, palette: Palette) -> Rgb:
    """Return the colour of each cell of a panel, (rows, cols, 3)."""
    low, high = panel.domain
    return blend(scale(panel, palette), (panel.values.astype(float) - low) / ((high - low) or 1.0))


def channels(colour: str) -> tuple[int, int, int]:
    """"#5E3C99" -> (94, 60, 153)."""  # fmt: skip
    return int(colour[1:3], 16), int(colour[3:5], 16), int(colour[5:7], 16)


def hexadecimal(rgb: npt.ArrayLike) -> str:
    """(94, 60, 153) -> "#5E3C99"."""
    red, green, blue = (int(channel) for channel in np.asarray(rgb))
    return f"#{red:02X}{green:02X}{blue:02X}"


def ink_on(rgb: npt.ArrayLike) -> str:
    """Return a text colour with a contrast of 3 or more on a colour of the scales: dark on light, light on dark."""
    red, green, blue = (float(channel) for channel in np.asarray(rgb))
    return INK_ON_LIGHT if 0.2126 * red + 0.7152 * green + 0.0722 * blue > LIGHT_FROM else INK_ON_DARK


MAX_VECTOR_CELLS = 1024
"""The most cells drawn as vector shapes; larger matrices become raster images, which open quickly everywhere"""
MAX_PIXELS = 2400
"""The longest side of a raster image in pixels"""


def is_raster(matrix: Matrix) -> bool:
    """Whether a matrix has too many cells for vector shapes."""
    return matrix.rows * matrix.cols > MAX_VECTOR_CELLS


def image(matrix: Matrix) -> Image.Image:
    """Return a matrix as an image: each cell a rectangle of whole pixels, hidden cells hatched."""
    down = max(1, min(ceil(2 * matrix.height / max(1, matrix.rows)), MAX_PIXELS // max(1, matrix.rows)))
    across = max(1, min(ceil(2 * matrix.width / max(1, matrix.cols)), MAX_PIXELS // max(1, matrix.cols)))
    pixels = matrix.colours.repeat(down, axis=0).repeat(across, axis=1)
    hatches = matrix.hatches.repeat(down, axis=0).repeat(across, axis=1)
    return Image.fromarray(hatched(pixels, hatches, matrix.theme))


def hatched(pixels: Rgb, hatches: npt.NDArray[np.uint8], theme: Theme) -> Rgb:
    """Return pixels (height, width, 3) with hidden ones hatched: `hatches` is (height, width), as `Matrix.hatches`."""
    if not hatches.any():
        return pixels
    y, x = np.indices(hatches.shape)
    rising, falling = (x + y) % 16 < 5, (x - y) % 16 < 5
    striped = {"future": rising, "window": falling, "padding": rising | falling}
    for code, reason in enumerate(REASONS, 1):
        ground, line = map(channels, theme.hatch[reason])
        hatch = np.where(np.asarray(striped[reason])[..., None], line, ground).astype(np.uint8)
        pixels = np.where((hatches == code)[..., None], hatch, pixels)
    return pixels


def png(matrix: Matrix) -> bytes:
    """Return `image` as a PNG."""
    file = BytesIO()
    image(matrix).save(file, "PNG", optimize=True)
    return file.getvalue()


def data_url(matrix: Matrix) -> str:
    """Return `png` as a data URL."""
    return f"data:image/png;base64,{b64encode(png(matrix)).decode()}"


NAME, SMALLEST_NAME, SHAPE, LABEL, AXIS, MARK = 22.0, 15.0, 15.0, 18.0, 16.0, 15.0
"""Font sizes: a matrix's name, where it has room and at least, its shape and range, tokens, axis names, numbers of a
colour bar"""
AROUND_NAME = 10.0
"""Space right of a name in smaller type: programs without the font may write it wider"""
TITLE = 52.0
"""Space above each matrix for its name, shape and range"""
AXIS_ROOM, GAP, BAR, SIGN, INDEX_GUTTER, MAX_LABEL_WIDTH = 24.0, 22.0, 64.0, 9.0, 28.0, 130.0
LARGEST_CELL = (104.0, 62.0)
NUMBERED_CELL = (48.0, 26.0)
"""The minimum cell size for readable numbers"""
NUMBERED_SHARE = 0.62
"""The largest share of the space that cells with numbers may take from cells without"""
MIN_EVEN_CELL = (22.0, 15.0)
"""From this size, the cells of all matrices have the same size"""

Labels = Mapping[str, Sequence[str]]


@dataclass(frozen=True, slots=True, eq=False)
class PlacedPanel:
    """A panel and its position on the sheet."""

    panel: Panel
    x: float
    y: float
    width: float
    height: float
    row_labels: bool
    """Whether its rows are labelled: matrices that share an axis have labels once"""
    column_labels: bool
    title_width: float
    """The space for its title"""

    @property
    def cell(self) -> tuple[float, float]:
        """Width and height of one cell."""
        rows, cols = self.panel.values.shape
        return self.width / max(1, cols), self.height / max(1, rows)


@dataclass(frozen=True, slots=True, eq=False)
class _Slot:
    panel: Panel
    row: int
    column: int
    row_labels: bool
    column_labels: bool


def place(layout: Layout, labels: Labels, width: float, height: float) -> tuple[list[PlacedPanel], tuple[float, float]]:
    """Place each panel in a picture of this size, in pixels from the picture's upper left corner.

    Returns:
        The placed panels, and the width and height of the whole with its labels.
    """
    slots = _slots(layout)
    columns = [[slot for slot in slots if slot.column == c] for c in range(len(layout.widths))]
    rows = [[slot for slot in slots if slot.row == r] for r in range(len(layout.heights))]
    before = [_gutter(group, first=c == 0, labels=labels) for c, group in enumerate(columns)]
    after = [
        max([0.0, *(BAR + SIGN * any(_signs(slot.panel)) for slot in group if slot.panel.bar)])
        + (GAP if c < len(columns) - 1 else 0)
        for c, group in enumerate(columns)
    ]
    across = [max([1, *(slot.panel.values.shape[1] for slot in group)]) for group in columns]
    down = [max([1, *(slot.panel.values.shape[0] for slot in group)]) for group in rows]
    numbered = [[any(slot.panel.has_numbers for slot in group) for group in side] for side in (columns, rows)]
    widths = _share(width - sum(before) - sum(after), across, layout.widths, 0, numbered[0])
    below = [
        max([0.0, *(_footer(slot, widths[slot.column] / across[slot.column], labels) for slot in group)])
        for group in rows
    ]
    free = height - len(rows) * TITLE - sum(below) - GAP / 2 * (len(rows) - 1)
    heights = _share(free, down, layout.heights, 1, numbered[1])
    boxes = []
    for slot in slots:
        c, r = slot.column, slot.row
        x = sum(before[: c + 1]) + sum(widths[:c]) + sum(after[:c])
        y = TITLE * (r + 1) + sum(heights[:r]) + sum(below[:r]) + GAP / 2 * r
        size = (widths[c] * slot.panel.values.shape[1] / across[c], heights[r] * slot.panel.values.shape[0] / down[r])
        boxes.append((slot, x, y, *size))
    placed = []
    for slot, x, y, wide, high in boxes:
        right = min([width, *(left for other, left, *_ in boxes if other.row == slot.row and left > x)])
        labelled = slot.row_labels, slot.column_labels
        placed.append(PlacedPanel(slot.panel, x, y, wide, high, *labelled, title_width=right - x - 6))
    return placed, (sum(before) + sum(widths) + sum(after), height - free + sum(heights))


def _slots(layout: Layout) -> list[_Slot]:
    """Return the panels with their grid positions, and which of them have labels."""
    slots = []
    grid = [list(row) for row in layout.grid]
    for r, row in enumerate(grid):
        for c, panel in enumerate(row):
            if panel is None:
                continue
            left = next((other for other in reversed(row[:c]) if other is not None), None)
            below = next((lower[c] for lower in grid[r + 1 :] if lower[c] is not None), None)
            labelled = bool(panel.cols or panel.col_ticks) and (below is None or below.cols != panel.cols)
            slots.append(_Slot(panel, r, c, left is None or left.rows != panel.rows, labelled))
    return slots


def _share(
    free: float, counts: Sequence[int], weights: Sequence[float], side: int, numbered: Sequence[bool]
) -> list[float]:
    """Divide pixels among the columns (side 0) or rows (side 1) of the grid, which have `counts` cells each.

    Cells with numbers take precedence. All cells have one size if it is large enough; otherwise space is divided in
    proportion to `weights`.
    """
    space = max(free, 10.0 * len(counts))
    even = min(LARGEST_CELL[side], space / sum(counts))
    first = sum(count for count, has_numbers in zip(counts, numbered, strict=True) if has_numbers)
    if even < NUMBERED_CELL[side] and 0 < first < sum(counts):
        size = max(even, min(NUMBERED_CELL[side], NUMBERED_SHARE * space / first))
        rest = [place for place, has_numbers in enumerate(numbered) if not has_numbers]
        rest_counts, rest_weights = [counts[i] for i in rest], [weights[i] for i in rest]
        others = iter(_share(space - size * first, rest_counts, rest_weights, side, [False] * len(rest)))
        return [
            size * count if has_numbers else next(others) for count, has_numbers in zip(counts, numbered, strict=True)
        ]
    if even >= MIN_EVEN_CELL[side]:
        return [count * even for count in counts]
    shares = [weight / sum(weights) for weight in weights]
    return [min(space * share, count * LARGEST_CELL[side]) for share, count in zip(shares, counts, strict=True)]


def _gutter(slots: Sequence[_Slot], *, first: bool, labels: Labels) -> float:
    """Return the space left of a column of panels, for row labels and the axis title."""
    needed = [
        (longest(labels[slot.panel.rows]) + 10 if slot.panel.rows in labels else INDEX_GUTTER) + AXIS_ROOM
        for slot in slots
        if slot.row_labels
    ]
    return max([4.0 if first else 0.0, *needed])


def _footer(slot: _Slot, cell: float, labels: Labels) -> float:
    if not slot.column_labels:
        return 0.0
    turned = slot.panel.cols in labels and longest(labels[slot.panel.cols]) > cell - 4
    depth = longest(labels[slot.panel.cols]) * sin(radians(TURN)) + 16 if turned else 24
    return depth + (AXIS_ROOM if slot.panel.cols else 2)


def longest(tokens: Sequence[str]) -> float:
    """Return the width of the widest label, including numbers of thinned labels, up to MAX_LABEL_WIDTH."""
    widths = (fonts.width(label_text(tokens, i, 2), LABEL) for i in range(len(tokens)))
    return min(MAX_LABEL_WIDTH, max([12.0, *widths]))


def label_text(tokens: Sequence[str], i: int, step: int) -> str:
    """Return the axis label of a token; it includes the position if only every n-th of many tokens has a label."""
    return f"{i} {tokens[i]}" if step > 1 and len(tokens) > NUMBERED_LABELS else tokens[i]


def ticks(count: int, cell: float, needed: float) -> tuple[range, int]:
    """Return the labelled positions of an axis and their step: 1 if labels have `needed` pixels, else 2, 4, …"""
    step = 1
    while cell * step < needed and step < 4096:
        step *= 2
    return range(0, count, step), step


def shorten(text: str, max_width: float, size: float, *, bold: bool = False) -> str:
    """Shorten a text in the middle to at most `max_width`: its end is often more informative."""
    if fonts.width(text, size, bold) <= max_width:
        return text
    if len(text) > 200:
        text = text[:100] + text[-100:]
    for keep in range(len(text) - 1, 0, -1):
        shown = f"{text[: (keep + 1) // 2]}…{text[len(text) - keep // 2 :]}"
        if fonts.width(shown, size, bold) <= max_width:
            return shown
    return "…"


_NAMED = re.compile(r"[A-Z] [^\W\d_]+([ '][^\W\d_]+)*")
"""A matrix's symbol and its name, as "K key"; no formula"""
_EXPLAINED = re.compile(r"(.+?)(?: =|:) ")
"""A name, and what it is: "difference: half the sum of |p − q|\""""


def fit_title(title: str, max_width: float) -> tuple[str, float]:
    """Return a matrix's title and its font size: whole, in smaller type where it must be, or a part as in the browser.

    The part is its symbol or its name alone, or what is left of it when it is shortened in the middle.
    """
    whole = fonts.width(title, NAME, bold=True)
    if whole <= max_width:
        return title, NAME
    smaller = NAME * (max_width - AROUND_NAME) / whole
    if smaller >= SMALLEST_NAME:
        return title, smaller
    if _NAMED.fullmatch(title):
        cuts = (f"{title[:kept]}…" for kept in range(len(title) - 1, 2, -1) if title[0] == "W")  # Q, K, V each have one
        return next((cut for cut in cuts if fonts.width(cut, NAME, bold=True) <= max_width), title[0]), NAME
    name = _EXPLAINED.match(title)
    return shorten(name[1] if name else title, max_width, NAME, bold=True), NAME


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
    for panel in placed:
        moved = replace(panel, x=panel.x + x + across, y=panel.y + y + down)
        marks += _draw(moved, labels, theme)
    return marks


def _draw(at: PlacedPanel, labels: Labels, theme: Theme) -> list[Mark]:
    marks: list[Mark] = [_matrix(at, theme), *_heads(at, theme), *_title(at, theme)]
    if at.row_labels:
        marks += _row_labels(at, labels, theme)
    if at.column_labels:
        marks += _column_labels(at, labels, theme)
    if at.panel.bar:
        marks += _bar(at, theme)
    return marks


def _matrix(at: PlacedPanel, theme: Theme) -> Matrix:
    numbers, size = _numbers(at.panel, at.cell)
    colours = colour_cells(at.panel, theme)
    box = (at.x, at.y, at.width, at.height)
    return Matrix(at.panel.name, *box, at.panel.values, colours, numbers, size, theme, at.panel.text, at.panel.reasons)


def _numbers(panel: Panel, cell: tuple[float, float]) -> tuple[tuple[tuple[str, ...], ...], float]:
    """Return the numbers of a matrix as they fit its cells, and their font size, by the rule of the browser's board."""
    if not panel.has_numbers or not panel.values.size:
        return (), 0.0
    signed = panel.scale == "signed"
    digits = max(1, math.floor(math.log10(max(1.0, panel.largest))) + 1) + signed
    small = panel.scale == "weights" or panel.largest < BARE_BELOW

    def size(letters: float) -> float:
        return min(LARGEST_NUMBER, cell[1] * 0.66, cell[0] * 0.9 / (letters * 0.53))

    formats = (
        (2, False, size(digits + 2.5) if panel.largest < ONE_DECIMAL_FROM else 0.0, SMALLEST_NUMBER + 1),
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


def _heads(at: PlacedPanel, palette: Palette) -> list[Mark]:
    """Draw lines between concatenated heads and a frame around the current head."""
    if at.panel.parts is None:
        return []
    size, followed = at.panel.parts
    wide = at.cell[0] * size
    count = at.panel.values.shape[1] // max(1, size)
    lines = [Line(at.x + h * wide, at.y, at.x + h * wide, at.y + at.height, RULE, 1) for h in range(1, count)]
    frame = Box(at.x + followed * wide, at.y, wide, at.height, outline=palette.ink.attention, line=3)
    return [*lines, frame]


def _title(at: PlacedPanel, palette: Palette) -> list[Mark]:
    panel = at.panel
    rows, cols = panel.values.shape
    size = f"{rows} × {cols}"
    finite = panel.values[np.isfinite(panel.values)]
    size_and_range = f"{size} · {number(float(finite.min()))} … {number(float(finite.max()))}" if finite.size else size
    name, size_of_name = fit_title(panel.title, at.title_width)
    reasons = panel.legend
    hatchings = [f"{start} · {reasons}" for start in (size_and_range, size)] if reasons else []
    lines = (*hatchings, size_and_range)
    about = next((line for line in lines if fonts.width(line, SHAPE) <= at.title_width), size)
    ink = palette.role(panel.name) or palette.text
    return [
        Text(at.x, at.y - 28, name, size_of_name, ink, bold=True),
        Text(at.x, at.y - 9, about, SHAPE, ink),
    ]


def _row_labels(at: PlacedPanel, labels: Labels, palette: Palette) -> list[Mark]:
    tokens, high = labels.get(at.panel.rows), at.cell[1]
    size = max(11.0, min(LABEL, high * 1.05))
    shown, step = ticks(at.panel.values.shape[0], high, 13 if tokens else 17)
    marks: list[Mark] = []
    for i in shown:
        text = shorten(label_text(tokens, i, step), MAX_LABEL_WIDTH, size) if tokens else str(i)
        middle = at.y + (i + 0.5) * high
        marks.append(Text(at.x - 8, middle + size * 0.33, text, size, palette.text, anchor="end"))
    kind = row_kind(at.panel.rows, at.panel.cols)
    title = AXIS_TITLE.get(kind, "")
    if fonts.width(title, AXIS) > at.height + 60:
        title = brief_title(title)
    if title:
        left = (longest(tokens) if tokens else INDEX_GUTTER - 10) + 18
        ink = palette.role(kind) or palette.text
        marks.append(Text(at.x - left, at.y + at.height / 2, title, AXIS, ink, anchor="middle", turn=90))
    return marks


def _column_labels(at: PlacedPanel, labels: Labels, palette: Palette) -> list[Mark]:
    tokens, wide, bottom = labels.get(at.panel.cols), at.cell[0], at.y + at.height
    turned = tokens is not None and longest(tokens) > wide - 4
    shown, step = ticks(at.panel.values.shape[1], wide, 18 if tokens else 30)
    size = LABEL if step == 1 or not tokens else THINNED
    texts = at.panel.col_ticks or {
        j: shorten(label_text(tokens, j, step), MAX_LABEL_WIDTH, size) if tokens else str(j) for j in shown
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
    """Keep the labels of named columns (heads) that do not touch: of two that would, the shorter, or the first."""
    widths = {j: fonts.width(text, LABEL) for j, text in texts.items()}
    kept: list[int] = []

    def touches(j: int) -> bool:
        return bool(kept) and (j - kept[-1]) * wide < (widths[j] + widths[kept[-1]]) / 2 + 8

    for j in sorted(texts):
        while touches(j) and widths[kept[-1]] > widths[j]:
            kept.pop()
        if not touches(j):
            kept.append(j)
    return {j: texts[j] for j in kept}


def _signs(panel: Panel) -> tuple[str, str]:
    """Return what stands before the numbers at the upper and the lower end of a colour bar."""
    (smallest, largest), (low, high) = panel.ends, panel.domain
    return "≥" if largest > BEYOND * high else "", "≤" if smallest < BEYOND * low else ""


def _bar(at: PlacedPanel, palette: Palette) -> list[Mark]:
    low, high = at.panel.domain
    tall = min(at.height, 220.0) if at.height >= 70 else 70.0
    left, top = at.x + at.width + 14, at.y + at.height - tall
    colours = tuple(str(colour) for _, colour in reversed(scale(at.panel, palette)))
    digits = 1 if high >= ONE_DECIMAL_FROM else 3 if high < THREE_DECIMALS_BELOW else 2
    values = (high, 0.0, low) if low < 0 else (high, (high + low) / 2, low)
    marks: list[Mark] = [Gradient(left, top, 12, tall, colours), Box(left, top, 12, tall, outline=RULE, line=0.5)]
    above, below = _signs(at.panel)
    for place_, (sign, value) in enumerate(zip((above, "", below), values, strict=True)):
        text = sign + number(value, 0 if value == 0 else digits)
        marks.append(Text(left + 17, top + 10 + (tall - 14) * place_ / 2, text, MARK, palette.text))
    return marks
