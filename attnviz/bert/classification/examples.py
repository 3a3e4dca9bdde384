"""Texts with a class each: those that the project has written, or a user's.

Shapes: N texts.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray

from attnviz import files
from attnviz.bert.classification.table import CsvError, Table, read_table
from attnviz.formatting import quoted
from attnviz.reprs import ShortRepr
from attnviz.tokens.value import repair

FOLDER = files.FOLDER / "assets" / "bert"
FEWEST_CLASSES, MOST_CLASSES, FEWEST_ROWS, LONGEST_LABEL = 2, 8, 5, 40
ACTIONS = ("increase", "decrease", "stop", "ask")
"""The agent's four actions, by their numbers"""
COLUMNS = {"reviews": ("label", ("negative", "positive")), "reports": ("action", ACTIONS)}
"""Of the project's own files by name: the column with the classes, and the classes in their order"""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Examples(ShortRepr):
    """Texts with a class each."""

    name: str
    """What they are called, such as "reviews.csv" """
    texts: tuple[str, ...]
    classes: NDArray[np.int64]
    """(N,): the number of each text's class"""
    labels: tuple[str, ...]
    """The names of the classes"""
    kinds: tuple[str, ...]
    """What each text is beside its class, such as "negation"; empty if that is not known"""
    sha256: str
    """Of the file"""
    has_links: bool = True
    """Whether a link may name them: what a user has uploaded is in no link"""

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
        name: what it is called.
        text: the column with the texts.
        label: the column with the classes.
        kind: a column with what the texts are beside that; None if there is none.
        labels: the classes in their order; in the alphabet's if None. All others are then refused.

    Raises:
        CsvError: a column is missing, a cell is empty, or there are too many or too few classes or rows of one. The
            message names row and column.
    """
    if text == label:
        raise CsvError(f"Texts and classes are both to be in the column {quoted(text)}: choose two columns.")
    texts, raw = table.column(text), [one.strip() for one in table.column(label)]
    for number, one, of_row in zip(table.numbers, texts, raw, strict=True):
        _check(number, text, one, "there is no text")
        _check(number, label, of_row, "there is no class")
        if len(of_row) > LONGEST_LABEL:
            raise CsvError(
                f"Row {number}, column {quoted(label)}: a class has a name of up to {LONGEST_LABEL} characters, and "
                f"{quoted(of_row)} has {len(of_row)}. Is this the column with the classes?"
            )
    names = tuple(sorted(set(raw))) if labels is None else tuple(labels)
    _check_classes(raw, names, table.numbers, label)
    return Examples(
        name,
        tuple(repair(" ".join(one.split())) for one in texts),
        np.array([names.index(one) for one in raw], np.int64),
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
            rows = "1 row" if count == 1 else f"{count} rows"
            raise CsvError(
                f"The class {quoted(name)} has {rows} only (row {number}, column {quoted(column)}): each needs at "
                f"least {FEWEST_ROWS}, because some are held out."
            )
