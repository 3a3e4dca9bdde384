"""How good a model is on sequences on which it was not trained, and what its attention does there.

That is its weights on whole batches, the head with a pattern, the head that is shown large, and the model without a
head.

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
from attnviz.trace.ablation import Replaced, replaced
from attnviz.trace.model import Kind, Place, places
from attnviz.trace.recorder import batch_weights
from attnviz.training.jobs.view import HeadOf, View, best_of
from attnviz.training.loop import inputs_of, loss_from
from attnviz.training.plan import Plan
from attnviz.training.tagged.task import TaggedSentences
from attnviz.training.tasks import TASKS
from attnviz.training.tasks.task import Batch, Pattern, Result, Subject, Task
from attnviz.training.text.subject import Text, result_of
from attnviz.training.vectors import Vectors


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
    attention = layer.get_submodule("cross_attention" if kind == "cross" else "attention")
    if not isinstance(attention, MultiHeadAttention):
        raise TypeError(f"{type(attention).__name__} is not this project's attention")
    return attention


def weights_of(model: TokenModel, batch: Batch) -> Mapping[Place, Tensor]:
    """Run a model on a batch and return the weights of all its attentions, (B, H, Tq, Tk) each."""
    model_places = list(attentions(model))
    with torch.no_grad():
        weights = batch_weights(lambda: model.hidden(*inputs_of(model, batch)), len(model_places))
    return dict(zip(model_places, weights, strict=True))


def scores_of(weights: Mapping[Place, Tensor], batch: Batch, pattern: Pattern) -> dict[Place, Tensor]:
    """Return how much each head shows a pattern, (H,) for each attention of the pattern's kind."""
    return {place: pattern.score(tensor, batch) for place, tensor in weights.items() if place.kind == pattern.kind}


def best_head(weights: Mapping[Place, Tensor], batch: Batch, pattern: Pattern) -> HeadOf | None:
    """Return the head that shows a pattern most; None if the model has no attention of its kind."""
    return best_of({place: scores.tolist() for place, scores in scores_of(weights, batch, pattern).items()})


@contextmanager
def without_heads(model: TokenModel, heads: Iterable[tuple[Place, int]]) -> Iterator[None]:
    """Let these heads of a model put out 0 in the forward passes that this thread runs inside the `with` block.

    The model itself stays as it is.

    Raises:
        IndexError: the model has no such head.
    """
    modules = attentions(model)
    heads_by_place: dict[Place, list[int]] = {}
    for place, head in heads:
        if place not in modules or not 0 <= head < modules[place].heads:
            raise IndexError(f"{place.name}, head {head} does not exist")
        heads_by_place.setdefault(place, []).append(head)
    zeroed: dict[nn.Module, Replaced] = {
        modules[place]: Replaced.by_zero(of, modules[place].heads) for place, of in heads_by_place.items()
    }
    with replaced(zeroed):
        yield


AT_ONCE = 128
"""The sequences that are run at once"""
FEWEST, MOST = 16, 256
"""Sequences of an evaluation while a training runs: twice its batch, within these"""


def evaluate(model: nn.Module, subject: Subject, batch: Batch | None = None) -> Result:
    """Run a model on a subject's held-out sequences, or on those of `batch`.

    The model is left in evaluation mode or in training as it was.
    """
    batch, was_training = subject.held_out() if batch is None else batch, model.training
    model.eval()
    with torch.inference_mode():
        logits = torch.cat([_logits(model, part) for part in _parts(batch)])
    model.train(was_training)
    return Result(loss_from(logits, batch).item(), subject.accuracy(logits, batch))


def evaluate_whole(model: nn.Module, subject: Subject) -> Result:
    """Run a model on all that a subject holds out: of a text, on its whole validation part; of files, the test file."""
    if isinstance(subject, TaggedSentences):
        return result_of(model, subject.tested())
    return subject.whole(model) if isinstance(subject, Text) else evaluate(model, subject)


