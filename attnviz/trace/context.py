"""One attention of a model with the steps around it, up to the next attention. Importing this imports no torch."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from attnviz.reprs import ShortRepr

if TYPE_CHECKING:
    from torch import Tensor

    from attnviz.trace.layer import BlockSteps, BlockWeights, LinearMap, Norm
    from attnviz.trace.model import Activation, Place
    from attnviz.trace.trace import Trace
    from attnviz.trace.vocabulary import Vocabulary


NORMS = ("input_norm", "attention_norm", "feed_forward_norm", "block_output", "final_norm", "transform_norm")
"""The results of LayerNorms in `AttentionContext.matrices`; each has a weight `gamma_<name>` and may have a bias
`beta_<name>`, (C,). `block_output` occurs in post-norm blocks only: a pre-norm block's output is its residual sum"""

OF_BLOCK: dict[str, tuple[str, ...]] = {
    "input_norm": ("query", "model"), "attention_residual": ("query", "model"), "attention_norm": ("query", "model"),
    "feed_forward_norm": ("query", "model"), "W_1": ("model", "hidden"), "b_1": ("hidden",),
    "feed_forward_inner": ("query", "hidden"), "feed_forward_hidden": ("query", "hidden"),
    "W_2": ("hidden", "model"), "b_2": ("model",), "feed_forward_output": ("query", "model"),
    "feed_forward_residual": ("query", "model"), "block_output": ("query", "model"), "final_norm": ("query", "model"),
    "W_transform": ("model", "model"), "b_transform": ("model",), "transform_inner": ("query", "model"),
    "transform_hidden": ("query", "model"), "transform_norm": ("query", "model"),
    "W_vocabulary": ("model", "vocabulary"), "b_vocabulary": ("vocabulary",), "logits": ("query", "vocabulary"),
    "logits_and_rest": ("query", "outcome"), "probabilities": ("query", "outcome"),
    **{f"{letter}_{norm}": ("model",) for norm in NORMS for letter in ("gamma", "beta")},
}  # fmt: skip
"""The names in `AttentionContext.matrices`, in the order of computation, with their axes: see `matrices.AXES`"""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class AttentionContext(ShortRepr):
    """The steps around an attention in its block: those before it, and those after it up to the next attention."""

    place: str
    """Where it is in the model, such as "encoder block 2" """
    x: Tensor
    """(Tq, C): the residual stream that enters, before any norm"""
    matrices: Mapping[str, Tensor]
    """By the names in `OF_BLOCK`; those that the model lacks, or that are not known, are left out"""
    eps: Mapping[str, float] = field(default_factory=dict)
    """What each norm adds to the variance, by the names in `NORMS`"""
    activation: Activation | None = None
    """The activation of the feed-forward; None if it has none or one that `Activation` does not name"""
    head_activation: Activation | None = None
    """The activation of a language head's transform, likewise"""
    vocabulary: tuple[str, ...] = ()
    """The labels of the logits' columns; empty if this part has no logits"""
    rest: int = 0
    """How many tokens of the vocabulary have no column of their own: they share the last column of `logits_and_rest`
    and of `probabilities`"""
    focus: int = 0
    """The first row in focus: its likeliest tokens come first"""
    has_learned: bool = False
    """Whether its weights come from training"""
    head_note: str = ""
    """What is said of its language head, if it has logits (`Vocabulary.note`)"""

    @property
    def settings(self) -> Hashable:
        """Everything that is the same for every text of this length and vocabulary."""
        shapes = tuple((name, matrix.shape) for name, matrix in self.matrices.items())
        return (
            shapes,
            tuple(self.eps.items()),
            self.activation,
            self.head_activation,
            self.vocabulary,
            self.rest,
            self.has_learned,
            self.head_note,
        )

    def _summary(self) -> Iterator[str]:
        yield from (self.place, *(name for name in OF_BLOCK if name in self.matrices))


class _Builder:
    """Collects the matrices of an `AttentionContext`, in the order of computation."""

    def __init__(self) -> None:
        self.matrices: dict[str, Tensor] = {}
        self.eps: dict[str, float] = {}
        self.vocabulary: tuple[str, ...] = ()
        self.rest = 0

    def norm(self, name: str, result: Tensor, norm: Norm | None) -> None:
        """Add a norm's result and weights."""
        self.matrices[name] = result
        if norm is not None:
            self.eps[name] = norm.eps
            self.add(**{f"gamma_{name}": norm.weight, f"beta_{name}": norm.bias})

    def map(self, name: str, linear: LinearMap) -> None:
        """Add the weights of a linear map."""
        self.add(**{f"W_{name}": linear.weight, f"b_{name}": linear.bias})

    def add(self, **tensors: Tensor | None) -> None:
        """Add matrices by name, except those that are None."""
        self.matrices |= {name: tensor for name, tensor in tensors.items() if tensor is not None}


