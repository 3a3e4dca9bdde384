"""Where the matrices of a sheet lie: the grid of components/frontend/board_layout.js, with room for larger type."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import radians, sin

from attnviz.export.drawing import fonts
from attnviz.figures.panels import Layout, Panel

NAME, SHAPE, LABEL, AXIS, MARK = 22.0, 15.0, 18.0, 16.0, 15.0
"""Type sizes: a matrix's name, its shape and range, tokens, axis names, a colour bar's numbers"""
TITLE = 52.0
"""Room above each matrix for its name, shape and range"""
AXIS_ROOM, GAP, BAR, INDEX_GUTTER, LONGEST = 24.0, 22.0, 64.0, 28.0, 130.0
LARGEST_CELL = (104.0, 62.0)
READ_CELL = (48.0, 26.0)
"""What a cell wants where numbers are to be read in it"""
READ_SHARE = 0.62
"""The part of the room that such cells may take from those that carry no numbers"""
EVEN = (22.0, 15.0)
"""From this size on, all matrices get cells of one size"""
TURN = 55.0
"""Degrees by which labels of columns are turned where they do not fit"""
NUMBERED_LABELS = 24
"""Tokens from which on thinned labels carry their number"""

Labels = Mapping[str, Sequence[str]]


@dataclass(frozen=True, slots=True, eq=False)
class Placed:
    """A panel where it stands on the sheet."""

    panel: Panel
    x: float
    y: float
    width: float
    height: float
    row_labels: bool
    """Whether its rows are labelled: labels are written once for matrices that share an axis"""
    column_labels: bool
    title_room: float

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
    """Give each panel its box in a picture of this size, in pixels, from the picture's upper left corner.

    Returns:
        The boxes, and the width and the height that they take with their labels.
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
    read = [[any(slot.panel.has_numbers for slot in own) for own in side] for side in (columns, rows)]
    widths = _share(width - sum(before) - sum(after), across, layout.widths, 0, read[0])
    below = [
        max([0.0, *(_footer(slot, widths[slot.column] / across[slot.column], labels) for slot in own)]) for own in rows
    ]
    free = height - len(rows) * TITLE - sum(below) - GAP / 2 * (len(rows) - 1)
    heights = _share(free, down, layout.heights, 1, read[1])
    boxes = []
    for slot in slots:
        c, r = slot.column, slot.row
        x = sum(before[: c + 1]) + sum(widths[:c]) + sum(after[:c])
        y = TITLE * (r + 1) + sum(heights[:r]) + sum(below[:r]) + GAP / 2 * r
        size = (widths[c] * slot.panel.values.shape[1] / across[c], heights[r] * slot.panel.values.shape[0] / down[r])
        boxes.append((slot, x, y, *size))
    placed = [
        Placed(slot.panel, x, y, wide, high, slot.row_labels, slot.column_labels, _title_room(slot, x, boxes, width))
        for slot, x, y, wide, high in boxes
    ]
    return placed, (sum(before) + sum(widths) + sum(after), height - free + sum(heights))


def _title_room(
    slot: _Slot, x: float, boxes: Sequence[tuple[_Slot, float, float, float, float]], width: float
) -> float:
    return min([width, *(left for other, left, *_ in boxes if other.row == slot.row and left > x)]) - x - 6


def _slots(layout: Layout) -> list[_Slot]:
    """Say which panels stand where, and which of them carry labels."""
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


def _share(free: float, counts: Sequence[int], wanted: Sequence[float], side: int, read: Sequence[bool]) -> list[float]:
    """Share out pixels: first to cells whose numbers are to be read; all of one size where that is readable."""
    room = max(free, 10.0 * len(counts))
    even = min(LARGEST_CELL[side], room / sum(counts))
    first = sum(count for count, is_read in zip(counts, read, strict=True) if is_read)
    if even < READ_CELL[side] and 0 < first < sum(counts):
        size = max(even, min(READ_CELL[side], READ_SHARE * room / first))
        rest = [place for place, is_read in enumerate(read) if not is_read]
        others = iter(
            _share(room - size * first, [counts[i] for i in rest], [wanted[i] for i in rest], side, [False] * len(rest))
        )
        return [size * count if is_read else next(others) for count, is_read in zip(counts, read, strict=True)]
    if even >= EVEN[side]:
        return [count * even for count in counts]
    shares = [share / sum(wanted) for share in wanted]
    return [min(room * share, count * LARGEST_CELL[side]) for share, count in zip(shares, counts, strict=True)]


def _gutter(own: Sequence[_Slot], *, first: bool, labels: Labels) -> float:
    """Return the room left of a column of panels, for the labels of their rows and the axis's name."""
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
    """Return how wide the widest label is, numbers of thinned ones included, up to LONGEST."""
    return min(LONGEST, max([12.0, *(fonts.width(label_text(tokens, i, 2), LABEL) for i in range(len(tokens)))]))


def label_text(tokens: Sequence[str], i: int, every: int) -> str:
    """Return a token as it is written on an axis: where many are left out, its number says which it is."""
    return f"{i} {tokens[i]}" if every > 1 and len(tokens) > NUMBERED_LABELS else tokens[i]


def ticks(count: int, cell: float, needed: float) -> tuple[range, int]:
    """Say which positions of an axis are labelled: each where a label has `needed` pixels, else every 2nd, 4th, …"""
    every = 1
    while cell * every < needed and every < 4096:
        every *= 2
    return range(0, count, every), every


def shorten(text: str, room: float, size: float, *, bold: bool = False) -> str:
    """Shorten a text in the middle until it fits the room: its end often tells more than its middle."""
    if fonts.width(text, size, bold) <= room:
        return text
    if len(text) > 200:
        text = text[:100] + text[-100:]
    for keep in range(len(text) - 1, 1, -1):
        shown = f"{text[: (keep + 1) // 2]}…{text[len(text) - keep // 2 :]}"
        if fonts.width(shown, size, bold) <= room:
            return shown
    return "…"
