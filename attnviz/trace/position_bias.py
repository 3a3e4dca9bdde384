"""Position biases: what an attention adds to its scores by the distance of query and key.

Shapes: H heads, Tq and Tk positions.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal

import torch
from torch import Tensor

from attnviz.reprs import ShortRepr
from attnviz.trace.buckets import Buckets

BiasKind = Literal["slopes", "buckets", "other"]
"""slopes: ALiBi, a slope times the distance. buckets: T5, a number for each range of distances. other: neither"""


ROUNDING = 2 * 2**-8
"""How far a number of an ALiBi may be from its slope times the distance, as a share of its own magnitude: Falcon's is
computed in bfloat16, whose numbers have eight binary digits"""


@dataclass(frozen=True, eq=False, repr=False)
class PositionBias(ShortRepr):
    """What is added to the scores of each head."""

    cells: Tensor
    """Broadcasts to (H, Tq, Tk): as the model adds it. Some write an ALiBi as slope times the position of the key"""
    buckets: Buckets | None = None
    """The buckets of its distances; None if it has none, or if they are not known"""
    stated: Tensor | None = None
    """The slopes of an ALiBi by distance, (H,), if its maker says them; else they are read off the cells"""

    def _summary(self) -> Iterator[str]:
        yield self.kind

    @cached_property
    def slopes(self) -> Tensor | None:
        """How much each head's bias falls with each position that a key is further before the query, (H,).

        None if it does not fall so, or if it has fewer than two positions and its maker does not say its slopes.
        """
        if self.stated is not None:
            return self.stated
        count = self.cells.shape[-1]
        if self.buckets is not None or count < 2 or not (self.cells.shape[-2] == 1 or self.is_by_distance):
            return None
        last = self.cells[:, -1]  # (H, Tk): the row with all distances
        at, start, end = torch.arange(count), last[:, :1], last[:, -1:]  # (Tk,), (H, 1), (H, 1)
        if not start.any():
            slopes, falling = last[:, 1], last[:, 1:2] * at  # the number next to 0 is the least rounded
        else:
            slopes = -last[:, -2] if not end.any() else (end - start)[:, 0] / (count - 1)
            falling = end - slopes[:, None] * at.flip(0)
        sizes = last.abs()
        is_linear = bool(((last - falling).abs() <= ROUNDING * sizes + 1e-6 * sizes.amax(dim=1, keepdim=True)).all())
        return slopes if is_linear and bool((slopes > 0).all()) else None

    @property
    def kind(self) -> BiasKind:
        """What it is."""
        if self.buckets is not None:
            return "buckets"
        return "other" if self.slopes is None else "slopes"

    @cached_property
    def is_by_distance(self) -> bool:
        """Whether it depends on the distance alone. Else a row's numbers are as far apart, but start elsewhere."""
        cells, rounding = self.cells, 1e-6 * float(self.cells.abs().max())
        if self.stated is not None:
            return True
        return cells.shape[-2] > 1 and torch.allclose(cells[:, 1:, 1:], cells[:, :-1, :-1], rtol=1e-4, atol=rounding)

    @property
    def starts_at_0(self) -> bool:
        """Whether the first query and key have 0: an ALiBi by the position of the key may also end with 0."""
        return not bool(self.cells[:, 0, 0].any())

    def of_heads(self, heads: int | list[int]) -> Tensor:
        """Return the cells of one head, which broadcast to (Tq, Tk), or of several, (h, Tq, Tk)."""
        return self.cells[0] if self.cells.shape[0] == 1 else self.cells[heads]

    def of_first(self, n: int) -> PositionBias:
        """Return the bias of the first n positions."""
        return replace(self, cells=self.cells[:, :n, :n])


def alibi_slopes(heads: int) -> Tensor:
    """Return the slope of each head, (H,) (Press et al. 2022, section 3).

    For a power of two they are 2^(−8/H), 2^(−16/H), ... For others, as in the authors' code, those of the next smaller
    power of two, and after them every second one of the next larger.
    """
    power = 2 ** math.floor(math.log2(heads))
    slopes: Tensor = 2.0 ** (-8 / power * torch.arange(1, power + 1))
    if power == heads:
        return slopes
    return torch.cat((slopes, alibi_slopes(2 * power)[::2][: heads - power]))


def alibi(heads: int, n: int) -> PositionBias:
    """Return −slope · distance for n positions, (H, T, T), of keys before the query and after it."""
    positions = torch.arange(n)
    distances = (positions[:, None] - positions).abs()  # (T, T)
    slopes = alibi_slopes(heads)
    return PositionBias(slopes[:, None, None] * -distances, stated=slopes)
