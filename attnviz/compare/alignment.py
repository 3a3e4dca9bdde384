"""Two sequences laid side by side, so that what is the same stands in the same place."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

GAP = -1
"""Stands in an alignment where one of the two sequences has nothing."""

_CHANGE = 2**16
"""The cost of a change. One item for another costs 1 more: it breaks ties, and is less than a change for any text."""


@dataclass(frozen=True, slots=True)
class Alignment:
    """P places; at each of them a position of the first sequence, of the second, or of both."""

    first: tuple[int, ...]
    """(P,): the position in the first sequence, or GAP"""
    second: tuple[int, ...]
    """(P,): the position in the second sequence, or GAP"""
    changed: tuple[bool, ...]
    """(P,): whether both are there and differ"""

    def __len__(self) -> int:
        return len(self.first)

    @property
    def gaps(self) -> int:
        """The number of places that only one of the two has."""
        return self.first.count(GAP) + self.second.count(GAP)


def align(first: Sequence[Hashable], second: Sequence[Hashable]) -> Alignment:
    """Align two sequences with as few changes as there can be.

    A change is an item more, an item less, or one item for another (Levenshtein's distance, found as Wagner and
    Fischer 1974 do). Where several alignments need as few, it is one that lets as many items as possible meet their
    equals.
    """
    if tuple(first) == tuple(second):  # most often, and at no cost
        same = tuple(range(len(first)))
        return Alignment(same, same, (False,) * len(same))
    table = _costs(*_codes(first, second))
    i, j = len(first), len(second)
    places: list[tuple[int, int, bool]] = []
    while i or j:
        # Gaps first, for this walk goes backwards: so items meet as early as they can.
        if i and table[i, j] == table[i - 1, j] + _CHANGE:
            i -= 1
            places.append((i, GAP, False))
        elif j and table[i, j] == table[i, j - 1] + _CHANGE:
            j -= 1
            places.append((GAP, j, False))
        else:
            i, j = i - 1, j - 1
            places.append((i, j, first[i] != second[j]))
    places.reverse()
    return Alignment(
        tuple(place[0] for place in places),
        tuple(place[1] for place in places),
        tuple(place[2] for place in places),
    )


def spread(matrix: npt.NDArray[Any], rows: Sequence[int], columns: Sequence[int]) -> npt.NDArray[np.float32]:
    """Put a matrix's rows and columns where an alignment has them, (P, R); NaN in the rows and columns of a gap."""
    row, column = np.asarray(rows, np.int64), np.asarray(columns, np.int64)
    placed = np.full((len(row), len(column)), np.nan, np.float32)
    there = np.ix_(row != GAP, column != GAP)
    placed[there] = matrix[np.ix_(row[row != GAP], column[column != GAP])]
    return placed


def _codes(
    first: Sequence[Hashable], second: Sequence[Hashable]
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Number the items, equal ones alike: rows of the table are then compared at once."""
    numbers: dict[Hashable, int] = {}
    one, other = ([numbers.setdefault(item, len(numbers)) for item in items] for items in (first, second))
    return np.array(one, np.int64), np.array(other, np.int64)


def _costs(first: npt.NDArray[np.int64], second: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """Return what it costs to turn every beginning of one into every beginning of the other, (n + 1, m + 1)."""
    along = np.arange(len(second) + 1) * _CHANGE
    table = np.empty((len(first) + 1, len(second) + 1), np.int64)
    table[0] = along
    for i, item in enumerate(first):
        row = table[i + 1]
        row[0] = (i + 1) * _CHANGE
        row[1:] = np.minimum(table[i, :-1] + (_CHANGE + 1) * (second != item), table[i, 1:] + _CHANGE)
        # An item more is a change a place: the least so far, and the way from there.
        row[:] = np.minimum.accumulate(row - along) + along
    return table
