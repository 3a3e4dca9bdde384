"""How well a model does on held-out sequences, and what its attention does on them.

This covers the attention weights of whole batches, the head that shows a pattern most, the head in the large drawing,
and the model with some heads switched off.

Shapes: B sequences, H heads, Tq query positions, Tk key positions, D head width.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from attnviz.toy.language.config import has_attention
from attnviz.toy.language.model import TokenModel
from attnviz.toy.layers import MultiHeadAttention
from attnviz.toy.stacks import Seq2Seq
from attnviz.trace.model import Kind, Place, places
from attnviz.trace.recorder import Replacement, batch_weights, replaced
from attnviz.training.jobs.view import FoundHead, View, best_of
from attnviz.training.loop import inputs_of, loss_from
from attnviz.training.plan import Plan
from attnviz.training.tagged.task import TaggedSentences
from attnviz.training.tasks import TASKS
from attnviz.training.tasks.task import Batch, Pattern, Result, Subject, Task
from attnviz.training.text.subject import Text, result_of
from attnviz.training.vectors import Vectors


def attentions(model: TokenModel) -> dict[Place, MultiHeadAttention]:
    """Return the attention modules of a model by place, in order of computation."""
    blocks = model.blocks
    stacks: dict[Kind, nn.ModuleList]
    if isinstance(blocks, Seq2Seq):
        stacks = {"encoder": blocks.encoder.layers, "decoder": blocks.decoder.layers, "cross": blocks.decoder.layers}
    else:
        stacks = {"decoder" if blocks.causal else "encoder": blocks.layers}
    numbers = {kind: range(len(layers)) for kind, layers in stacks.items()}
    return {place: _attention(stacks[place.kind][place.layer], place.kind) for place in places(numbers)}


def _attention(layer: nn.Module, kind: Kind) -> MultiHeadAttention:
    attention = layer.get_submodule("cross_attention" if kind == "cross" else "attention")
    if not isinstance(attention, MultiHeadAttention):
        raise TypeError(f"{type(attention).__name__} is not this project's attention")
    return attention


def weights_of(model: TokenModel, batch: Batch) -> Mapping[Place, Tensor]:
    """Run a model on a batch and return the weights of all its attentions, (B, H, Tq, Tk) each."""
    model_places = list(attentions(model))
    with torch.no_grad():
        weights = batch_weights(lambda: model.hidden(*inputs_of(model, batch)), len(model_places))
    return dict(zip(model_places, (of_call for of_call, _ in weights), strict=True))


def scores_of(weights: Mapping[Place, Tensor], batch: Batch, pattern: Pattern) -> dict[Place, Tensor]:
    """Return how strongly each head shows a pattern: (H,) for each attention of the pattern's kind."""
    return {place: pattern.score(tensor, batch) for place, tensor in weights.items() if place.kind == pattern.kind}


def best_head(weights: Mapping[Place, Tensor], batch: Batch, pattern: Pattern) -> FoundHead | None:
    """Return the head that shows a pattern most; None if the model has no attention of its kind."""
    return best_of({place: scores.tolist() for place, scores in scores_of(weights, batch, pattern).items()})


@contextmanager
def without_heads(model: TokenModel, heads: Iterable[tuple[Place, int]]) -> Iterator[None]:
    """Zero the outputs of these heads in the forward passes that this thread runs inside the `with` block.

    The model itself is not changed.

    Raises:
        IndexError: the model has no such head.
    """
    modules = attentions(model)
    heads_by_place: dict[Place, list[int]] = {}
    for place, head in heads:
        if place not in modules or not 0 <= head < modules[place].heads:
            raise IndexError(f"{place.name}, head {head} does not exist")
        heads_by_place.setdefault(place, []).append(head)
    zeroed: dict[nn.Module, Replacement] = {
        modules[place]: Replacement.by_zero(of, modules[place].heads) for place, of in heads_by_place.items()
    }
    with replaced(zeroed):
        yield


AT_ONCE = 128
"""Sequences in one forward pass"""
FEWEST, MOST = 16, 256
"""Bounds on the sequences of an evaluation during training: twice the batch size, clamped to this range"""


