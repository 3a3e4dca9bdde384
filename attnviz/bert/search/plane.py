"""The plane in which vectors differ most: their first two principal components (Pearson 1901).

Shapes: N vectors, C numbers each.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from attnviz.reprs import ShortRepr


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Plane(ShortRepr):
    """A plane through the mean of some vectors."""

    mean: Tensor
    """(C,)"""
    axes: Tensor
    """(2, C): of length 1, at right angles; the number of largest magnitude of each is positive"""
    places: Tensor
    """(N, 2): where each vector lies in the plane"""
    kept: tuple[float, float]
    """The share of the variance along each axis; 0 if all vectors are the same"""

    @classmethod
    def of(cls, vectors: Tensor) -> Plane:
        """Return the plane of (N, C) vectors, computed in float64 from their covariance: nothing is drawn.

        Raises:
            ValueError: there is no vector, or they have fewer than two numbers.
        """
        if vectors.ndim != 2 or not len(vectors) or vectors.shape[1] < 2:
            raise ValueError(f"vectors {tuple(vectors.shape)} have no plane")
        exact = vectors.double()
        mean = exact.mean(0)
        centred = exact - mean
        variances, directions = torch.linalg.eigh(centred.T @ centred)  # ascending
        axes = directions[:, -2:].flip(1).T  # (2, C)
        largest = axes.gather(1, axes.abs().argmax(1, keepdim=True))
        axes = axes * torch.where(largest < 0, -1.0, 1.0)
        total = float(centred.square().sum())
        first, second = (float(one) / total if total > TINY * len(vectors) else 0.0 for one in variances[-2:].flip(0))
        return cls(mean.float(), axes.float(), (centred @ axes.T).float(), (first, max(0.0, second)))

    def place(self, vectors: Tensor) -> Tensor:
        """Return where vectors, (..., C), lie in the plane, (..., 2)."""
        return (vectors - self.mean) @ self.axes.T

    @property
    def nbytes(self) -> int:
        """Bytes in memory."""
        return self.mean.nbytes + self.axes.nbytes + self.places.nbytes


TINY = 1e-10
"""The mean squared distance below which vectors of length 1 differ by rounding only"""
