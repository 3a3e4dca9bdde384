"""Positions of the matrices on a sheet: the grid of the board in the browser, with space for larger type."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import radians, sin

from attnviz.export.drawing import fonts
from attnviz.figures.panels import Layout, Panel

NAME, SHAPE, LABEL, AXIS, MARK = 22.0, 15.0, 18.0, 16.0, 15.0
"""Font sizes: a matrix's name, its shape and range, tokens, axis names, numbers of a colour bar"""
TITLE = 52.0
"""Space above each matrix for its name, shape and range"""
AXIS_ROOM, GAP, BAR, INDEX_GUTTER, MAX_LABEL_WIDTH = 24.0, 22.0, 64.0, 28.0, 130.0
LARGEST_CELL = (104.0, 62.0)
NUMBERED_CELL = (48.0, 26.0)
"""The minimum cell size for readable numbers"""
NUMBERED_SHARE = 0.62
"""The largest share of the space that cells with numbers may take from cells without"""
MIN_EVEN_CELL = (22.0, 15.0)
"""From this size, the cells of all matrices have the same size"""
TURN = 55.0
"""Rotation of column labels that do not fit, in degrees"""
NUMBERED_LABELS = 24
"""With more tokens than this, thinned labels include their number"""

Labels = Mapping[str, Sequence[str]]


@dataclass(frozen=True, slots=True, eq=False)
class Placed:
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


def place(layout: Layout, labels: Labels, width: float, height: float) -> tuple[list[Placed], tuple[float, float]]:
    """Place each panel in a picture of this size, in pixels from the picture's upper left corner.

    Returns:
        The placed panels, and the width and height of the whole with its labels.
    """
    slots = _slots(layout)
    columns = [[slot for slot in slots if slot.column == c] for c in range(len(layout.widths))]
    rows = [[slot for slot in slots if slot.row == r] for r in range(len(layout.heights))]
    before = [_gutter(own, first=c == 0, labels=labels) for c, own in enumerate(columns)]
    after = [
        (BAR if any(slot.panel.bar for slot in own) else 0) + (GAP if c < len(columns) - 1 else 0)
        for c, own in enumerate(columns)
    ]
    across = [max([1, *(slot.panel.values.shape[1] for slot in own)]) for own in columns]
    down = [max([1, *(slot.panel.values.shape[0] for slot in own)]) for own in rows]
    numbered = [[any(slot.panel.has_numbers for slot in own) for own in side] for side in (columns, rows)]
    widths = _share(width - sum(before) - sum(after), across, layout.widths, 0, numbered[0])
    below = [
        max([0.0, *(_footer(slot, widths[slot.column] / across[slot.column], labels) for slot in own)]) for own in rows
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
    placed = [
        Placed(slot.panel, x, y, wide, high, slot.row_labels, slot.column_labels, _title_width(slot, x, boxes, width))
        for slot, x, y, wide, high in boxes
    ]
    return placed, (sum(before) + sum(widths) + sum(after), height - free + sum(heights))


def _title_width(
    slot: _Slot, x: float, boxes: Sequence[tuple[_Slot, float, float, float, float]], width: float
) -> float:
    return min([width, *(left for other, left, *_ in boxes if other.row == slot.row and left > x)]) - x - 6


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
        return [size * count if own else next(others) for count, own in zip(counts, numbered, strict=True)]
    if even >= MIN_EVEN_CELL[side]:
        return [count * even for count in counts]
    shares = [weight / sum(weights) for weight in weights]
    return [min(space * share, count * LARGEST_CELL[side]) for share, count in zip(shares, counts, strict=True)]


def _gutter(own: Sequence[_Slot], *, first: bool, labels: Labels) -> float:
    """Return the space left of a column of panels, for row labels and the axis title."""
    needed = [
        (longest(labels[slot.panel.rows]) + 10 if slot.panel.rows in labels else INDEX_GUTTER) + AXIS_ROOM
        for slot in own
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


def label_text(tokens: Sequence[str], i: int, every: int) -> str:
    """Return the axis label of a token; it includes the position if only every n-th of many tokens has a label."""
    return f"{i} {tokens[i]}" if every > 1 and len(tokens) > NUMBERED_LABELS else tokens[i]


def ticks(count: int, cell: float, needed: float) -> tuple[range, int]:
    """Return the labelled positions of an axis and their step: 1 if labels have `needed` pixels, else 2, 4, …"""
    every = 1
    while cell * every < needed and every < 4096:
        every *= 2
    return range(0, count, every), every


def shorten(text: str, max_width: float, size: float, *, bold: bool = False) -> str:
    """Shorten a text in the middle to at most `max_width`: its end is often more informative."""
    if fonts.width(text, size, bold) <= max_width:
        return text
    if len(text) > 200:
        text = text[:100] + text[-100:]
    for keep in range(len(text) - 1, 1, -1):
        shown = f"{text[: (keep + 1) // 2]}…{text[len(text) - keep // 2 :]}"
        if fonts.width(shown, size, bold) <= max_width:
            return shown
    return "…"
