"""The sentences on which each head has the highest value of each measure."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

KEPT = 10
SHORTEST = 8
"""Shorter sentences, in tokens, don't count: among three tokens every weight is high"""
NOTHING = -1


class Place(NamedTuple):
    """Where a sentence stands."""

    file: int
    """The number of the file"""
    line: int
    """From 1"""


@dataclass(slots=True, eq=False)
class Strongest:
    """Of each of some cells, such as (L, H, M), the sentences with the highest values, the highest first."""

    values: npt.NDArray[np.float32]
    """(..., KEPT): −inf where there is none"""
    places: npt.NDArray[np.int64]
    """(..., KEPT, 2): `Place`; `NOTHING` where there is none"""
    texts: dict[Place, str] = field(default_factory=dict)
    """The text of each sentence in `places`"""

    @classmethod
    def none(cls, shape: tuple[int, ...]) -> Strongest:
        """Return those of no sentence."""
        return cls(np.full((*shape, KEPT), -np.inf, np.float32), np.full((*shape, KEPT, 2), NOTHING, np.int64))

    @classmethod
    def of(cls, values: npt.NDArray[np.float32], places: list[Place], texts: list[str]) -> Strongest:
        """Return those of N sentences, with values (N, ...); NaN is no value."""
        shape = values.shape[1:]
        every = np.broadcast_to(np.array(places, np.int64).reshape(-1, *[1] * len(shape), 2), (*values.shape, 2))
        found = cls._highest(np.moveaxis(np.nan_to_num(values, nan=-np.inf), 0, -1), np.moveaxis(every, 0, -2))
        found._keep(dict(zip(places, texts, strict=True)))
        return found

    def merge(self, other: Strongest) -> None:
        """Take the highest of both. Of equal values, those that stand first in the corpus are taken."""
        found = self._highest(
            np.concatenate([self.values, other.values], -1), np.concatenate([self.places, other.places], -2)
        )
        texts = self.texts | other.texts
        self.values, self.places = found.values, found.places
        self._keep(texts)

    @classmethod
    def _highest(cls, values: npt.NDArray[np.float32], places: npt.NDArray[np.int64]) -> Strongest:
        """Return the highest of n values, (..., n), with their places, (..., n, 2)."""
        order = np.lexsort((places[..., 1], places[..., 0], -values))[..., :KEPT]
        found = cls.none(values.shape[:-1])
        kept = order.shape[-1]
        found.values[..., :kept] = np.take_along_axis(values, order, -1)
        found.places[..., :kept, :] = np.take_along_axis(places, order[..., None], -2)
        found.places[np.isneginf(found.values)] = NOTHING
        return found

    def _keep(self, texts: dict[Place, str]) -> None:
        """Keep the texts of what is left."""
        left = {Place(*place) for place in np.unique(self.places.reshape(-1, 2), axis=0).tolist()}
        self.texts = {place: text for place, text in texts.items() if place in left}
