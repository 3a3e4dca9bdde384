"""One traced transformer block: its attention, and the steps after it, which are computed on demand.

Shapes: T positions, C model width, F feed-forward width.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from attnviz.trace.layer import LayerTrace


@dataclass(frozen=True, slots=True, eq=False)
class BlockSteps:
    """Every step of a block after its attention, for blocks with post-norm, such as BERT's."""

    attention_residual: Tensor
    """(T, C): X + output"""
    attention_norm: Tensor
    """(T, C): LayerNorm(attention_residual)"""
    feed_forward_hidden: Tensor
    """(T, F): activation(attention_norm @ W_1 + b_1)"""
    feed_forward_output: Tensor
    """(T, C): feed_forward_hidden @ W_2 + b_2"""
    feed_forward_residual: Tensor
    """(T, C): attention_norm + feed_forward_output"""
    block_output: Tensor
    """(T, C): LayerNorm(feed_forward_residual), the next block's input"""


AfterAttention = Callable[[Tensor, Tensor], BlockSteps]
"""Computes the rest of a block from its input X and its attention's output, both (T, C)"""


@dataclass(frozen=True, slots=True, eq=False)
class Block:
    """One block on one text."""

    attention: LayerTrace
    after_attention: AfterAttention | None = None
    unavailable_reason: str = ""
    """Why `steps` returns None, as a sentence; empty if it returns steps"""

    def steps(self) -> BlockSteps | None:
        """Compute the steps after the attention; None if the model has none or they are not known."""
        x, output = self.attention.query_input, self.attention.output()
        if self.after_attention is None or x is None or output is None:
            return None
        with torch.inference_mode():
            return self.after_attention(x, output)
