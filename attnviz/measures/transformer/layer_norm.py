"""LayerNorm (Ba, Kiros and Hinton 2016), and the mistake of a norm over all tokens.

Shapes: T tokens, C model width.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from attnviz.reprs import ShortRepr

EPS = 1e-5


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Moments(ShortRepr):
    """Mean and variance of each token's numbers."""

    mean: Tensor
    """(T,)"""
    variance: Tensor
    """(T,), divided by C, not by C − 1"""


def moments(x: Tensor) -> Moments:
    """Return the moments of each row of (T, C)."""
    variance, mean = torch.var_mean(x, dim=-1, correction=0)
    return Moments(mean, variance)


def norm_over_all(x: Tensor, weight: Tensor | None = None, bias: Tensor | None = None, eps: float = EPS) -> Tensor:
    """Return (x − mean) / √(variance + eps) · weight + bias with one mean and one variance of all T · C numbers.

    This is a mistake: each row then depends on all rows, so the future leaks into the past, even behind a causal mask.

    Args:
        x: (T, C).
        weight: (C,), or None for 1.
        bias: (C,), or None for 0.
        eps: is added to the variance.
    """
    variance, mean = torch.var_mean(x, correction=0)
    normed = (x - mean) / torch.sqrt(variance + eps)
    normed = normed if weight is None else normed * weight
    return normed if bias is None else normed + bias
