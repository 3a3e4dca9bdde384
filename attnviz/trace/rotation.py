"""Rotary positions: queries and keys are turned by their position (Su et al. 2021, RoFormer, section 3.2).

Shapes: H heads, T positions, D head width, R ≤ D dimensions that are turned.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from attnviz.reprs import ShortRepr

if TYPE_CHECKING:
    from attnviz.trace.model import Pairing

FACTOR_ROUNDING = 1e-4
"""How far from 1 the length of (cos, sin) may be, which are rounded to float32 or less"""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Rotation(ShortRepr):
    """What turns the queries and the keys of a text: each pair of their first R dimensions, by an angle.

    The angle is the position times the frequency of the pair. The score of a query and a key then depends on the
    difference of their positions, not on the positions themselves.
    """

    cos: Tensor
    """(T, R / 2): by position and pair, the cosine of the angle; models that stretch their range scale it"""
    sin: Tensor
    """(T, R / 2): the sine, likewise"""
    pairing: Pairing
    """halves: dimension i and R / 2 + i are a pair, as in Llama; neighbours: 2 i and 2 i + 1, as in RoFormer"""

    def _summary(self) -> Iterator[str]:
        yield from (f"{self.cos.shape[0]} positions", f"{self.width} dimensions", self.pairing)

    @property
    def width(self) -> int:
        """R, the number of dimensions that are turned."""
        return 2 * self.cos.shape[-1]

    @property
    def angles(self) -> Tensor:
        """(T, R / 2): the angles, from −π to π; full turns are left out."""
        return torch.atan2(self.sin, self.cos)

    @property
    def frequencies(self) -> Tensor | None:
        """(R / 2,): by how much each pair turns from the first position to the next; None if there is one position."""
        if len(self.cos) < 2:
            return None
        first, second = self.angles[:2]
        return torch.remainder(second - first, 2 * torch.pi)

    @property
    def factor(self) -> float:
        """What turned vectors get longer by: 1, or in models that stretch their range, such as by YaRN, another number.

        `cos` and `sin` contain it.
        """
        if not self.cos.numel():
            return 1.0
        factor = float(torch.hypot(self.cos[0], self.sin[0]).mean())
        return 1.0 if abs(factor - 1) < FACTOR_ROUNDING else factor

    def of_first(self, count: int) -> Rotation:
        """Return the rotation of the first positions."""
        return replace(self, cos=self.cos[:count], sin=self.sin[:count])

    def pair(self, number: int) -> tuple[int, int]:
        """Return the two dimensions of a pair."""
        half = self.width // 2
        return (number, half + number) if self.pairing == "halves" else (2 * number, 2 * number + 1)

    def apply(self, x: Tensor) -> Tensor:
        """Turn (..., T, D): (a, b) becomes (a cos θ − b sin θ, a sin θ + b cos θ). Dimensions from R on stay."""
        turned, rest = x[..., : self.width], x[..., self.width :]
        if self.pairing == "halves":
            a, b = turned.chunk(2, dim=-1)
        else:
            a, b = turned[..., 0::2], turned[..., 1::2]
        pairs = a * self.cos - b * self.sin, a * self.sin + b * self.cos
        joined = torch.cat(pairs, dim=-1) if self.pairing == "halves" else torch.stack(pairs, dim=-1).flatten(-2)
        return joined if not rest.shape[-1] else torch.cat((joined, rest), dim=-1)
