"""One block of a transformer as it ran: its attention, and what comes after, computed when it is asked for.

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
    """Every step of a block after its attention. Where each norm comes after its sum, as in BERT (post-norm)."""

    attention_residual: Tensor
    """(T, C): X + output"""
    attention_norm: Tensor
    """(T, C): its LayerNorm"""
    feed_forward_hidden: Tensor
    """(T, F): activation(attention_norm @ W_1 + b_1)"""
    feed_forward_output: Tensor
    """(T, C): feed_forward_hidden @ W_2 + b_2"""
    feed_forward_residual: Tensor
    """(T, C): attention_norm + feed_forward_output"""
    block_output: Tensor
    """(T, C): its LayerNorm, the next block's input"""


AfterAttention = Callable[[Tensor, Tensor], BlockSteps]
"""What a block does with its input X and its attention's output, (T, C) both"""


@dataclass(frozen=True, slots=True, eq=False)
class Block:
    """One block on one text."""

    attention: LayerTrace
    after_attention: AfterAttention | None = None
    unavailable_reason: str = ""
    """Why `steps` has nothing to give, as a sentence; empty where it has"""

    def steps(self) -> BlockSteps | None:
        """Compute what comes after the attention; None where the model has nothing there, or it is not known."""
        x, output = self.attention.query_input, self.attention.output()
        if self.after_attention is None or x is None or output is None:
            return None
        with torch.inference_mode():
            return self.after_attention(x, output)
