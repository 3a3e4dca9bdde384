"""What the attention of a model in training does: its weights on whole batches, the head with a pattern, and the model
without a head.

Shapes: B sequences, H heads, Tq query positions, Tk key positions, D head width.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager

import torch
from torch import Tensor, nn

from attnviz.toy.language.model import TokenModel
from attnviz.toy.layers import MultiHeadAttention
from attnviz.toy.stacks import Seq2Seq
from attnviz.trace.ablation import Replaced, replaced
from attnviz.trace.model import Kind, Place, places
from attnviz.trace.recorder import batch_weights
from attnviz.training.jobs.view import HeadOf, best_of
from attnviz.training.loop import inputs_of
from attnviz.training.tasks.task import Batch, Pattern


def attentions(model: TokenModel) -> dict[Place, MultiHeadAttention]:
    """Return the attentions of a model by their places, in order of computation."""
    blocks = model.blocks
    stacks: dict[Kind, nn.ModuleList]
    if isinstance(blocks, Seq2Seq):
        stacks = {"encoder": blocks.encoder.layers, "decoder": blocks.decoder.layers, "cross": blocks.decoder.layers}
    else:
        stacks = {"decoder" if blocks.causal else "encoder": blocks.layers}
    numbers = {kind: range(len(layers)) for kind, layers in stacks.items()}
    return {place: _attention(stacks[place.kind][place.layer], place.kind) for place in places(numbers)}


def _attention(layer: nn.Module, kind: Kind) -> MultiHeadAttention:
    found = layer.get_submodule("cross_attention" if kind == "cross" else "attention")
    if not isinstance(found, MultiHeadAttention):
        raise TypeError(f"{type(found).__name__} is not this project's attention")
    return found


def weights_of(model: TokenModel, batch: Batch) -> Mapping[Place, Tensor]:
    """Run a model on a batch and return the weights of all its attentions, (B, H, Tq, Tk) each."""
    there = attentions(model)
    with torch.no_grad():
        found = batch_weights(lambda: model.hidden(*inputs_of(model, batch)), len(there))
    return dict(zip(there, found, strict=True))


def scores_of(weights: Mapping[Place, Tensor], batch: Batch, pattern: Pattern) -> dict[Place, Tensor]:
    """Return how much each head shows a pattern, (H,) for each attention of the pattern's kind."""
    return {place: pattern.score(one, batch) for place, one in weights.items() if place.kind == pattern.kind}


def best_head(weights: Mapping[Place, Tensor], batch: Batch, pattern: Pattern) -> HeadOf | None:
    """Return the head that shows a pattern most; None if the model has no attention of its kind."""
    return best_of({place: one.tolist() for place, one in scores_of(weights, batch, pattern).items()})


@contextmanager
def without_heads(model: TokenModel, heads: Iterable[tuple[Place, int]]) -> Iterator[None]:
    """Let these heads of a model put out 0 in the forward passes that this thread runs inside the `with` block.

    The model itself stays as it is.

    Raises:
        IndexError: the model has no such head.
    """
    there = attentions(model)
    chosen: dict[Place, list[int]] = {}
    for place, head in heads:
        if place not in there or not 0 <= head < there[place].heads:
            raise IndexError(f"{place.name}, head {head} does not exist")
        chosen.setdefault(place, []).append(head)
    with replaced({there[place]: Replaced.by_zero(which, there[place].heads) for place, which in chosen.items()}):
        yield
