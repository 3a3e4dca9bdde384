"""Norms of queries and keys, which keep scores small: RMSNorm (Zhang and Sennrich 2019) or LayerNorm (Ba et al. 2016).

Shapes: H heads, T positions, D head width.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import torch
from torch import Tensor

from attnviz.reprs import ShortRepr

HeadNormKind = Literal["rms", "layer"]


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class HeadNorm(ShortRepr):
    """A norm of the queries, or of the keys, of a layer between their projection and the scores.

    rms: x / √(mean of x² + eps) · weight. layer: (x − mean) / √(variance + eps) · weight + bias.
    """

    kind: HeadNormKind
    weight: Tensor
    """(H, D)"""
    bias: Tensor | None
    """(H, D)"""
    eps: float
    is_joint: bool = False
    """Whether the mean is that of a token's numbers in all heads together, as in OLMo 2; only of kind rms"""

    def __post_init__(self) -> None:
        if self.is_joint and self.kind == "layer":
            raise ValueError("a LayerNorm is of each head: one over all heads together is not known")

    @property
    def is_untrained(self) -> bool:
        """Whether all weights are 1, so that the norm alone changes the numbers."""
        return bool((self.weight == 1).all())

    def _summary(self) -> Iterator[str]:
        yield from (self.kind, f"{len(self.weight)} heads", "over all heads" if self.is_joint else "over each head")

    def at(self, heads: Sequence[int]) -> HeadNorm:
        """Return the norm of some heads, of which each has its own."""
        bias = None if self.bias is None else self.bias[list(heads)]
        return replace(self, weight=self.weight[list(heads)], bias=bias)

    def apply(self, x: Tensor) -> Tensor:
        """Normalise (H, T, D)."""
        centred = x - x.mean(-1, keepdim=True) if self.kind == "layer" else x
        normed = centred / self.root(centred) * self.weight[:, None]
        return normed if self.bias is None else normed + self.bias[:, None]

    def root(self, x: Tensor) -> Tensor:
        """Return √(mean of x² + eps) of (H, T, D): (H, T, 1), or (1, T, 1) if it is that of all heads together.

        Keys that several heads share are repeated, which does not change the mean.
        """
        axes = (0, 2) if self.is_joint else (-1,)
        return torch.sqrt(x.square().mean(axes, keepdim=True) + self.eps)
