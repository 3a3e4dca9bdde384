"""Buckets of distances, as T5's position bias has them, and distances in words.

Does not import torch, so documents can be read without it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from torch import Tensor


@dataclass(frozen=True, slots=True)
class Buckets:
    """Ranges of distances that share a number (Raffel et al. 2020, section 2.1).

    Half of the buckets of a side hold one distance each. The others widen with the logarithm of the distance; the last
    one holds all distances from about `max_distance` on.
    """

    count: int
    """How many there are, on both sides together"""
    max_distance: int
    both_sides: bool
    """Whether keys after the query have half of the buckets; else all of them are in the bucket of the query itself"""

    def of(self, queries: int, keys: int) -> Tensor:
        """Return the number of each cell's bucket, (Tq, Tk) int64."""
        import torch

        offsets = torch.arange(keys) - torch.arange(queries)[:, None]  # key minus query
        count = self.count // 2 if self.both_sides else self.count
        first = (offsets > 0).long() * count if self.both_sides else 0
        distances = offsets.abs() if self.both_sides else (-offsets).clamp(min=0)
        single = count // 2
        ratio = torch.log(distances.float().clamp(min=1) / single) / math.log(self.max_distance / single)
        wide = single + (ratio * (count - single)).long()
        return first + torch.where(distances < single, distances, wide.clamp(max=count - 1))


def where_keys_are(distances: Sequence[int]) -> str:
    """Return where keys at these distances, query minus key, are: "6 positions after", "3 to 8 positions before"."""
    near, far = min(distances, key=abs), max(distances, key=abs)
    if not far:
        return "the same position"
    count = f"{abs(far)}" if near == far else f"{abs(near)} to {abs(far)}"
    return f"{count} position{'' if count == '1' else 's'} {'after' if far < 0 else 'before'}"
