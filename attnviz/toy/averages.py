"""From averages to attention: the uniform average over the past, computed in three ways, then causal attention."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from attnviz.attention import Mask, apply_mask, causal_mask
from attnviz.reprs import ShortRepr
from attnviz.tokens import Tokens
from attnviz.toy.block import trace_toy
from attnviz.toy.config import MAX_AVERAGED, ToyConfig
from attnviz.trace.layer import LayerTrace
from attnviz.trace.matrices import AVERAGES
from attnviz.trace.walk import Walk


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Averages(ShortRepr):
    """The same averages, (..., T, C), computed in three ways, with the matrices used by the second and third way."""

    by_loop: Tensor
    """(..., T, C): row i is the mean of rows 0 to i of x, summed in a loop"""
    triangle: Tensor
    """(T, T): lower-triangular ones, each row divided by its sum"""
    by_matrix: Tensor
    """(..., T, C): triangle @ x"""
    masked_zeros: Tensor
    """(T, T): zeros, −inf above the diagonal"""
    softmax_weights: Tensor
    """(T, T): softmax of masked_zeros over the keys; equals triangle"""
    by_softmax: Tensor
    """(..., T, C): softmax_weights @ x"""


def average_past(x: Tensor) -> Averages:
    """Average each row of x, (..., T, C), with all previous rows: by a loop, a matrix product, and a softmax."""
    n = x.shape[-2]
    by_loop = torch.zeros_like(x)
    for i in range(n):
        for j in range(i + 1):
            by_loop[..., i, :] += x[..., j, :]
        by_loop[..., i, :] /= i + 1
    ones = causal_mask(n).to(x.dtype)
    triangle = ones / ones.sum(dim=1, keepdim=True)
    masked_zeros = apply_mask(torch.zeros(n, n, dtype=x.dtype), causal_mask(n))
    softmax_weights = torch.softmax(masked_zeros, dim=-1)
    return Averages(by_loop, triangle, triangle @ x, masked_zeros, softmax_weights, softmax_weights @ x)


def walk_to_attention(tokens: Tokens, config: ToyConfig) -> Walk:
    """Return the walk from averages to attention: averages of the embeddings over the past, then causal attention.

    Queries and keys are those of the toy's first head, (T, D). The values are the embeddings X themselves, (T, C), so
    `walk.steps.head_outputs` is (T, C) and corresponds to the means in `walk.averages`.

    Raises:
        attnviz.tokens.NoTokensError: `tokens` is empty.
        ValueError: there are more than MAX_AVERAGED tokens, for which the loop would be slow.
    """
    if len(tokens) > MAX_AVERAGED:
        raise ValueError(f"{len(tokens)} tokens: the loop takes at most {MAX_AVERAGED}")
    toy = trace_toy(tokens, config)
    layer, x = toy.layer(0), toy.embeddings
    if x is None:
        raise TypeError("a toy has embeddings")
    mask = Mask.causal(len(tokens))
    attention = LayerTrace(layer.query[:1], layer.key[:1], x[None], layer.scale, mask, query_input=x, key_input=x)
    averages = average_past(x)
    return Walk(
        tokens,
        tokens,
        attention,
        0,
        name=f"{toy.model} · from averages to attention",
        model=toy.model,
        kind="decoder",
        averages={name: getattr(averages, name) for name in AVERAGES},
    )
