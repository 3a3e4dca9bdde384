"""One traced transformer block: its attention, and the steps after it, which are computed on demand.

Shapes: T positions, C model width, F feed-forward width.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial

import torch
from torch import Tensor, nn
from torch.nn import functional

from attnviz.reprs import ShortRepr
from attnviz.trace.layer import LayerTrace, LinearMap
from attnviz.trace.model import Activation

ACTIVATIONS: Mapping[Activation, Callable[[Tensor], Tensor]] = {
    "relu": functional.relu,
    "gelu": functional.gelu,
    "gelu_tanh": partial(functional.gelu, approximate="tanh"),
}
"""What each activation computes"""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class BlockSteps(ShortRepr):
    """Every step of a block after its attention.

    The norms follow the residual sums in a post-norm block, such as BERT's, and precede attention and feed-forward in a
    pre-norm block, such as GPT-2's. A reduced block (`is_reduced`) is a pre-norm block without norms, without a
    feed-forward, or without both: the missing fields are None.
    """

    attention_residual: Tensor
    """(T, C): X + output"""
    attention_norm: Tensor | None
    """(T, C): LayerNorm(attention_residual) in a post-norm block, LayerNorm(X) in a pre-norm block"""
    feed_forward_hidden: Tensor | None
    """(T, F): activation(x @ W_1 + b_1), with x = attention_norm (post-norm) or feed_forward_norm (pre-norm), or
    attention_residual (without norms)"""
    feed_forward_output: Tensor | None
    """(T, C): feed_forward_hidden @ W_2 + b_2"""
    feed_forward_residual: Tensor | None
    """(T, C): attention_norm (post-norm) or attention_residual (pre-norm) + feed_forward_output"""
    block_output: Tensor
    """(T, C): the next block's input: LayerNorm(feed_forward_residual) (post-norm) or that sum itself (pre-norm), or
    attention_residual (without feed-forward)"""
    feed_forward_norm: Tensor | None = None
    """(T, C): the input of a pre-norm block's feed-forward: LayerNorm(attention_residual), or
    LayerNorm(cross_attention_residual) if the block has cross-attention; None in a post-norm block"""
    cross_attention_residual: Tensor | None = None
    """(T, C): attention_norm (post-norm) or attention_residual (pre-norm) + the output of cross-attention; None if the
    block has no cross-attention"""
    cross_attention_norm: Tensor | None = None
    """(T, C): LayerNorm(cross_attention_residual) (post-norm) or LayerNorm(attention_residual) (pre-norm), from which
    cross-attention computes its queries; None if the block has no cross-attention"""
    is_reduced: bool = False
    """Whether it is a pre-norm block that may lack parts"""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Norm(ShortRepr):
    """A LayerNorm: (x - mean) / sqrt(variance + eps) * weight + bias, of each row (Ba et al. 2016)."""

    weight: Tensor | None
    """(C,); None means ones"""
    bias: Tensor | None
    """(C,); None means zeros"""
    eps: float

    @classmethod
    def of(cls, module: nn.LayerNorm) -> Norm:
        """Return the norm that a module computes."""
        weight, bias = (None if vector is None else vector.detach() for vector in (module.weight, module.bias))
        return cls(weight, bias, module.eps)

    def apply(self, x: Tensor) -> Tensor:
        """Normalise each row of (T, C)."""
        return functional.layer_norm(x, x.shape[-1:], self.weight, self.bias, self.eps)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class BlockWeights(ShortRepr):
    """The weights of the parts after a block's attention. They belong to the model."""

    norms: Mapping[str, Norm]
    """By the names of their results in `BlockSteps`; `feed_forward_norm` is also the last norm of a post-norm block"""
    first: LinearMap | None
    """W_1, (C, F); None if the block has no feed-forward"""
    second: LinearMap | None
    """W_2, (F, C); None if the block has no feed-forward"""
    activation: Activation | None = None
    """None if it is not one of `ACTIVATIONS`"""

    def _summary(self) -> Iterator[str]:
        if self.first is None:
            yield "no feed-forward"
            return
        width, hidden = self.first.weight.shape
        yield from (f"{width} to {hidden} and back", self.activation or "another activation")


AfterAttention = Callable[[Tensor, Tensor], BlockSteps]
"""Computes the rest of a block from its input X and its attention's output, both (T, C)"""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Block(ShortRepr):
    """One block on one text."""

    attention: LayerTrace
    after_attention: AfterAttention | None = None
    unavailable_reason: str = ""
    """Why `steps` returns None, as a sentence; "" if it returns steps"""
    pre_norm_input: Tensor | None = None
    """(T, C): X, if the block is known to normalise it before the attention"""
    weights: BlockWeights | None = None
    """The weights after the attention; None if they are not known"""

    @property
    def input(self) -> Tensor | None:
        """The block's input X, (T, C): the attention's input, or `pre_norm_input` if that is known."""
        return self.attention.query_input if self.pre_norm_input is None else self.pre_norm_input

    def steps(self) -> BlockSteps | None:
        """Compute the steps after the attention; None if the model has none or they are not known."""
        x, output = self.input, self.attention.output()
        if self.after_attention is None or x is None or output is None:
            return None
        with torch.inference_mode():
            return self.after_attention(x, output)

    def tensors(self) -> list[Tensor]:
        """Return the tensors that the block's trace owns. The weights belong to the model."""
        return self.attention.tensors() + ([] if self.pre_norm_input is None else [self.pre_norm_input])
