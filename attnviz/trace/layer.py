"""One traced layer of attention, and the block around it: the same types for every source of models.

A trace stores the vectors (query, key, value, input); T x T matrices and the steps after attention are computed on
demand.

Shapes: H heads, T, Tq and Tk positions, C model width, D head width, F feed-forward width.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Literal

import torch
from torch import Tensor, nn
from torch.nn import functional

from attnviz.attention import AttentionSteps, Mask, attend
from attnviz.mask_reasons import MaskReasons
from attnviz.reprs import ShortRepr
from attnviz.trace.head_norm import HeadNorm
from attnviz.trace.model import Activation, Need, ProjectionKind
from attnviz.trace.position_bias import PositionBias, TermName
from attnviz.trace.rotation import Rotation

NO_MASK = Mask()
Operand = Literal["query", "key"]


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Projection(ShortRepr):
    """How query, key or value is computed from the input X.

    linear: X @ weight[h] + bias[h], weight (H, C, D), bias (H, D) or None, as in transformers.
    positions: weight[h] @ X, weight (H, T, T); it mixes positions instead of features.
    identity: X itself, without a weight.
    """

    kind: ProjectionKind
    weight: Tensor | None = None
    bias: Tensor | None = None
    repeats: int = 1
    """How many heads after one another have the same map: query heads that share a key, or a value"""

    @classmethod
    def of_heads(cls, linear: LinearMap, heads: int, head_size: int) -> Projection:
        """Split the linear map of all heads, weight (C, G·D) and bias (G·D,), into one map per head.

        If query heads share a key (G < H, grouped-query attention), the map is repeated for each of them.
        """
        repeats = heads * head_size // linear.weight.shape[1]
        per_head = linear.weight.unflatten(1, (-1, head_size)).transpose(0, 1)  # (C, G·D) -> (G, C, D)
        biases = None if linear.bias is None else linear.bias.unflatten(0, (-1, head_size))  # (G, D)
        if repeats > 1:
            per_head = per_head.repeat_interleave(repeats, dim=0)
            biases = None if biases is None else biases.repeat_interleave(repeats, dim=0)
        return cls("linear", per_head, biases, repeats)

    def at(self, heads: Sequence[int]) -> Projection:
        """Return the projection of some heads."""
        weight, bias = (None if tensor is None else tensor[list(heads)] for tensor in (self.weight, self.bias))
        return replace(self, weight=weight, bias=bias)

    def apply(self, x: Tensor) -> Tensor:
        """Project (T, C) to (H, T, D), or (B, T, C) to (B, H, T, D)."""
        if x.ndim > 2:
            x = x.unsqueeze(-3)  # (B, T, C) -> (B, 1, T, C)
        if self.weight is None:
            return x[None] if x.ndim == 2 else x
        if self.kind == "positions":
            return self.weight @ x
        projected = x @ self.weight
        return projected if self.bias is None else projected + self.bias[:, None, :]


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class LinearMap(ShortRepr):
    """A linear map of each row: x @ weight + bias, weight (in, out), bias (out,) or None."""

    weight: Tensor
    bias: Tensor | None = None

    def apply(self, x: Tensor) -> Tensor:
        """Map (..., T, in) to (..., T, out)."""
        mapped = x @ self.weight
        return mapped if self.bias is None else mapped + self.bias


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class LayerTrace(ShortRepr):
    """The attention of one layer on one text."""

    query: Tensor
    """(H, Tq, D): the queries of the scores, after `norms` and `rotation`"""
    key: Tensor
    """(H, Tk, D): the keys of the scores, likewise"""
    value: Tensor
    """(H, Tk, D)"""
    scale: float
    """The factor between scores and scaled"""
    mask: Mask = NO_MASK
    """Its cells broadcast to (H, Tq, Tk)"""
    query_input: Tensor | None = None
    """(Tq, C): the input of the query projection, the block's input X"""
    key_input: Tensor | None = None
    """(Tk, C): the input of the key and value projections: X, or the encoder's output in cross-attention"""
    projections: dict[str, Projection] | None = None
    """The projections of "query", "key" and "value"; None if they are not known for this model family"""
    output_projection: LinearMap | None = None
    """The layer's W_O, (H·D, C), and its bias; None if they are not known"""
    rotation: Rotation | None = None
    """What turns queries and keys between projection and scores; None if nothing does, or if that is not known. With a
    rotation or norms, `projections` are known"""
    norms: Mapping[Operand, HeadNorm] = field(default_factory=dict)
    """The norms of "query" and "key" between projection and rotation; empty if there are none, or none are known"""
    unavailable: Mapping[Need, str] = field(default_factory=dict)
    """Quantities before or after attention that are not available -> the reason, as a sentence"""
    cap: float | None = None
    """The soft cap of the scaled scores; None if there is none"""
    sinks: Tensor | None = None
    """(H, 1, 1), or (H, Tq, 1) if they depend on the query: the score of each head's sink; None if there is none"""
    position_bias: PositionBias | None = None
    """What is added to the scores by the distance of query and key; None if nothing is"""
    window: int | None = None
    """How many keys the window has on each side that it reaches to, the query's own among them, if the model says so"""
    stated_reasons: MaskReasons | None = None
    """Why the mask hides its cells, if the model says so; else that is told from the cells"""

    def _summary(self) -> Iterator[str]:
        _, queries, width = self.query.shape
        yield from (f"{self.heads} heads", f"{queries} x {self.key.shape[1]} tokens", f"head_size {width}")
        yield f"mask {self.mask.kind}"
        if self.cap is not None:
            yield f"soft cap {self.cap:g}"
        if self.sinks is not None:
            yield "a sink"
        if self.position_bias is not None:
            yield f"position bias: {self.position_bias.kind}"

    @property
    def heads(self) -> int:
        """The number of heads, H."""
        return self.query.shape[0]

    @property
    def head_size(self) -> int:
        """The head width, D."""
        return self.query.shape[-1]

    @property
    def position_terms(self) -> tuple[TermName, ...]:
        """The terms whose sum the position bias is; empty if there is none, or if it has no terms."""
        return () if self.position_bias is None or self.position_bias.terms is None else self.position_bias.terms.names

    @property
    def shared_by(self) -> int:
        """How many query heads share each head of keys and values, if that is known; else 1."""
        return 1 if self.projections is None else self.projections["key"].repeats

    @property
    def mask_reasons(self) -> MaskReasons | None:
        """Why the mask hides its cells; None if it hides none, or is not made of `MaskReasons`."""
        mask = self.mask
        if mask.cells is None or mask.kind == "causal":
            return None if mask.cells is None else MaskReasons(causal=True)
        hidden = mask.hidden((*mask.cells.shape[:-2], self.query.shape[1], self.key.shape[1]))
        stated = self.stated_reasons
        is_of_mask = stated is not None and stated.hides(hidden)  # not if another mask replaces the model's
        reasons = stated if is_of_mask else MaskReasons.of(hidden)
        return None if reasons == MaskReasons() else reasons

    def projected(self, name: Operand, heads: Sequence[int] | None = None) -> Tensor:
        """Return the queries or keys of these heads, by default of all, as their projection gives them, (h, T, D).

        They are X · W + b, before norms and rotation. Without these they are those of the scores.
        """
        operand, x = (self.query, self.query_input) if name == "query" else (self.key, self.key_input)
        chosen = range(self.heads) if heads is None else heads
        is_changed = self.rotation is not None or bool(self.norms)
        if not is_changed or self.projections is None or x is None:
            return operand if heads is None else operand[list(chosen)]
        return self.projections[name].at(chosen).apply(x)

    def normed(self, name: Operand, heads: Sequence[int] | None = None) -> Tensor:
        """Return the queries or keys of these heads, by default of all, after their norm, if any, (h, T, D)."""
        norm = self.norms.get(name)
        if norm is None:
            return self.projected(name, heads)
        if norm.is_joint:
            of_all = norm.apply(self.projected(name))
            return of_all if heads is None else of_all[list(heads)]
        return (norm if heads is None else norm.at(heads)).apply(self.projected(name, heads))

    def operands_of(self, x: Tensor, context: Tensor, heads: Sequence[int] | None = None) -> dict[Operand, Tensor]:
        """Return queries of x, (n, C), and keys of a context, as the scores get them: after norms and rotation.

        The result is (h, n, D) each, of the first positions, for these heads, by default all. Projections must be
        known.
        """
        inputs: dict[Operand, Tensor] = {"query": x, "key": context}
        operands = {}
        for name, source in inputs.items():
            projection, norm = (self.projections or {})[name], self.norms.get(name)
            if heads is None or (norm is not None and norm.is_joint):  # whose root is that of all heads
                projected = projection.apply(source)
                normed = projected if norm is None else norm.apply(projected)
                normed = normed if heads is None else normed[list(heads)]
            else:
                projected = projection.at(heads).apply(source)
                normed = projected if norm is None else norm.at(heads).apply(projected)
            operands[name] = self.turned(normed)
        return operands

    def turned(self, normed: Tensor) -> Tensor:
        """Return queries or keys of the first n positions, (..., n, D), after the rotation, if there is one."""
        return normed if self.rotation is None else self.rotation.of_first(normed.shape[-2]).apply(normed)

    def head(self, head: int) -> AttentionSteps:
        """Compute every step of one head; the fields are (T, D) and (Tq, Tk).

        Raises:
            IndexError: the layer has no such head.
        """
        self.mask_of(head)  # raises IndexError
        return self._attend(head)

    def mask_of(self, head: int) -> Mask:
        """Return the mask of one head, whose cells broadcast to (Tq, Tk).

        Raises:
            IndexError: the layer has no such head.
        """
        if not 0 <= head < self.heads:
            raise IndexError(f"head {head} does not exist: this layer has heads 0 to {self.heads - 1}")
        return self.mask.of_heads(head)

    def hidden(self, head: int) -> Tensor:
        """Return the cells that the mask hides from one head, (Tq, Tk) bool (True = hidden).

        Raises:
            IndexError: the layer has no such head.
        """
        return self.mask_of(head).hidden((self.query.shape[1], self.key.shape[1]))

    def all_heads(self) -> AttentionSteps:
        """Compute every step of all heads; the fields are (H, T, D) and (H, Tq, Tk)."""
        bias = None if self.position_bias is None else self.position_bias.cells
        operands = self.query, self.key, self.value
        return attend(*operands, mask=self.mask, scale=self.scale, cap=self.cap, sinks=self.sinks, position_bias=bias)

    def of_heads(self, heads: list[int]) -> AttentionSteps:
        """Compute every step of some heads; the fields are (h, T, D) and (h, Tq, Tk)."""
        return self._attend(heads)

    def _attend(self, heads: int | list[int]) -> AttentionSteps:
        """Compute every step of a head, or of several, from their operands."""
        query, key, value = self.query[heads], self.key[heads], self.value[heads]
        sinks = None if self.sinks is None else self.sinks[heads]
        bias = None if self.position_bias is None else self.position_bias.of_heads(heads)
        mask = self.mask.of_heads(heads)
        return attend(query, key, value, mask=mask, scale=self.scale, cap=self.cap, sinks=sinks, position_bias=bias)

    def attentions(self) -> Tensor:
        """Compute the weights of all heads, (H, Tq, Tk)."""
        return self.all_heads().weights

    def concat(self) -> Tensor:
        """Compute the concatenated head outputs, (Tq, H·D)."""
        return self.all_heads().concat

    def output(self) -> Tensor | None:
        """Compute concat @ W_O + b_O, (Tq, C); None if W_O is not known for this model family."""
        return None if self.output_projection is None else self.output_projection.apply(self.concat())

    def tensors(self) -> list[Tensor]:
        """Return the tensors that the trace owns. The projections belong to the model."""
        tables = () if self.rotation is None else (self.rotation.cos, self.rotation.sin)
        operands = self.query, self.key, self.value
        bias = () if self.position_bias is None else self.position_bias.tensors()
        tensors = (*operands, self.mask.cells, self.query_input, self.key_input, *tables, self.sinks, *bias)
        return [tensor for tensor in tensors if tensor is not None]


def held_bytes(tensors: Iterable[Tensor]) -> int:
    """Return the memory of these tensors, in bytes. Shared storage counts once."""
    storages = {t.untyped_storage().data_ptr(): t.untyped_storage().nbytes() for t in tensors}
    return sum(storages.values())


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
    """What the attention computed"""
    after_attention: AfterAttention | None = None
    """Computes the rest of the block; None if it is not known"""
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
