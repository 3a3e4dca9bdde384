"""Attention rollout: how much of each input token reaches each position, if attention were all that moves it."""

from __future__ import annotations

from collections.abc import Iterable

import torch
from torch import Tensor

from attnviz.measures.parts import weights_in_parts
from attnviz.trace.layer import LayerTrace

RESIDUAL = 0.5
"""The residual connection's part: what a position keeps of itself in each layer."""


def rollout(layers: Iterable[Tensor]) -> Tensor:
    """Multiply self-attention over the layers, (L, T, T): entry l is the rollout up to and including layer l.

    Abnar and Zuidema 2020, "Quantifying Attention Flow in Transformers": Âₗ = 0.5 Aₗ + 0.5 I with its rows
    normalised, where Aₗ is the mean over the heads, and R₀ = Â₀, Rₗ = Âₗ Rₗ₋₁. Every row sums to 1. The feed-forward
    blocks and the values are left out of account.

    Args:
        layers: the mean weights of each layer, (T, T), in order; a row may be all zeros where everything is hidden.

    Raises:
        ValueError: no layers, or weights that are not from each token to each token of the same text.
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
    """Compute the mean of a layer's heads, (Tq, Tk)."""
    total = torch.zeros(layer.query.shape[1], layer.key.shape[1])
    for _, weights in weights_in_parts(layer):
        total += weights.sum(0)
    return total / layer.heads
