"""The toy's multi-head attention: three kinds of projection to queries, keys and values, and an optional W_O.

Shapes: T tokens, C model width, H heads, D head width.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn

from attnviz.attention import Mask
from attnviz.toy.config import MAX_HEAD_SIZE, MAX_TOKENS, WIDTH, ToyConfig
from attnviz.toy.weights import draw
from attnviz.trace.layer import OutputProjection, Projection
from attnviz.trace.recorder import recorded_attention, watch_inputs


class SeededProjection(nn.Module):
    """The projection from X to "query", "key" or "value", for all heads.

    Linear weights have variance 1/C, so the projection preserves the variance of X. Position-mixing weights have
    variance 1/16 for every length, so a longer text does not change them.
    """

    def __init__(self, name: str, config: ToyConfig, n: int) -> None:
        """Draw the weights for n tokens; only position-mixing weights depend on n."""
        super().__init__()
        seed, heads = config.seed, range(config.head_count)
        weight = None
        if config.qkv == "linear":
            maps = [draw(seed, f"W_{name}", h, WIDTH, MAX_HEAD_SIZE)[:, : config.head_size] for h in heads]
            weight = torch.stack(maps) / math.sqrt(WIDTH)  # (H, C, D)
        elif config.qkv == "positions":
            mixes = [draw(seed, f"U_{name}", h, MAX_TOKENS, MAX_TOKENS)[:n, :n] for h in heads]
            weight = torch.stack(mixes) / 4  # (H, T, T)
        self.weight = None if weight is None else nn.Parameter(weight, requires_grad=False)
        self.map = Projection(config.qkv, None if self.weight is None else self.weight.data)

    def forward(self, x: Tensor) -> Tensor:
        """Project (T, C) to (H, T, D)."""
        return self.map.apply(x)


class SeededOutput(nn.Module):
    """W_O, (H·D, C). The rows of a head do not change when another head is added."""

    def __init__(self, config: ToyConfig) -> None:
        super().__init__()
        width = config.width_per_head
        rows = [draw(config.seed, "W_output", h, MAX_HEAD_SIZE, WIDTH)[:width] for h in range(config.head_count)]
        self.weight = nn.Parameter(torch.cat(rows) / math.sqrt(WIDTH), requires_grad=False)
        self.map = OutputProjection(self.weight.data)

    def forward(self, concat: Tensor) -> Tensor:
        """Project (T, H·D) to (T, C)."""
        return self.map.apply(concat)


class SeededAttention(nn.Module):
    """Multi-head self-attention with weights drawn from a seed."""

    def __init__(self, config: ToyConfig, n: int) -> None:
        super().__init__()
        self.query, self.key, self.value = (SeededProjection(name, config, n) for name in ("query", "key", "value"))
        self.output = SeededOutput(config) if config.projection else nn.Identity()
        self.scale = config.scale_factor
        self.mask = Mask.causal(n) if config.causal else Mask()
        watch_inputs(self)

    def forward(self, x: Tensor) -> Tensor:
        """Apply self-attention to (T, C): returns (T, C), or (T, H·D) without W_O."""
        steps = recorded_attention(
            self, self.query(x), self.key(x), self.value(x), mask=self.mask.cells, scale=self.scale
        )
        output: Tensor = self.output(steps.concat)
        return output