def context_of(trace: Trace, place: Place) -> AttentionContext | None:
    """Return the steps around an attention; None if the attention's input is not known.

    If the model has none of these steps, or they are not known, the result has no matrices.
    """
    import torch

    block = trace.block(place.layer, place.kind)
    has_both = place.kind == "cross" and place.layer in trace.numbers.get("decoder", ())
    whole_block = trace.block(place.layer, "decoder") if has_both else block
    x, steps = block.input, whole_block.steps()
    if x is None:
        return None
    if steps is None:
        return AttentionContext(place.name, x, {})
    weights, builder = whole_block.weights, _Builder()
    with torch.inference_mode():
        stream = _around_attention(builder, steps, weights, crosses=place.kind == "cross")
        if place.kind != "decoder" or "cross" not in trace.blocks:
            stream = _feed_forward(builder, stream, steps, weights)
            _end(builder, stream, trace, place)
    transform = None if trace.vocabulary is None else trace.vocabulary.transform
    return AttentionContext(
        place.name,
        x,
        matrices=builder.matrices,
        eps=builder.eps,
        vocabulary=builder.vocabulary,
        rest=builder.rest,
        activation=None if weights is None else weights.activation,
        head_activation=None if transform is None else transform.activation,
        focus=trace.focus[0],
        has_learned=trace.has_learned,
        head_note="" if trace.vocabulary is None or not builder.vocabulary else trace.vocabulary.note,
    )


def _around_attention(builder: _Builder, steps: BlockSteps, weights: BlockWeights | None, *, crosses: bool) -> Tensor:
    """Add the residual sum and the norm of an attention, and return the stream after them."""
    residual, normed, name = steps.attention_residual, steps.attention_norm, "attention_norm"
    if crosses and steps.cross_attention_residual is not None and steps.cross_attention_norm is not None:
        residual, normed, name = steps.cross_attention_residual, steps.cross_attention_norm, "cross_attention_norm"
    norm = None if weights is None else weights.norms.get(name)
    if steps.is_reduced or steps.feed_forward_norm is not None:  # pre-norm
        if normed is not None:
            builder.norm("input_norm", normed, norm)
        builder.matrices["attention_residual"] = residual
        return residual
    builder.matrices["attention_residual"] = residual
    if normed is None:
        return residual
    builder.norm("attention_norm", normed, norm)
    return normed


def _feed_forward(builder: _Builder, stream: Tensor, steps: BlockSteps, weights: BlockWeights | None) -> Tensor:
    """Add the feed-forward with its sum and norm, if there is one, and return the block's output."""
    norm = None if weights is None else weights.norms.get("feed_forward_norm")
    first, second = (None, None) if weights is None else (weights.first, weights.second)
    normed_first = steps.feed_forward_norm
    if normed_first is not None:
        builder.norm("feed_forward_norm", normed_first, norm)
    if first is not None:
        builder.map("1", first)
        builder.matrices["feed_forward_inner"] = first.apply(stream if normed_first is None else normed_first)
    builder.add(feed_forward_hidden=steps.feed_forward_hidden)
    if second is not None:
        builder.map("2", second)
    builder.add(feed_forward_output=steps.feed_forward_output, feed_forward_residual=steps.feed_forward_residual)
    if normed_first is None and not steps.is_reduced:
        builder.norm("block_output", steps.block_output, norm)
    return steps.block_output


def _end(builder: _Builder, stream: Tensor, trace: Trace, place: Place) -> None:
    """Add the steps after the last block of a stack: the final norm, and in the last stack the logits."""
    if place.layer != trace.numbers[place.kind][-1]:
        return
    if place.stack in trace.final_norms:
        final = trace.final_norms[place.stack]
        stream = trace.last_hidden_state if final is None else final.apply(stream)
        builder.norm("final_norm", stream, final)
    if trace.vocabulary is not None and place == trace.places[-1]:
        _logits(builder, stream, trace.vocabulary, trace.focus)


def _logits(builder: _Builder, hidden: Tensor, vocabulary: Vocabulary, focus: Sequence[int]) -> None:
    """Add what the language head computes from the last hidden state."""
    import torch

    transform = vocabulary.transform
    if transform is not None:
        builder.map("transform", transform.dense)
        inner = transform.dense.apply(hidden)
        builder.matrices |= {"transform_inner": inner, "transform_hidden": transform.activate(inner)}
        hidden = transform.norm.apply(builder.matrices["transform_hidden"])
        builder.norm("transform_norm", hidden, transform.norm)
    shown = vocabulary.shown(hidden, focus)
    builder.vocabulary = tuple(map(vocabulary.label, shown.tokens))
    builder.map("vocabulary", vocabulary.columns(shown.tokens))
    builder.matrices["logits"] = logits = shown.logits
    if shown.rest is not None:
        builder.rest = vocabulary.size - len(shown.tokens)
        builder.matrices["logits_and_rest"] = logits = torch.cat([logits, shown.rest[:, None]], dim=-1)
    builder.matrices["probabilities"] = torch.softmax(logits, dim=-1)