def heads_of(model: nn.Module, subject: Subject) -> dict[str, HeadOf]:
    """Return, for each pattern of a task by name, the head that shows it most on all held-out sequences."""
    if not isinstance(subject, Task) or not isinstance(model, TokenModel) or not subject.patterns:
        return {}
    batch = subject.held_out()
    weights = weights_of(model.eval(), batch)
    heads = {pattern.name: best_head(weights, batch, pattern) for pattern in subject.patterns}
    return {name: head for name, head in heads.items() if head is not None}


class Evaluator:
    """Evaluates a model again and again while it is trained, on what its subject holds out."""

    def __init__(self, subject: Subject, batch: int) -> None:
        self._subject, self._batch = subject, subject.held_out()
        is_small = isinstance(subject, Vectors | TaggedSentences) or subject.trained_on() is not None
        self._count = len(self._batch) if is_small else max(FEWEST, min(MOST, 2 * batch))

    def evaluate(self, model: nn.Module, *, whole: bool = False) -> dict[str, Any]:
        """Return loss, accuracy and scores as plain values, all of the same sequences.

        They are the first held-out ones; `whole`: all of them, as `evaluate_whole` takes them. Of a subject that trains
        on few sequences, `trained` is the accuracy on these.
        """
        batch = self._batch if whole else _rows(self._batch, slice(self._count))
        result = evaluate_whole(model, self._subject) if whole else evaluate(model, self._subject, batch)
        seen = self._subject.trained_on()
        trained = {} if seen is None else {"trained": evaluate(model, self._subject, seen).accuracy}
        return {"loss": result.loss, "accuracy": result.accuracy, "scores": self._scores(model, batch), **trained}

    def _scores(self, model: nn.Module, batch: Batch) -> dict[str, list[Any]]:
        """Return what every head does: a dropout in training would hide it."""
        if not isinstance(self._subject, Task) or not isinstance(model, TokenModel) or not self._subject.patterns:
            return {}
        was_training = model.training
        weights = weights_of(model.eval(), batch)
        model.train(was_training)
        return {
            pattern.name: [
                (place.kind, place.layer, scores.tolist())
                for place, scores in scores_of(weights, batch, pattern).items()
            ]
            for pattern in self._subject.patterns
        }


def _logits(model: nn.Module, batch: Batch) -> Tensor:
    logits: Tensor = model(*inputs_of(model, batch))
    return logits.float()


def _parts(batch: Batch) -> Iterator[Batch]:
    for first in range(0, len(batch), AT_ONCE):
        yield _rows(batch, slice(first, first + AT_ONCE))


def _rows(batch: Batch, rows: slice) -> Batch:
    return Batch(batch.ids[rows], batch.targets[rows], None if batch.source is None else batch.source[rows])


class Head(NamedTuple):
    """A head of a model in training."""

    place: Place
    head: int


def head_of(plan: Plan, view: View, watch: str) -> Head | None:
    """Return the head that is meant by `watch`, or by "" the one that shows the task's last pattern most at the end.

    As `Training.place` in frontend/training/training.ts.
    """
    model, task = plan.model, TASKS.get(plan.subject)
    if not has_attention(model):
        return None
    kinds: tuple[Kind, ...] = ("encoder", "decoder", "cross")
    if model.architecture != "both":
        kinds = (model.architecture,)
    kind, _, place = watch.partition(".")
    layer, _, head = place.partition(".")
    if kind in kinds and int(layer) < model.layers and int(head) < model.heads:
        return Head(Place(kind, int(layer)), int(head))
    pattern = task.patterns[-1] if task is not None and task.patterns else None
    best = view.evaluations[-1].best_head(pattern.name) if pattern is not None and view.evaluations else None
    if best is not None:
        return Head(Place(best.kind, best.layer), best.head)
    last = pattern.kind if pattern is not None and pattern.kind in kinds else kinds[-1]
    return Head(Place(last, model.layers - 1), 0)
