"""Drawings as lists of marks, independent of the file format, and their light and dark colours.

Lengths are in pixels on a sheet of 1280 x 720, from its upper left corner. The `y` of a text is its baseline.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from attnviz.figures.style import DARK, LIGHT, RULE, Palette


@dataclass(frozen=True, slots=True, eq=False)
class Theme(Palette):
    """The colours of a sheet, each as "#5E3C99": those of figures, and its own."""

    quiet: str
    """Secondary text: the subject, the sheet's number"""
    link: str
    row_rule: str
    """The lines between rows of a table of text"""
    frame: str
    """The line around a matrix"""
    boxed: str
    """The background of a formula's boxed term"""
    highlight: str
    """The same on a slide, without an outline"""


def _theme(palette: Palette, **colours: Any) -> Theme:
    shared = {field.name: getattr(palette, field.name) for field in fields(palette)}
    return Theme(**shared, link=palette.ink.query, **colours)


THEMES = {
    "light": _theme(LIGHT, quiet="#6B6B78", row_rule="#DCDCE4", frame="#B5B5BD", boxed="#F1EDF8", highlight="#E3DAF3"),
    "dark": _theme(DARK, quiet="#9A9AA8", row_rule="#3A3A46", frame="#55555F", boxed="#2E2740", highlight="#4A3D6B"),
}
LIGHT_THEME = THEMES["light"]


Rgb = npt.NDArray[np.uint8]
"""(rows, cols, 3): red, green and blue of each cell"""
Anchor = Literal["start", "middle", "end"]


@dataclass(frozen=True, slots=True)
class Text:
    """One line of text."""

    x: float
    y: float
    text: str
    size: float
    colour: str
    bold: bool = False
    anchor: Anchor = "start"
    """Which point of the line is at x"""
    turn: float = 0.0
    """Rotation in degrees, counter-clockwise, around (x, y)"""
    link: str = ""


@dataclass(frozen=True, slots=True)
class Line:
    """A straight line."""

    x1: float
    y1: float
    x2: float
    y2: float
    colour: str
    width: float


@dataclass(frozen=True, slots=True)
class Box:
    """A rectangle, filled, outlined, or both."""

    x: float
    y: float
    width: float
    height: float
    fill: str | None = None
    outline: str | None = None
    line: float = 1.0


@dataclass(frozen=True, slots=True)
class Gradient:
    """A colour bar: evenly spaced colours from top to bottom."""

    x: float
    y: float
    width: float
    height: float
    colours: tuple[str, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Matrix:
    """Coloured cells, with numbers if they fit."""

    name: str
    x: float
    y: float
    width: float
    height: float
    values: npt.NDArray[np.float32]
    """(rows, cols); NaN in hidden cells, which are drawn hatched"""
    colours: Rgb
    numbers: tuple[tuple[str, ...], ...] = ()
    """The text of each cell, "" in hidden cells; () for no numbers"""
    size: float = 0.0
    """Font size of the numbers"""
    theme: Theme = LIGHT_THEME
    alt: str = ""
    """The alternative text"""
    reasons: npt.NDArray[np.uint8] | None = None
    """`Panel.reasons`"""

    @property
    def rows(self) -> int:
        """The number of rows."""
        return int(self.values.shape[0])

    @property
    def cols(self) -> int:
        """The number of columns."""
        return int(self.values.shape[1])

    @property
    def cell(self) -> tuple[float, float]:
        """Width and height of one cell."""
        return self.width / max(1, self.cols), self.height / max(1, self.rows)

    @property
    def hidden(self) -> npt.NDArray[np.bool_]:
        """(rows, cols): which cells are hidden."""
        return np.isnan(self.values)

    @property
    def hatches(self) -> npt.NDArray[np.uint8]:
        """(rows, cols): 1 plus the place in `REASONS` of the hatching of each hidden cell, and 0 in the others."""
        reasons = np.uint8(0) if self.reasons is None else self.reasons
        return np.where(self.hidden, np.maximum(reasons, 1), 0).astype(np.uint8)

    @property
    def gap(self) -> float:
        """The gap between cells; small cells have none."""
        return 1.0 if min(self.cell) >= 9 else 0.0

    def box(self, i: int, j: int) -> tuple[float, float, float, float]:
        """Return the rectangle of one cell: x, y, width and height."""
        wide, high = self.cell
        over = 0.0 if self.gap else 0.3  # a slight overlap hides seams between neighbours
        x, y = self.x + j * wide + self.gap / 2, self.y + i * high + self.gap / 2
        return x, y, wide - self.gap + over, high - self.gap + over

    def number_at(self, i: int, j: int) -> tuple[float, float]:
        """Return the position of one cell's number: its horizontal centre and its baseline."""
        wide, high = self.cell
        return self.x + (j + 0.5) * wide, self.y + (i + 0.5) * high + self.size * 0.34


@dataclass(frozen=True, slots=True, eq=False)
class Table:
    """Rows of text under a header."""

    x: float
    y: float
    widths: tuple[float, ...]
    row: float
    """The height of one row"""
    rows: tuple[tuple[str, ...], ...]
    """The first row is the header"""
    size: float
    theme: Theme = LIGHT_THEME

    def marks(self) -> list[Text | Line]:
        """Return the table as text marks, with a line under each row."""
        marks: list[Text | Line] = []
        wide = sum(self.widths)
        for i, cells in enumerate(self.rows):
            bottom, x = self.y + (i + 1) * self.row, self.x
            for width, cell in zip(self.widths, cells, strict=True):
                base = bottom - self.row / 2 + self.size * 0.33
                marks.append(Text(x + 6, base, cell, self.size, self.theme.text, bold=i == 0))
                x += width
            marks.append(Line(self.x, bottom, self.x + wide, bottom, RULE if i == 0 else self.theme.row_rule, 1))
        return marks


Plain = Text | Line | Box | Gradient | Matrix
"""The marks that every file format implements"""
Mark = Plain | Table


@dataclass(frozen=True, slots=True, eq=False)
class Drawing:
    """A picture: its marks from back to front, and its alternative text."""

    width: float
    height: float
    marks: tuple[Mark, ...]
    alt: str = ""
    title: str = ""
    theme: Theme = LIGHT_THEME

    @property
    def texts(self) -> tuple[Text, ...]:
        """The lines of text outside the matrices."""
        return tuple(mark for mark in self.flat if isinstance(mark, Text))

    @property
    def flat(self) -> tuple[Plain, ...]:
        """The marks, with each table replaced by its text and lines."""
        return tuple(m for mark in self.marks for m in (mark.marks() if isinstance(mark, Table) else (mark,)))

    @property
    def matrices(self) -> tuple[Matrix, ...]:
        """The matrices, in the order of the layout."""
        return tuple(mark for mark in self.marks if isinstance(mark, Matrix))

    @property
    def letters(self) -> tuple[str, str]:
        """All characters in the drawing, in regular and in bold weight."""
        cells = "".join(number for m in self.matrices for row in m.numbers for number in row)
        plain = "".join(text.text for text in self.texts if not text.bold)
        return plain + cells, "".join(text.text for text in self.texts if text.bold)
