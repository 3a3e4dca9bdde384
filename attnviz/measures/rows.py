"""Measures of single rows: one number per query, from its row of weights α, each with its formula.

Shapes: "..." is empty or (H,); Tq queries, Tk keys. A row sums to 1, or to 0 if the mask hides all of its keys. In the
formulas, the query is i, and the weights of the keys j are α_ij.
"""

from __future__ import annotations

from functools import lru_cache

import torch
from torch import Tensor

from attnviz.formulas import Expression, tree

_TINY = torch.finfo(torch.float32).tiny
"""Replaces a weight of 0 inside the logarithm, so that 0 · log₂ 0 is 0."""


def entropy(weights: Tensor) -> Tensor:
    """Compute −Σⱼ αᵢⱼ log₂ αᵢⱼ of each row, (..., Tq), in bits.

    It is 0 if a query attends to one key only and log₂ n if it attends to n keys equally. Clark et al. 2019, "What Does
    BERT Look At?", use it to separate focused heads from broad ones.
    """
    return -weights.clamp_min(_TINY).log2_().mul_(weights).sum(-1)


def distance(weights: Tensor) -> Tensor:
    """Compute Σⱼ αᵢⱼ |i − j| of each row, (..., Tq), in tokens: the mean distance of a query to its keys.

    Vig and Belinkov 2019, "Analyzing the Structure of Attention in a Transformer Language Model".
    """
    distances = _distances(weights.shape[-2], weights.shape[-1])
    mean: Tensor = torch.linalg.vecdot(weights, distances)
    return mean


def weight_at(weights: Tensor, offset: int) -> Tensor:
    """Return αᵢ,ᵢ₊ₒ of each row, (..., Tq): the weight on the key `offset` positions after the query.

    Offset −1 is the previous token, 0 the same, 1 the next. NaN if the query has no such key.
    """
    result = weights.new_full(weights.shape[:-1], torch.nan)
    diagonal = weights.diagonal(offset, -2, -1)  # (..., n): the rows that have this key
    first = max(0, -offset)
    result[..., first : first + diagonal.shape[-1]] = diagonal
    return result


def weight_on(weights: Tensor, keys: Tensor) -> Tensor:
    """Compute Σⱼ αᵢⱼ over the keys selected by `keys`, (Tk,) bool: (..., Tq)."""
    return weights @ keys.to(weights.dtype)


@lru_cache(maxsize=4)
def _distances(queries: int, keys: int) -> Tensor:
    """Return |i − j|, (Tq, Tk). The cached tensor is shared: do not modify it."""
    return (torch.arange(queries)[:, None] - torch.arange(keys)).abs().float()


_I, _J, _ONE = map(tree.Symbol, "ij1")
_ALPHA = tree.Symbol("α")
_WEIGHT = tree.Indexed(_ALPHA, tree.Product((_I, _J), "none"))

ENTROPY = tree.Negative(
    tree.Total(_J, None, tree.Product((_WEIGHT, tree.Logarithm(tree.Symbol("2"), _WEIGHT)), "none"))
)
DISTANCE = tree.Total(_J, None, tree.Product((_WEIGHT, tree.Absolute(tree.Sum((_I, tree.Negative(_J)))))))
WEIGHT_ON_SET = tree.Total(tree.Relation("∈", (_J, tree.Symbol("S"))), None, _WEIGHT)


def weight_at_offset(offset: int) -> Expression:
    """Return the weight of the key at i + `offset`, which is −1, 0 or 1."""
    keys: dict[int, Expression] = {-1: tree.Sum((_I, tree.Negative(_ONE))), 0: _I, 1: tree.Sum((_I, _ONE))}
    return tree.Indexed(_ALPHA, tree.List((_I, keys[offset])))
