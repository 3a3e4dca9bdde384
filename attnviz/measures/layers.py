"""Measures of a whole layer: weights in chunks of heads, rollout through the layers, norms of transformed vectors."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import torch
from torch import Tensor

from attnviz.attention import attend
from attnviz.trace.layer import LayerTrace

CHUNK_CELLS = 2**18
"""Cells per chunk: 1 MB. At 512 tokens this is three times as fast as a whole layer at once."""


def weights_by_chunk(layer: LayerTrace, heads: Sequence[int] | None = None) -> Iterator[tuple[list[int], Tensor]]:
    """Yield pairs of h head indices and their weights, (h, Tq, Tk), for the given heads in order, or for all."""
    indices = list(range(layer.heads) if heads is None else heads)
    chunk_size = max(1, CHUNK_CELLS // max(layer.query.shape[1] * layer.key.shape[1], 1))
    for first in range(0, len(indices), chunk_size):
        chunk = indices[first : first + chunk_size]
        query, key, value = (tensor[chunk] for tensor in (layer.query, layer.key, layer.value))
        steps = attend(query, key, value, mask=layer.mask.of_heads(chunk), scale=layer.scale)
        yield chunk, steps.weights


RESIDUAL = 0.5
"""The share of the residual connection: how much of itself a position keeps in each layer."""


def rollout(layers: Iterable[Tensor]) -> Tensor:
    """Multiply self-attention over the layers: (L, T, T), where entry l is the rollout up to and including layer l.

    Abnar and Zuidema 2020, "Quantifying Attention Flow in Transformers": Âₗ = 0.5 Aₗ + 0.5 I with normalised rows,
    where Aₗ is the mean over the heads, and R₀ = Â₀, Rₗ = Âₗ Rₗ₋₁. Every row sums to 1. Rollout ignores the
    feed-forward blocks and the values.

    Args:
        layers: the mean weights of each layer, (T, T), in order. Rows of fully masked queries are all zeros.

    Raises:
        ValueError: there are no layers, or weights are not square.
    """
    rolled: list[Tensor] = []
    for weights in layers:
        if weights.ndim != 2 or weights.shape[0] != weights.shape[1]:
            raise ValueError(f"rollout needs (T, T) weights, not {tuple(weights.shape)}")
        mixed = (1 - RESIDUAL) * weights + RESIDUAL * torch.eye(weights.shape[0])
        mixed = mixed / mixed.sum(-1, keepdim=True)
        rolled.append(mixed @ rolled[-1] if rolled else mixed)
    if not rolled:
        raise ValueError("rollout needs at least one layer")
    return torch.stack(rolled)


def mean_weights(layer: LayerTrace) -> Tensor:
    """Compute the mean weights over a layer's heads, (Tq, Tk)."""
    total = torch.zeros(layer.query.shape[1], layer.key.shape[1])
    for _, weights in weights_by_chunk(layer):
        total += weights.sum(0)
    return total / layer.heads


def transformed_norms(layer: LayerTrace) -> Tensor:
    """Compute ‖f(xⱼ)‖ for each head and key, (H, Tk), where f(x) = (x W_V + b_V) W_O with the head's rows of W_O.

    A query's output is Σ αᵢⱼ f(xⱼ) over keys and heads, plus b_O. So key j contributes a vector of norm αᵢⱼ ‖f(xⱼ)‖.
    Kobayashi et al. 2020, "Attention is Not Only a Weight".

    Raises:
        ValueError: the layer's W_O is not known.
    """
    if layer.output_projection is None:
        raise ValueError("the layer's W_O is not known, so its transformed norms can't be computed")
    width = layer.value.shape[-1]
    per_head = layer.output_projection.weight.unflatten(0, (layer.heads, width)).double()  # (H, D, C)
    # ‖v W‖² = v (W Wᵀ) vᵀ needs one (D, D) matrix per head instead of a vector of C numbers per key.
    gram = per_head @ per_head.transpose(1, 2)  # (H, D, D)
    value = layer.value.double()
    squared: Tensor = torch.linalg.vecdot(value @ gram, value)  # (H, Tk)
    return squared.clamp_min(0).sqrt().float()
