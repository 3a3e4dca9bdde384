"""Scores computed in a double loop, compared with the matrix product."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from attnviz.reprs import ShortRepr

MOST = 64
"""The most queries and keys of the loop, which takes microseconds for each pair"""
LOOP = """\
scores = torch.zeros(len(query), len(key))
for i in range(len(query)):
    for j in range(len(key)):
        scores[i, j] = query[i] @ key[j]"""
PRODUCT = "scores = query @ key.T"


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class LoopScores(ShortRepr):
    """The scores of one head, computed twice."""

    by_loop: Tensor
    """(Tq, Tk)"""
    by_product: Tensor
    """(Tq, Tk)"""
    rounding: Tensor
    """(Tq, Tk): the largest difference that rounding of the two sums can cause"""

    @property
    def gaps(self) -> Tensor:
        """The magnitudes of the differences, (Tq, Tk)."""
        return (self.by_loop - self.by_product).abs()

    @property
    def largest(self) -> float:
        """The largest difference."""
        return float(self.gaps.max())

    @property
    def at(self) -> tuple[int, int]:
        """The query and the key of the largest difference."""
        query, key = divmod(int(self.gaps.argmax()), self.gaps.shape[1])
        return query, key

    @property
    def are_equal(self) -> bool:
        """Whether rounding can explain every difference."""
        return bool((self.gaps <= self.rounding).all())


def scores_by_loop(query: Tensor, key: Tensor) -> LoopScores:
    """Compute the scores of queries, (Tq, D), with keys, (Tk, D), one pair after the other, and all at once.

    In whatever order D products are summed, the result is at most D · u · Σ |q · k| from the exact sum, with u = ε/2
    (Higham 2002, "Accuracy and Stability of Numerical Algorithms", section 3.1).

    Raises:
        ValueError: there are no queries or keys, or more than MOST.
    """
    for name, count in (("queries", len(query)), ("keys", len(key))):
        if not 1 <= count <= MOST:
            raise ValueError(f"{count} {name}: the loop takes 1 to {MOST}")
    scores = torch.zeros(len(query), len(key), dtype=query.dtype)
    for i in range(len(query)):
        for j in range(len(key)):
            scores[i, j] = query[i] @ key[j]
    unit = torch.finfo(query.dtype).eps / 2
    rounding = 2 * query.shape[1] * unit * (query.abs() @ key.abs().T)
    return LoopScores(scores, query @ key.T, rounding)
