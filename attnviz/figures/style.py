"""Colours of figures in light and dark themes, and the text of labels.

The browser has the same values: tests/unit/components/constants.py writes them into frontend/core/constants.ts.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

import numpy as np
import numpy.typing as npt

from attnviz.formatting import counted, exact, number
from attnviz.formulas import Role
from attnviz.steps.picture import ROLE

Colours = list[list[float | str]]

AXIS_TITLE = {
    "query": "query (from)",
    "key": "key (to)",
    "model": "model width C",
    "hidden": "neuron",
    "vocabulary": "token of the vocabulary",
    "dim": "head width D",
    "pair": "pair",
    "concat": "heads side by side, H·D",
    "layer": "layer",
    "head": "head",
}
"""The titles of axes, by their kinds"""
ROWS_AND_COLUMNS = "Rows are queries (from), columns are keys (to)."
"""What captions, notes and files say of matrices of queries and keys"""
RULE, RULE_OPACITY = "#80808C", 0.6
"""The colour of lines that are visible in both themes, and their opacity where they are less important"""
INK_ON_LIGHT, INK_ON_DARK, LIGHT_FROM = "#1B1B26", "#FFFFFF", 140
"""The colours of text on a coloured cell: dark on a luminance (0 to 255) above the last number, otherwise light"""
TURN = 55
"""The rotation of column labels that do not fit side by side, in degrees"""
NUMBERED_LABELS = 24
"""With more tokens than this, labels include their position if only every n-th has one"""
LONGEST_LABEL = 12
"""Characters of the longest label in a Plotly figure"""


def brief_title(title: str) -> str:
    """Return the word of an axis title that is written where the whole title has no room: "from", "to", "D"."""
    return title.rsplit(maxsplit=1)[-1].strip("()")


def matrix_text(title: str, values: npt.NDArray[np.floating[Any]], rows: str = "query", columns: str = "key") -> str:
    """Return a matrix in words, for screen readers: its title, what its rows and columns are, and its range.

    The browser says the same (frontend/board/panel.ts).

    Args:
        title: of the matrix.
        values: (rows, columns); not finite in hidden cells.
        rows: the kind of the rows' axis, a key of `AXIS_TITLE`; of any other kind, their number alone is said.
        columns: the kind of the columns' axis.
    """
    down, across = values.shape
    seen = values[np.isfinite(values)]
    span = [f"numbers from {number(float(seen.min()))} to {number(float(seen.max()))}"] if seen.size else []
    return ", ".join([title, _axis_text(down, "row", rows), _axis_text(across, "column", columns), *span])


def _axis_text(count: int, noun: str, kind: str) -> str:
    return ": ".join(filter(None, (counted(count, noun), AXIS_TITLE.get(kind))))


def hatching(ground: str, line: str) -> str:
    """Return hatching as an SVG data URL, for cells without a number."""
    return "data:image/svg+xml," + quote(
        "<svg xmlns='http://www.w3.org/2000/svg' width='240' height='240'>"
        "<defs><pattern id='h' width='6' height='6' patternUnits='userSpaceOnUse' patternTransform='rotate(45)'>"
        f"<rect width='6' height='6' fill='{ground}'/><rect width='2' height='6' fill='{line}'/></pattern></defs>"
        "<rect width='240' height='240' fill='url(#h)'/></svg>",
        safe="!'()*",
    )


@dataclass(frozen=True, slots=True)
class Ink:
    """The colours of the four roles. Colour-blind readers can tell them apart."""

    query: str
    key: str
    value: str
    attention: str

    def of(self, role: Role) -> str:
        """Return the colour of a role."""
        colour: str = getattr(self, role)
        return colour


@dataclass(frozen=True, slots=True)
class Palette:
    """The colours of one theme. 0 has the colour of the canvas, so that large magnitudes stand out."""

    ink: Ink
    """For areas and large marks"""
    text_ink: Ink
    """The same roles for small text: with a contrast of at least 4.5 to the canvas"""
    signed: Colours
    """Brown is negative, purple is positive"""
    weights: Colours
    hatch: tuple[str, str]
    """Background and lines of hidden cells"""
    text: str
    canvas: str
    paper: str
    """The background of a page, a slide and an exported picture"""
    heading: str
    """Text on the page, and titles of exported pictures"""

    @property
    def rule(self) -> str:
        """The colour of grid lines."""
        return f"rgba({','.join(str(int(RULE[at : at + 2], 16)) for at in (1, 3, 5))},{RULE_OPACITY:g})"

    def role(self, quantity: str) -> str | None:
        """Return the colour of a quantity's name, or None if it has the text colour."""
        return self.text_ink.of(ROLE[quantity]) if quantity in ROLE else None


LIGHT = Palette(
    Ink("#0072B2", "#D55E00", "#009E73", "#5E3C99"),
    Ink("#0068A3", "#A84800", "#007050", "#5E3C99"),
    signed=[[0, "#B35806"], [0.25, "#FDB863"], [0.5, "#FFFFFF"], [0.75, "#B2ABD2"], [1, "#5E3C99"]],
    weights=[[0, "#FFFFFF"], [1, "#5E3C99"]],
    hatch=("#D4D4DC", "#AFAFBB"),
    text="#4A4A57",
    canvas="#FFFFFF",
    paper="#FFFFFF",
    heading="#1B1B26",
)
DARK = Palette(
    # The same hues, light enough to be read on a dark ground.
    Ink("#6CBDF0", "#FF9D5C", "#3FD0A4", "#BDA6EE"),
    Ink("#6BBCF0", "#FF9B52", "#3CCBA0", "#BDA6EE"),
    signed=[[0, "#FDB863"], [0.25, "#A4610F"], [0.5, "#20202B"], [0.75, "#6F5AA8"], [1, "#CDBBF5"]],
    weights=[[0, "#20202B"], [1, "#BDA6EE"]],
    hatch=("#3A3A46", "#55555F"),
    text="#C9C9D4",
    canvas="#20202B",
    paper="#14141B",
    heading="#EDEDF4",
)


def escape(text: str) -> str:
    """Escape a text for Plotly's labels and titles, which interpret some HTML."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def cell_texts(values: npt.ArrayLike, write: Callable[[float], str] = exact) -> list[list[str]]:
    """Return the text of each cell of a matrix for Plotly, "" in hidden cells (NaN).

    d3's formats, which Plotly has, round a small number to 0.

    Args:
        values: (rows, cols).
        write: a function of `attnviz.formatting`: `exact`, or `weight` for weights.
    """
    rows = np.asarray(values, dtype=float).tolist()
    return [["" if math.isnan(value) else write(value) for value in row] for row in rows]


def shorten(token: str, limit: int = LONGEST_LABEL) -> str:
    """Shorten a long token in the middle: its end is often more informative."""
    if len(token) <= limit:
        return token
    keep = limit - 1
    return f"{token[: keep - keep // 2]}…{token[len(token) - keep // 2 :]}"
