"""One number for each query, from its row of weights α.

Shapes: "..." is nothing or (H,); Tq queries, Tk keys. A row sums to 1, or to 0 where a mask hides every key of it.
"""

from __future__ import annotations

from functools import lru_cache

import torch
from torch import Tensor

_LEAST = torch.finfo(torch.float32).tiny
"""Stands in for a weight of 0 inside the logarithm: 0 · log₂ of it is 0, as it should be."""


def entropy(weights: Tensor) -> Tensor:
    """Compute −Σⱼ αᵢⱼ log₂ αᵢⱼ of each row, (..., Tq) in bits.

    0 where a query looks at one key only, log₂ n where it looks at n keys alike. Clark et al. 2019, "What Does BERT
    Look At?", tell focused heads from broad ones by it.
    """
    return -weights.clamp_min(_LEAST).log2_().mul_(weights).sum(-1)


def distance(weights: Tensor) -> Tensor:
    """Compute Σⱼ αᵢⱼ |i − j| of each row, (..., Tq) in tokens: how far a query looks.

    Vig and Belinkov 2019, "Analyzing the Structure of Attention in a Transformer Language Model".
    """
    distances = _distances(weights.shape[-2], weights.shape[-1])
    looked: Tensor = torch.linalg.vecdot(weights, distances)
    return looked


def weight_at(weights: Tensor, offset: int) -> Tensor:
    """Return αᵢ,ᵢ₊ₒ of each row, (..., Tq): the weight on the key `offset` places after the query.

    −1 is the previous token, 0 the same, 1 the next. NaN where the query has no such key.
    """
    found = weights.new_full(weights.shape[:-1], torch.nan)
    diagonal = weights.diagonal(offset, -2, -1)  # (..., n): what is left of the rows
    first = max(0, -offset)
    found[..., first : first + diagonal.shape[-1]] = diagonal
    return found


def weight_on(weights: Tensor, keys: Tensor) -> Tensor:
    """Compute Σⱼ αᵢⱼ over the keys that are marked in `keys`, (Tk,) bool: (..., Tq)."""
    return weights @ keys.to(weights.dtype)


@lru_cache(maxsize=4)
def _distances(queries: int, keys: int) -> Tensor:
    """Return |i − j|, (Tq, Tk). Never changed: all heads of a text share it."""
    return (torch.arange(queries)[:, None] - torch.arange(keys)).abs().float()
