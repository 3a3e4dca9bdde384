"""Texts with a class each: the project's own, or a user's CSV file.

Shapes: N texts.
"""

from __future__ import annotations

import codecs
import csv
import hashlib
import io
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray

from attnviz import files
from attnviz.formatting import counted, larger, quoted
from attnviz.reprs import ShortRepr
from attnviz.tokens.value import repair

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
    """Their names, all different"""
    rows: tuple[tuple[str, ...], ...]
    """Each with one cell for each column"""
    numbers: tuple[int, ...]
    """The number of each row as a spreadsheet counts it: the header is row 1"""

    def column(self, name: str) -> tuple[str, ...]:
        """Return the cells of a column.

        Raises:
            CsvError: there is no column of this name.
        """
        if name not in self.columns:
            named = ", ".join(map(quoted, self.columns[:10]))
            raise CsvError(f"There is no column {quoted(name)}; the file has {named}.")
        place = self.columns.index(name)
        return tuple(row[place] for row in self.rows)


def read_table(data: bytes) -> Table:
    """Read a CSV file: UTF-8, with a header, and comma, semicolon or tab between cells.

    Raises:
        CsvError: it is too large, binary, not UTF-8 or empty, or a row or cell of it can't be used.
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
        raise CsvError(f"{_RULE}; this one {larger(len(data), MOST_BYTES)}.")
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
    """Return the row and the column of a byte; all bytes before it are text."""
    text = data[:at].decode("utf-8-sig", errors="replace")
    delimiter = _delimiter(text)
    rows: list[list[str]] = []
    with suppress(csv.Error):  # an unterminated cell
        rows.extend(csv.reader(io.StringIO(text, newline=""), delimiter=delimiter))
    if not rows:
        return "row 1"
    ended = text.endswith(("\n", "\r"))
    number, column = (len(rows) + 1, 0) if ended else (len(rows), max(0, len(rows[-1]) - 1))
    name = rows[0][column] if number > 1 and column < len(rows[0]) else ""
    return f"row {number}, column {quoted(name) if name.strip() else column + 1},"


def _delimiter(text: str) -> str:
    """Return the delimiter: the candidate that is most frequent in the first line."""
    first = text.partition("\n")[0]
    return max(DELIMITERS, key=first.count)


def _parsed(text: str) -> list[list[str]]:
    """Return all rows, including empty ones."""
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
            f"Row {number} has {counted(len(row), 'cell')}, and row 1 names {counted(len(columns), 'column')}: a "
            "cell with a comma in it is put in quotation marks."
        )
    for name, cell in zip(columns, row, strict=True):
        if len(cell) > LONGEST_CELL:
            raise CsvError(
                f"Row {number}, column {quoted(name)} has {len(cell):,} characters; a cell can have {LONGEST_CELL:,}."
            )


FOLDER = files.FOLDER / "assets" / "bert"
FEWEST_CLASSES, MOST_CLASSES, FEWEST_ROWS, LONGEST_LABEL = 2, 8, 5, 40
ACTIONS = ("increase", "decrease", "stop", "ask")
"""The agent's four actions, in order of their numbers"""
COLUMNS = {"reviews": ("label", ("negative", "positive")), "reports": ("action", ACTIONS)}
"""For each of the project's own files: the column with the classes, and the classes in order"""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Examples(ShortRepr):
    """Texts with a class each."""

    name: str
    """Their name, such as "reviews.csv" """
    texts: tuple[str, ...]
    classes: NDArray[np.int64]
    """(N,): the number of each text's class"""
    labels: tuple[str, ...]
    """The names of the classes"""
    kinds: tuple[str, ...]
    """Another property of each text, such as "negation"; empty if it is not known"""
    sha256: str
    """Digest of the file"""
    has_links: bool = True
    """Whether a link may name them; a user's own texts are in no link"""

    def __len__(self) -> int:
        return len(self.texts)


@cache
def built_in(name: str) -> Examples:
    """Return the examples that the project has written: "reviews" or "reports"."""
    label, labels = COLUMNS[name]
    data = (FOLDER / f"{name}.csv").read_bytes()
    return examples_of(read_table(data), data, name=f"{name}.csv", text="text", label=label, kind="kind", labels=labels)


def examples_of(
    table: Table,
    data: bytes,
    *,
    name: str,
    text: str,
    label: str,
    kind: str | None = None,
    labels: Sequence[str] | None = None,
) -> Examples:
    """Return the examples of a table.

    Args:
        table: the rows.
        data: the file.
        name: its name.
        text: the column with the texts.
        label: the column with the classes.
        kind: the column with the kind of each text; None if there is none.
        labels: the only classes allowed, in order; None allows any, in alphabetical order.

    Raises:
        CsvError: a column is missing, a cell is empty, or there are too many or too few classes or rows of one. The
            message names row and column.
    """
    if text == label:
        raise CsvError(f"Texts and classes are both to be in the column {quoted(text)}: choose two columns.")
    texts, raw = table.column(text), [cell.strip() for cell in table.column(label)]
    for number, cell, class_name in zip(table.numbers, texts, raw, strict=True):
        _check(number, text, cell, "there is no text")
        _check(number, label, class_name, "there is no class")
        if len(class_name) > LONGEST_LABEL:
            raise CsvError(
                f"Row {number}, column {quoted(label)}: a class has a name of up to {LONGEST_LABEL} characters, and "
                f"{quoted(class_name)} has {len(class_name)}. Is this the column with the classes?"
            )
    names = tuple(sorted(set(raw))) if labels is None else tuple(labels)
    _check_classes(raw, names, table.numbers, label)
    return Examples(
        name,
        tuple(repair(" ".join(cell.split())) for cell in texts),
        np.array([names.index(class_name) for class_name in raw], np.int64),
        tuple(map(repair, names)),
        () if kind is None else tuple(table.column(kind)),
        hashlib.sha256(data).hexdigest(),
        labels is not None,
    )


def _check(number: int, column: str, cell: str, what: str) -> None:
    if not cell.strip():
        raise CsvError(f"Row {number}, column {quoted(column)}: {what}.")


def _check_classes(raw: Sequence[str], names: Sequence[str], numbers: Sequence[int], column: str) -> None:
    """Check how many classes there are, and how many rows each has."""
    counts = Counter(raw)
    if len(counts) > MOST_CLASSES or len(counts) < FEWEST_CLASSES:
        values = "one value" if len(counts) == 1 else f"{len(counts):,} different values"
        some = ", ".join(map(quoted, list(counts)[:3]))
        raise CsvError(
            f"The column {quoted(column)} has {values} ({some}{' …' if len(counts) > 3 else ''}): there can be "
            f"{FEWEST_CLASSES} to {MOST_CLASSES} classes."
        )
    for name, count in counts.items():
        number = numbers[raw.index(name)]
        if name not in names:
            raise CsvError(f"Row {number}, column {quoted(column)}: {quoted(name)} is none of {', '.join(names)}.")
        if count < FEWEST_ROWS:
            raise CsvError(
                f"The class {quoted(name)} has {counted(count, 'row')} only (row {number}, column {quoted(column)}): "
                f"each needs at least {FEWEST_ROWS}, because some are held out."
            )
