"""How far heads, or layers, are from one of them on a text: the mean Jensen-Shannon divergence of their rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from attnviz.compare.matrices import Floats, jensen_shannon


@dataclass(frozen=True, slots=True, eq=False)
class Divergences:
    """The divergences of N heads, or of a head in N layers, from one of them."""

    bits: npt.NDArray[np.float64]
    """(N,): 0 for the one itself; NaN where no row has weights on both sides"""
    numbers: tuple[int, ...]
    """The numbers of the N heads or layers"""
    of: int
    """The number of that one"""

    @property
    def most(self) -> int | None:
        """The number of the most different one, the first of equal ones; None if there is no other one."""
        others = np.where(np.array(self.numbers) == self.of, np.nan, self.bits)
        return self.numbers[int(np.nanargmax(others))] if np.isfinite(others).any() else None

    def bits_at(self, number: int) -> float:
        """Return the divergence of the head or layer with this number."""
        return float(self.bits[self.numbers.index(number)])

    @property
    def nbytes(self) -> int:
        """The memory in bytes."""
        return self.bits.nbytes


def divergences(weights: Mapping[int, Floats], of: int) -> Divergences:
    """Return how far each matrix of weights is from one of them.

    Args:
        weights: the matrices of N heads or layers by their numbers, (Tq, Tk) each: rows sum to 1, or to 0 where the
            mask hides all keys.
        of: the number of the one.
    """
    every = {number: matrix.astype(np.float64) for number, matrix in weights.items()}
    bits = np.array([_mean_of_rows(matrix, every[of]) for matrix in every.values()])
    return Divergences(bits, tuple(every), of)


def _mean_of_rows(p: npt.NDArray[np.float64], q: npt.NDArray[np.float64]) -> float:
    whole = (p.sum(axis=1) > 0) & (q.sum(axis=1) > 0)
    return float(jensen_shannon(p[whole], q[whole]).mean()) if whole.any() else float("nan")
