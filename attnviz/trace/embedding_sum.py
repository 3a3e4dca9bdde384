"""What the input of a stack's first block is made of, where that is more than a sum of embeddings."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from torch import Tensor

from attnviz.reprs import ShortRepr
from attnviz.trace.layer import Norm

ROUNDING = 1e-4
"""The largest difference between a sum and the recorded vector, relative to its largest number: more is no rounding"""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class EmbeddingSum(ShortRepr):
    """What the input of a stack's first block is made of: the sum of parts, or its norm."""

    parts: Mapping[str, Tensor]
    """(T, C) each, by name"""
    norm: Norm | None = None
    """The norm of the sum; None if the input is the sum itself"""


def is_sum(summed: Tensor, recorded: Tensor) -> bool:
    """Return whether a sum of parts is a recorded vector, or differs from it by rounding only."""
    gap = (summed - recorded.double()).abs().max()
    return bool(gap <= ROUNDING * recorded.abs().max().double())
