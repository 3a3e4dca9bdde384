"""A CSV file of a user as a table: read whole, or refused in one sentence that names the row and the column."""

from __future__ import annotations

import codecs
import csv
import io
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass

from attnviz.formatting import quoted

MOST_BYTES = 2**20
MOST_ROWS, MOST_COLUMNS, LONGEST_CELL = 2000, 50, 5000
DELIMITERS = ",;\t"

_RULE = f"A CSV file is UTF-8 text of up to {MOST_BYTES // 2**20} MB"


class CsvError(ValueError):
    """A file can't be used. The message is one sentence for the user; rows are counted from 1, the header's."""


@dataclass(frozen=True, slots=True)
class Table:
    """The rows of a CSV file."""

    columns: tuple[str, ...]
    """Their names, each another one"""
    rows: tuple[tuple[str, ...], ...]
    """As many cells each as there are columns"""
    numbers: tuple[int, ...]
    """The number of each row as a spreadsheet counts it: the header is row 1"""

    def column(self, name: str) -> tuple[str, ...]:
        """Return the cells of a column.

        Raises:
            CsvError: there is none of this name.
        """
        if name not in self.columns:
            named = ", ".join(map(quoted, self.columns[:10]))
            raise CsvError(f"There is no column {quoted(name)}; the file has {named}.")
        place = self.columns.index(name)
        return tuple(row[place] for row in self.rows)


def read_table(data: bytes) -> Table:
    """Read a CSV file: UTF-8, with a header, and comma, semicolon or tab between cells.

    Raises:
        CsvError: it is too large, binary, not UTF-8, empty, or a row or cell of it can't be used.
    """
    text = _decoded(data)
    header, *lines = _parsed(text) or [[]]
    columns = tuple(name.strip() for name in header)
    if not any(columns):
        raise CsvError("Row 1 is empty: a file begins with the names of its columns, such as text,label.")
    _check_header(columns)
    rows, numbers = [], []
    for number, row in enumerate(lines, 2):
        if not any(cell.strip() for cell in row):  # an empty line
            continue
        _check_row(row, number, columns)
        rows.append(tuple(row))
        numbers.append(number)
    if not rows:
        raise CsvError("The file has column names in row 1, and no row after it.")
    if len(rows) > MOST_ROWS:
        raise CsvError(f"The file has {len(rows):,} rows with texts; it can have {MOST_ROWS:,}.")
    return Table(columns, tuple(rows), tuple(numbers))


def _decoded(data: bytes) -> str:
    """Return the text of a file."""
    if len(data) > MOST_BYTES:
        raise CsvError(f"{_RULE}; this one has {len(data) / 2**20:.1f} MB.")
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        raise CsvError(f"{_RULE}; this one is UTF-16: save it as “CSV UTF-8”.")
    if b"\0" in data:
        where = _place(data, data.index(b"\0"))
        raise CsvError(f"{_RULE}; this one is binary: {where} has a NUL byte.")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as why:
        at = why.start + (len(codecs.BOM_UTF8) if data.startswith(codecs.BOM_UTF8) else 0)
        where = _place(data, at)
        raise CsvError(
            f"{_RULE}; {where} has the byte 0x{data[at]:02X}, which is not UTF-8: save the file as “CSV UTF-8”."
        ) from why


def _place(data: bytes, at: int) -> str:
    """Return the row and the column of a byte, before which all are text."""
    text = data[:at].decode("utf-8-sig", errors="replace")
    delimiter = _delimiter(text)
    rows: list[list[str]] = []
    with suppress(csv.Error):  # a cell without an end
        rows.extend(csv.reader(io.StringIO(text, newline=""), delimiter=delimiter))
    if not rows:
        return "row 1"
    ended = text.endswith(("\n", "\r"))
    number, column = (len(rows) + 1, 0) if ended else (len(rows), max(0, len(rows[-1]) - 1))
    name = rows[0][column] if number > 1 and column < len(rows[0]) else ""
    return f"row {number}, column {quoted(name) if name.strip() else column + 1},"


def _delimiter(text: str) -> str:
    """Return what stands between cells: the sign that is most often in the first line."""
    first = text.partition("\n")[0]
    return max(DELIMITERS, key=first.count)


def _parsed(text: str) -> list[list[str]]:
    """Return all rows, empty ones too."""
    rows: list[list[str]] = []
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=_delimiter(text), strict=True)
    try:
        rows.extend(reader)
    except csv.Error as why:
        what = f"has a cell of more than {LONGEST_CELL:,} characters" if "field limit" in str(why) else "is not CSV"
        raise CsvError(f"Row {len(rows) + 1} {what}: a quotation mark may be missing.") from why
    return rows


def _check_header(columns: Sequence[str]) -> None:
    if len(columns) > MOST_COLUMNS:
        raise CsvError(f"Row 1 has {len(columns):,} columns; a file can have {MOST_COLUMNS}.")
    for number, name in enumerate(columns, 1):
        if not name:
            raise CsvError(f"Row 1, column {number} has no name.")
        if len(name) > LONGEST_CELL:
            raise CsvError(f"Row 1, column {number} has a name of {len(name):,} characters.")
        if columns.index(name) != number - 1:
            raise CsvError(f"Row 1 has two columns with the name {quoted(name)}.")


def _check_row(row: Sequence[str], number: int, columns: Sequence[str]) -> None:
    if len(row) != len(columns):
        raise CsvError(
            f"Row {number} has {len(row)} cells, and row 1 names {len(columns)} columns: a cell with a comma in it is "
            "put in quotation marks."
        )
    for name, cell in zip(columns, row, strict=True):
        if len(cell) > LONGEST_CELL:
            raise CsvError(
                f"Row {number}, column {quoted(name)} has {len(cell):,} characters; a cell can have {LONGEST_CELL:,}."
            )