def evaluate(model: nn.Module, subject: Subject, batch: Batch | None = None) -> Result:
    """Run a model on a subject's held-out sequences, or on those of `batch`.

    Afterwards the model is in the same mode (training or evaluation) as before.
    """
    batch, was_training = subject.held_out() if batch is None else batch, model.training
    model.eval()
    parts = [_rows(batch, slice(first, first + AT_ONCE)) for first in range(0, len(batch), AT_ONCE)]
    with torch.inference_mode():
        logits = torch.cat([model(*inputs_of(model, part)).float() for part in parts])
    model.train(was_training)
    return Result(loss_from(logits, batch).item(), subject.accuracy(logits, batch))


def evaluate_whole(model: nn.Module, subject: Subject) -> Result:
    """Run a model on everything held out: a text's whole validation part, or the test file of tagged files."""
    if isinstance(subject, TaggedSentences):
        return result_of(model, subject.tested())
    return subject.whole(model) if isinstance(subject, Text) else evaluate(model, subject)


def heads_of(model: nn.Module, subject: Subject) -> dict[str, FoundHead]:
    """Return the head that shows each pattern of a task most on all held-out sequences, by the pattern's name."""
    scores = _pattern_scores(model, subject, subject.held_out()) if isinstance(subject, Task) else {}
    heads = {
        name: best_of({place: score.tolist() for place, score in by_place.items()}) for name, by_place in scores.items()
    }
    return {name: head for name, head in heads.items() if head is not None}


def _pattern_scores(model: nn.Module, subject: Subject, batch: Batch) -> dict[str, dict[Place, Tensor]]:
    """Return the results of `scores_of` for each pattern of a task, by its name, with the model in evaluation mode."""
    if not isinstance(subject, Task) or not isinstance(model, TokenModel) or not subject.patterns:
        return {}
    weights = weights_of(model.eval(), batch)
    return {pattern.name: scores_of(weights, batch, pattern) for pattern in subject.patterns}


class Evaluator:
    """Evaluates a model repeatedly during training, on its subject's held-out sequences."""

    def __init__(self, subject: Subject, batch: int) -> None:
        self._subject, self._batch = subject, subject.held_out()
        is_small = isinstance(subject, Vectors | TaggedSentences) or subject.trained_on() is not None
        self._count = len(self._batch) if is_small else max(FEWEST, min(MOST, 2 * batch))

    def evaluate(self, model: nn.Module, *, whole: bool = False) -> dict[str, Any]:
        """Return loss, accuracy and scores as plain values, all for the same sequences.

        These are the first held-out ones, or with `whole` all of them, as in `evaluate_whole`. If the subject trains on
        only a few sequences, `trained` is the accuracy on those.
        """
        batch = self._batch if whole else _rows(self._batch, slice(self._count))
        result = evaluate_whole(model, self._subject) if whole else evaluate(model, self._subject, batch)
        seen = self._subject.trained_on()
        trained = {} if seen is None else {"trained": evaluate(model, self._subject, seen).accuracy}
        return {"loss": result.loss, "accuracy": result.accuracy, "scores": self._scores(model, batch), **trained}

    def _scores(self, model: nn.Module, batch: Batch) -> dict[str, list[Any]]:
        """Return each head's score for each pattern, in evaluation mode: dropout would distort the scores."""
        was_training = model.training
        scores = _pattern_scores(model, self._subject, batch)
        model.train(was_training)
        return {
            name: [(place.kind, place.layer, of.tolist()) for place, of in of_heads.items()]
            for name, of_heads in scores.items()
        }


def _rows(batch: Batch, rows: slice) -> Batch:
    return Batch(batch.ids[rows], batch.targets[rows], None if batch.source is None else batch.source[rows])


class Head(NamedTuple):
    """A head of a model in training."""

    place: Place
    head: int


def head_of(plan: Plan, view: View, watch: str) -> Head | None:
    """Return the head named by `watch`; if it names none (""), the one that shows the task's last pattern most.

    `Training.place` in frontend/training/training.ts does the same.
    """
    config, task = plan.model, TASKS.get(plan.subject)
    if not has_attention(config):
        return None
    kind, _, place = watch.partition(".")
    layer, _, head = place.partition(".")
    if kind in config.kinds and int(layer) < config.layers and int(head) < config.heads:
        return Head(Place(kind, int(layer)), int(head))
    pattern = task.patterns[-1] if task is not None and task.patterns else None
    best = view.evaluations[-1].best_head(pattern.name) if pattern is not None and view.evaluations else None
    if best is not None:
        return Head(Place(best.kind, best.layer), best.head)
    last_kind = pattern.kind if pattern is not None and pattern.kind in config.kinds else config.kinds[-1]
    return Head(Place(last_kind, config.layers - 1), 0)
