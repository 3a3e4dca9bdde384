"""Attention rollout: how much of each input token reaches each position through attention alone."""

from __future__ import annotations

from collections.abc import Iterable

import torch
from torch import Tensor

from attnviz.measures.chunks import weights_by_chunk
from attnviz.trace.layer import LayerTrace

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
