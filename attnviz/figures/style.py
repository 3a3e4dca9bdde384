"""Colours of figures in light and dark themes, and the text of labels.

The browser has the same values: tests/unit/components/constants.py writes them into frontend/core/constants.ts.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

import numpy as np
import numpy.typing as npt

from attnviz.formatting import counted, exact, number
from attnviz.formulas import Role
from attnviz.mask_reasons import REASONS, Reason
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
    "position": "position",
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


def row_kind(rows: str, columns: str) -> str:
    """Return the kind that names the rows of a matrix: beside a vocabulary, no query looks from them.

    The browser does the same (frontend/board/panel.ts).
    """
    return "position" if (rows, columns) == ("query", "vocabulary") else rows


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
    return ", ".join(
        [title, _axis_text(down, "row", row_kind(rows, columns)), _axis_text(across, "column", columns), *span]
    )


def _axis_text(count: int, noun: str, kind: str) -> str:
    return ": ".join(filter(None, (counted(count, noun), AXIS_TITLE.get(kind))))


SIDE = 240
"""The side of an image of hatching"""
_LINES: dict[Reason, str] = {
    "future": "<path d='M0,0V6' stroke-width='4'/>",
    "window": "<path d='M0,0H6' stroke-width='4'/>",
    "padding": "<path d='M0,0V6M0,0H6' stroke-width='3'/>",
}


def hatching(hatch: Mapping[Reason, tuple[str, str]], codes: npt.NDArray[np.uint8] | None = None) -> str:
    """Return hatching as an SVG data URL, to be stretched behind a matrix.

    Args:
        hatch: `Palette.hatch`.
        codes: (rows, columns), of `MaskReasons.codes`; None: all cells are hatched as the future is.
    """
    areas: list[tuple[Reason, str]] = [("future", f"0,0h{SIDE}v{SIDE}h-{SIDE}z")]
    areas += [] if codes is None else [(reason, path) for reason in REASONS[1:] if (path := _area(codes, reason))]
    patterns = "".join(
        f"<pattern id='{reason}' width='6' height='6' patternUnits='userSpaceOnUse' patternTransform='rotate(45)'>"
        f"<rect width='6' height='6' fill='{hatch[reason][0]}'/><g stroke='{hatch[reason][1]}'>{_LINES[reason]}</g>"
        "</pattern>"
        for reason, _ in areas
    )
    filled = "".join(f"<path d='M{path}' fill='url(#{reason})'/>" for reason, path in areas)
    return "data:image/svg+xml," + quote(
        f"<svg xmlns='http://www.w3.org/2000/svg' width='{SIDE}' height='{SIDE}'><defs>{patterns}</defs>{filled}</svg>",
        safe="!'()*",
    )


def _area(codes: npt.NDArray[np.uint8], reason: Reason) -> str:
    """Return the SVG path, without its first M, of the cells hidden for a reason."""
    rows, columns = codes.shape
    high, wide = SIDE / rows, SIDE / columns
    return "M".join(
        f"{start * wide:g},{row * high:g}h{(end - start) * wide:g}v{high:g}h-{(end - start) * wide:g}z"
        for row, start, end in runs(codes == 1 + REASONS.index(reason))
    )


def runs(cells: npt.NDArray[np.bool_]) -> Iterator[tuple[int, int, int]]:
    """Yield the row, the first column and the end of each run of True cells of a row, (rows, columns)."""
    edges = np.diff(np.pad(cells, ((0, 0), (1, 1))).astype(np.int8), axis=1)
    (rows, starts), (_, ends) = np.nonzero(edges == 1), np.nonzero(edges == -1)
    yield from zip(rows.tolist(), starts.tolist(), ends.tolist(), strict=True)


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
    hatch: Mapping[Reason, tuple[str, str]]
    """Background and lines of hidden cells, by why they are hidden. The backgrounds differ in lightness, the lines in
    direction: future /, window \\, padding both"""
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
    hatch={"future": ("#D4D4DC", "#AFAFBB"), "window": ("#ECECF1", "#B9B9C6"), "padding": ("#B4B4C1", "#8E8E9E")},
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
    hatch={"future": ("#3A3A46", "#55555F"), "window": ("#2B2B36", "#4B4B57"), "padding": ("#565664", "#757583")},
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
