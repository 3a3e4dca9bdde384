"""Figures as data: panels (matrices) in a grid, and their places."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from attnviz.figures.style import matrix_text
from attnviz.mask_reasons import legend
from attnviz.reprs import ShortRepr

NUMBERED = 16
"""Matrices with up to this many rows and columns show their numbers in the cells."""
ONE_DECIMAL_FROM = 9.995
"""From this magnitude on, a number in a cell or beside a colour bar has one decimal: it has two digits before the
point"""
THREE_DECIMALS_BELOW = 0.1
"""The end of a colour bar whose numbers have three decimals"""
BEYOND = 1.005
"""From this multiple of the end of a colour bar on, a number is said to be beyond it: less is rounding"""
BARE_BELOW = 0.995
"""Numbers below this magnitude may be written without the zero before the point, as .36, if their cells are narrow"""
SPACED = 48
"""Matrices with up to this many rows and columns have space between the cells of a Plotly figure"""
GAP = (0.05, 0.14)
"""The space between two matrices of a Plotly figure, across and down, as fractions of the figure"""

Scale = Literal["signed", "weights"]


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Panel(ShortRepr):
    """One matrix in a figure."""

    name: str
    title: str
    values: npt.NDArray[np.float32]
    """(rows, cols); NaN in hidden cells"""
    rows: str
    """The axis kind of the rows: query, key, model, dim or concat"""
    cols: str
    limit: float | None = None
    """The end of the colour domain; None is the panel's own largest magnitude"""
    scale: Scale = "signed"
    col_ticks: dict[int, str] = field(default_factory=dict)
    """Labels of columns that are not tokens: position -> text"""
    parts: tuple[int, int] | None = None
    """For concatenated heads: the width of a head, and the index of the current one"""
    bar: bool = False
    """Whether to draw a colour bar"""
    numbered: bool = True
    """Whether small matrices show their numbers in the cells"""
    reasons: npt.NDArray[np.uint8] | None = None
    """(rows, cols): why hidden cells are hidden, from `MaskReasons.codes`; None if that is not known"""

    @property
    def text(self) -> str:
        """The matrix in words, for screen readers."""
        return matrix_text(self.title, self.values, self.rows, self.cols)

    @property
    def ends(self) -> tuple[float, float]:
        """The smallest and the largest finite number, or 0 if there is none."""
        finite = self.values[np.isfinite(self.values)]
        return (float(finite.min()), float(finite.max())) if finite.size else (0.0, 0.0)

    @property
    def largest(self) -> float:
        """The largest finite magnitude, or 0 if there is none."""
        return max(map(abs, self.ends))

    @property
    def domain(self) -> tuple[float, float]:
        """The ends of the colour domain."""
        limit = self.limit if self.limit is not None else self.largest or 1.0
        return (-limit if self.scale == "signed" else 0.0), limit

    @property
    def has_numbers(self) -> bool:
        """Whether the cells show their numbers."""
        return self.numbered and max(self.values.shape) <= NUMBERED

    @property
    def has_gaps(self) -> bool:
        """Whether any cell is hidden."""
        return bool(np.isnan(self.values).any())

    @property
    def legend(self) -> str:
        """What its hatchings mean, if it has several; else ""."""
        return legend(self.reasons) if self.has_gaps else ""

    @property
    def decimals(self) -> int:
        """Decimals of the numbers in the cells: 2, or 1 if numbers have two digits before the point."""
        return 2 if self.largest < ONE_DECIMAL_FROM else 1


@dataclass(frozen=True, slots=True)
class Pin:
    """The pinned query and key; either may be None."""

    q: int | None = None
    k: int | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Layout:
    """A figure's grid of panels (None is an empty cell of the grid)."""

    grid: Sequence[Sequence[Panel | None]]
    widths: Sequence[float]
    """Relative width of each grid column"""
    heights: Sequence[float]
    products: dict[str, dict[str, Any]] = field(default_factory=dict)
    """The operands of each product panel, for the browser: result -> {"left", "right", "bias"}"""
    between: str = ""
    """The operation, e.g. "Q · Kᵀ = scores", shown in the empty corner of a product"""


def in_a_row(*panels: Panel) -> Layout:
    """Return panels side by side, of one width."""
    return Layout((panels,), (1,) * len(panels), (1,))


Box = tuple[float, float, float, float]
"""left, right, bottom, top of a panel, as fractions of the figure"""


@dataclass(frozen=True, slots=True, eq=False)
class PlacedPanel:
    """A panel and its position in the figure."""

    panel: Panel
    box: Box
    axis: int
    """The number of its pair of axes, from 1"""
    bottom: bool
    """Whether no panel is below it, so that it shows the column labels"""
    leftmost: bool

    @property
    def suffix(self) -> str:
        """What Plotly appends to "x" and "y" for this pair of axes."""
        return "" if self.axis == 1 else str(self.axis)


def place_panels(layout: Layout) -> list[PlacedPanel]:
    """Compute the box of each panel. The space without gaps is divided in proportion to widths and heights."""
    gap_x, gap_y = GAP
    free_x, free_y = 1 - gap_x * (len(layout.widths) - 1), 1 - gap_y * (len(layout.heights) - 1)
    wide = [w / sum(layout.widths) * free_x for w in layout.widths]
    high = [h / sum(layout.heights) * free_y for h in layout.heights]
    places: list[PlacedPanel] = []
    for r, row in enumerate(layout.grid):
        for c, panel in enumerate(row):
            if panel is None:
                continue
            left, top = sum(wide[:c]) + gap_x * c, 1 - sum(high[:r]) - gap_y * r
            box = (left, min(1.0, left + wide[c]), max(0.0, top - high[r]), top)
            bottom = all(lower[c] is None for lower in list(layout.grid)[r + 1 :])
            places.append(PlacedPanel(panel, box, len(places) + 1, bottom, all(p is None for p in row[:c])))
    return places
