"""The toy's multi-head attention: three kinds of projection to queries, keys and values, and an optional W_O.

Every module takes (T, C) or, with a batch axis, (B, T, C). Shapes: B texts, T tokens, C model width, H heads, D head
width.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn

from attnviz.attention import Mask, MaskKind, causal_mask
from attnviz.toy.config import MAX_HEAD_SIZE, MAX_TOKENS, ToyConfig
from attnviz.toy.weights import draw, draw_tall, draw_wide
from attnviz.trace.layer import OutputProjection, Projection
from attnviz.trace.recorder import recorded_attention, watch_inputs


class SeededProjection(nn.Module):
    """The projection from X to "query", "key" or "value", for all heads.

    Linear weights are normal with variance 1/C, so the projection preserves the variance of X, unless the settings give
    their standard deviation. Position-mixing weights have variance 1/16 for every length, so a longer text does not
    change them. Biases are normal with variance 1/C.
    """

    def __init__(self, name: str, config: ToyConfig, n: int) -> None:
        """Draw the weights for n tokens; only position-mixing weights depend on n."""
        super().__init__()
        seed, heads = config.seed, range(config.head_count)
        weight = bias = None
        if config.qkv == "linear":
            width, size = config.width, config.head_size
            maps = torch.stack([_linear(seed, name, h, width)[:, :size] for h in heads])  # (H, C, D)
            std = config.stds[name]
            weight = maps / math.sqrt(width) if std is None else maps * std
            if config.bias:
                rows = [draw(seed, f"b_{name}", h, 1, MAX_HEAD_SIZE)[:, :size] for h in heads]
                bias = torch.cat(rows) / math.sqrt(width)  # (H, D)
        elif config.qkv == "positions":
            mixes = [draw(seed, f"U_{name}", h, MAX_TOKENS, MAX_TOKENS)[:n, :n] for h in heads]
            weight = torch.stack(mixes) / 4  # (H, T, T)
        self.weight = None if weight is None else nn.Parameter(weight, requires_grad=False)
        self.bias = None if bias is None else nn.Parameter(bias, requires_grad=False)
        self.map = Projection(config.qkv, None if self.weight is None else self.weight.data, bias)

    def forward(self, x: Tensor) -> Tensor:
        """Project (..., T, C) to (..., H, T, D)."""
        return self.map.apply(x)


class SeededOutput(nn.Module):
    """W_O, (H·D, C), and perhaps b_O, (C,). The rows of a head do not change when another head is added."""

    def __init__(self, config: ToyConfig) -> None:
        super().__init__()
        seed, size, width = config.seed, config.width_per_head, config.width
        rows = [_rows_of_output(seed, h, size, width) for h in range(config.head_count)]
        self.weight = nn.Parameter(torch.cat(rows) / math.sqrt(width), requires_grad=False)
        bias = draw_wide(seed, "b_output", 0, 1, width)[0] / math.sqrt(width) if config.bias else None
        self.bias = None if bias is None else nn.Parameter(bias, requires_grad=False)
        self.map = OutputProjection(self.weight.data, bias)

    def forward(self, concat: Tensor) -> Tensor:
        """Project (..., T, H·D) to (..., T, C)."""
        return self.map.apply(concat)


def _linear(seed: int, name: str, head: int, width: int) -> Tensor:
    """Draw the standard normal numbers of a head's W before they are scaled, (C, MAX_HEAD_SIZE)."""
    return draw_tall(lambda quantity, rows: draw(seed, quantity, head, rows, MAX_HEAD_SIZE), f"W_{name}", width)


def _rows_of_output(seed: int, head: int, size: int, width: int) -> Tensor:
    """Draw a head's rows of W_O before they are scaled, (D, C)."""
    return draw_tall(lambda quantity, rows: draw_wide(seed, quantity, head, rows, width), "W_output", size)


def mask_of(config: ToyConfig, n: int) -> Mask:
    """Return the mask of a toy over n tokens: causal, of padding before the text, or both."""
    padding = torch.arange(n) < config.padding  # (T,)
    cells = causal_mask(n) if config.causal else torch.ones(n, n, dtype=torch.bool)
    seen = cells & ~padding  # (T, T)
    if not config.causal and not bool(padding.any()):
        return Mask()
    kind: MaskKind = "padding" if not config.causal else "other" if bool(padding.any()) else "causal"
    name, _, before = config.mask_value.partition("_")
    return Mask(kind, seen, float(name), "scores" if before else "scaled")


class SeededAttention(nn.Module):
    """Multi-head self-attention with weights drawn from a seed."""

    def __init__(self, config: ToyConfig, n: int) -> None:
        """Draw the weights for texts of n tokens."""
        super().__init__()
        self.query, self.key, self.value = (SeededProjection(name, config, n) for name in ("query", "key", "value"))
        self.output = SeededOutput(config) if config.projection else nn.Identity()
        self.shape = n, config.width
        self.scale = config.scale_factor
        self.mask = mask_of(config, n)
        watch_inputs(self)

    def forward(self, x: Tensor) -> Tensor:
        """Apply self-attention to (..., T, C): returns the same shape, or (..., T, H·D) without W_O.

        Raises:
            ValueError: `x` has other axes, or another width or length than the weights; the message names both.
        """
        if x.ndim not in (2, 3) or tuple(x.shape[-2:]) != self.shape:
            n, width = self.shape
            raise ValueError(f"x {tuple(x.shape)} is neither ({n}, {width}) nor (B, {n}, {width})")
        steps = recorded_attention(self, self.query(x), self.key(x), self.value(x), mask=self.mask, scale=self.scale)
        output: Tensor = self.output(steps.concat)
        return output
