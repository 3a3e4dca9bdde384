"""What is told of a model in training: its loss and accuracy on held-out sequences, and the patterns of its heads."""

from __future__ import annotations

from typing import Any

from torch import nn

from attnviz.toy.language.model import TokenModel
from attnviz.training.attention import scores_of, weights_of
from attnviz.training.evaluation import evaluate
from attnviz.training.tasks.task import Batch, Subject, Task
from attnviz.training.text.subject import Text, validation_loss

FEWEST, MOST = 16, 256
"""Sequences of an evaluation while a training runs: twice its batch, within these"""
SCORED = 64
"""Sequences on which patterns are scored"""


class Evaluator:
    """Evaluates a model on what a subject holds out."""

    def __init__(self, subject: Subject, batch: int) -> None:
        self._subject, self._batch = subject, subject.held_out()
        self._count = max(FEWEST, min(MOST, 2 * batch))

    def evaluate(self, model: nn.Module, *, whole: bool = False) -> dict[str, Any]:
        """Return loss, accuracy and scores as plain values; `whole`: on all sequences, else on the first of them.

        Of a text, the loss is then that of its whole validation part.
        """
        found = evaluate(model, self._subject, self._batch if whole else _first(self._batch, self._count))
        text, loss = self._subject, found.loss
        if whole and isinstance(text, Text):
            loss = validation_loss(model, text.validation, text.block_size)
        return {"loss": loss, "accuracy": found.accuracy, "scores": self._scores(model)}

    def _scores(self, model: nn.Module) -> dict[str, list[Any]]:
        """Return what every head does: a dropout in training would hide it."""
        if not isinstance(self._subject, Task) or not isinstance(model, TokenModel) or not self._subject.patterns:
            return {}
        batch, was_training = _first(self._batch, SCORED), model.training
        weights = weights_of(model.eval(), batch)
        model.train(was_training)
        found = {one.name: scores_of(weights, batch, one) for one in self._subject.patterns}
        return {
            name: [(place.kind, place.layer, heads.tolist()) for place, heads in scores.items()]
            for name, scores in found.items()
        }


def _first(batch: Batch, count: int) -> Batch:
    source = None if batch.source is None else batch.source[:count]
    return Batch(batch.ids[:count], batch.targets[:count], source)
