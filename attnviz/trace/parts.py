"""Makes the steps around each attention of a traced model: `BlockPart`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import Tensor

from attnviz.trace.part import BlockPart

if TYPE_CHECKING:
    from collections.abc import Sequence

    from attnviz.trace.block import BlockSteps, BlockWeights, Norm
    from attnviz.trace.layer import LinearMap
    from attnviz.trace.model import Place
    from attnviz.trace.vocabulary import Vocabulary
    from attnviz.trace.whole import Trace


class _Maker:
    """Collects what a part holds, in the order of computation."""

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
        """Add matrices by name, those that are there."""
        self.matrices |= {name: tensor for name, tensor in tensors.items() if tensor is not None}


def part_of(trace: Trace, place: Place) -> BlockPart | None:
    """Return the steps around an attention; None if the model does not give the attention's input.

    Where the model has none of these steps, or they are not known, the part has no matrices.
    """
    block = trace.block(place.layer, place.kind)
    has_both = place.kind == "cross" and place.layer in trace.numbers.get("decoder", ())
    whole = trace.block(place.layer, "decoder") if has_both else block
    x, steps = block.input, whole.steps()
    if x is None:
        return None
    if steps is None:
        return BlockPart(place.name, x, {})
    weights, made = whole.weights, _Maker()
    with torch.inference_mode():
        stream = _around_attention(made, steps, weights, crosses=place.kind == "cross")
        if place.kind != "decoder" or "cross" not in trace.blocks:
            stream = _feed_forward(made, stream, steps, weights)
            _end(made, stream, trace, place)
    transform = None if trace.vocabulary is None else trace.vocabulary.transform
    return BlockPart(
        place.name,
        x,
        made.matrices,
        made.eps,
        None if weights is None else weights.activation,
        None if transform is None else transform.activation,
        made.vocabulary,
        made.rest,
        trace.focus[0],
        has_learned=trace.has_learned,
    )


def _around_attention(made: _Maker, steps: BlockSteps, weights: BlockWeights | None, *, crosses: bool) -> Tensor:
    """Add the residual sum and the norm of an attention, and return the stream after them."""
    residual, normed, name = steps.attention_residual, steps.attention_norm, "attention_norm"
    if crosses and steps.cross_attention_residual is not None and steps.cross_attention_norm is not None:
        residual, normed, name = steps.cross_attention_residual, steps.cross_attention_norm, "cross_attention_norm"
    norm = None if weights is None else weights.norms.get(name)
    if steps.is_reduced or steps.feed_forward_norm is not None:  # pre-norm
        if normed is not None:
            made.norm("input_norm", normed, norm)
        made.matrices["attention_residual"] = residual
        return residual
    made.matrices["attention_residual"] = residual
    if normed is None:
        return residual
    made.norm("attention_norm", normed, norm)
    return normed


def _feed_forward(made: _Maker, stream: Tensor, steps: BlockSteps, weights: BlockWeights | None) -> Tensor:
    """Add the feed-forward with its sum and norm, if there is one, and return the block's output."""
    norm = None if weights is None else weights.norms.get("feed_forward_norm")
    first, second = (None, None) if weights is None else (weights.first, weights.second)
    normed_first = steps.feed_forward_norm
    if normed_first is not None:
        made.norm("feed_forward_norm", normed_first, norm)
    if first is not None:
        made.map("1", first)
        made.matrices["feed_forward_inner"] = first.apply(stream if normed_first is None else normed_first)
    made.add(feed_forward_hidden=steps.feed_forward_hidden)
    if second is not None:
        made.map("2", second)
    made.add(feed_forward_output=steps.feed_forward_output, feed_forward_residual=steps.feed_forward_residual)
    if normed_first is None and not steps.is_reduced:
        made.norm("block_output", steps.block_output, norm)
    return steps.block_output


def _end(made: _Maker, stream: Tensor, trace: Trace, place: Place) -> None:
    """Add what follows the last block of a stack: the final norm, and in the last stack the logits."""
    if place.layer != trace.numbers[place.kind][-1]:
        return
    if place.stack in trace.final_norms:
        final = trace.final_norms[place.stack]
        stream = trace.last_hidden_state if final is None else final.apply(stream)
        made.norm("final_norm", stream, final)
    if trace.vocabulary is not None and place == trace.places[-1]:
        _logits(made, stream, trace.vocabulary, trace.focus)


def _logits(made: _Maker, hidden: Tensor, vocabulary: Vocabulary, focus: Sequence[int]) -> None:
    """Add what the language head makes of the last hidden state."""
    transform = vocabulary.transform
    if transform is not None:
        made.map("transform", transform.dense)
        inner = transform.dense.apply(hidden)
        made.matrices |= {"transform_inner": inner, "transform_hidden": transform.activate(inner)}
        hidden = transform.norm.apply(made.matrices["transform_hidden"])
        made.norm("transform_norm", hidden, transform.norm)
    shown = vocabulary.shown(hidden, focus)
    made.vocabulary = tuple(map(vocabulary.label, shown.tokens))
    made.map("vocabulary", vocabulary.columns(shown.tokens))
    made.matrices["logits"] = logits = shown.logits
    if shown.rest is not None:
        made.rest = vocabulary.size - len(shown.tokens)
        made.matrices["logits_and_rest"] = logits = torch.cat([logits, shown.rest[:, None]], dim=-1)
    made.matrices["probabilities"] = torch.softmax(logits, dim=-1)
