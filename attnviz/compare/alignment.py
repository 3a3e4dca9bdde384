"""Alignment of two sequences by edit distance: equal items get the same place."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from attnviz.reprs import ShortRepr

GAP = -1
"""Marks a place for which a sequence has no item."""

_EDIT = 2**16
"""The cost of an insertion or deletion. A substitution costs 1 more, to break ties. 2**16 exceeds the sum of the 1s."""


@dataclass(frozen=True, slots=True, repr=False)
class Alignment(ShortRepr):
    """P places, each with a position of the first sequence, of the second, or of both."""

    first: tuple[int, ...]
    """(P,): the position in the first sequence, or GAP"""
    second: tuple[int, ...]
    """(P,): the position in the second sequence, or GAP"""
    changed: tuple[bool, ...]
    """(P,): whether both sequences have an item and the items differ"""

    def __len__(self) -> int:
        return len(self.first)

    @property
    def gaps(self) -> int:
        """The number of places for which only one sequence has an item."""
        return self.first.count(GAP) + self.second.count(GAP)


def align(first: Sequence[Hashable], second: Sequence[Hashable]) -> Alignment:
    """Align two sequences with the fewest edits.

    An edit is an insertion, a deletion or a substitution (Levenshtein distance, computed as in Wagner and Fischer
    1974). Of several minimal alignments this is one with the most equal pairs.
    """
    if tuple(first) == tuple(second):  # the common case
        same = tuple(range(len(first)))
        return Alignment(same, same, (False,) * len(same))
    table = _costs(*_codes(first, second))
    i, j = len(first), len(second)
    places: list[tuple[int, int, bool]] = []
    while i or j:
        # The loop goes backwards. Trying gaps first matches items as early as possible.
        if i and table[i, j] == table[i - 1, j] + _EDIT:
            i -= 1
            places.append((i, GAP, False))
        elif j and table[i, j] == table[i, j - 1] + _EDIT:
            j -= 1
            places.append((GAP, j, False))
        else:
            i, j = i - 1, j - 1
            places.append((i, j, first[i] != second[j]))
    places.reverse()
    return Alignment(*zip(*places, strict=True))


def expand(matrix: npt.NDArray[Any], rows: Sequence[int], columns: Sequence[int]) -> npt.NDArray[np.float32]:
    """Expand a matrix to an alignment's P rows and R columns, (P, R), with NaN in the rows and columns of gaps."""
    row, column = np.asarray(rows, np.int64), np.asarray(columns, np.int64)
    expanded = np.full((len(row), len(column)), np.nan, np.float32)
    present = np.ix_(row != GAP, column != GAP)
    expanded[present] = matrix[np.ix_(row[row != GAP], column[column != GAP])]
    return expanded


def _codes(
    first: Sequence[Hashable], second: Sequence[Hashable]
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Number the items, equal ones alike, so that NumPy can compare a whole row of the table at once."""
    numbers: dict[Hashable, int] = {}
    first_codes, second_codes = (
        [numbers.setdefault(item, len(numbers)) for item in items] for items in (first, second)
    )
    return np.array(first_codes, np.int64), np.array(second_codes, np.int64)


def _costs(first: npt.NDArray[np.int64], second: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """Return the edit cost between every prefix of one sequence and every prefix of the other, (n + 1, m + 1)."""
    insertions = np.arange(len(second) + 1) * _EDIT
    table = np.empty((len(first) + 1, len(second) + 1), np.int64)
    table[0] = insertions
    for i, item in enumerate(first):
        row = table[i + 1]
        row[0] = (i + 1) * _EDIT
        row[1:] = np.minimum(table[i, :-1] + (_EDIT + 1) * (second != item), table[i, 1:] + _EDIT)
        # Insertions along the row: a running minimum of the cost without them, plus one edit per place.
        row[:] = np.minimum.accumulate(row - insertions) + insertions
    return table
