"""Makes the classifiers that ship with the app: trained with one seed, evaluated with five."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from attnviz.bert.classification.baselines import SEEDS, SeedResult, baselines
from attnviz.bert.classification.classifier import (
    RATE,
    STEPS,
    Classifier,
    How,
    Pooled,
    classifier_of,
    plan_of,
    pool,
    vectors_of,
)
from attnviz.bert.classification.examples import Examples, built_in
from attnviz.bert.classification.outcome import outcome_of
from attnviz.bert.classification.shipped import NAMES, Card, Shipped
from attnviz.training.evaluation import evaluate
from attnviz.training.jobs.run import evaluation_steps
from attnviz.training.loop import Trainer
from attnviz.training.plan import Plan, build
from attnviz.training.vectors import Vectors, split

if TYPE_CHECKING:
    from attnviz.pretrained.built_in import BuiltInModel

WHAT = {
    "classifier": "A linear layer on the frozen built-in model that tells positive from negative film reviews",
    "agent": "A linear layer on the frozen built-in model that chooses one of four actions for a report: a teaching "
    "example and no medical device",
}


@dataclass(frozen=True, slots=True)
class ClassifierSettings:
    """The settings of a classifier to make."""

    name: str
    """One of `NAMES`"""
    how: How = "mean"
    tanh: bool = False
    steps: int = STEPS
    rate: float = RATE
    seed: int = 0


def make(
    making: ClassifierSettings, model: BuiltInModel, command: str, progress: Callable[[int], object] | None = None
) -> Shipped:
    """Train a classifier, and compare it and its trainings with the four following seeds with both baselines.

    Args:
        making: its settings.
        model: the built-in model.
        command: the command to name on the card.
        progress: called with the number of texts that the model has encoded.
    """
    examples = built_in(NAMES[making.name])
    plan = plan_of(  # before the texts are read: that takes seconds
        len(examples.labels), model.description.width, steps=making.steps, rate=making.rate, seed=making.seed
    )
    pooled = pool(model, examples.texts, progress)
    seeds = [replace(plan, training=replace(plan.training, seed=making.seed + number)) for number in range(SEEDS)]
    trained = [_train(plan_of_seed, examples, pooled, making) for plan_of_seed in seeds]
    results = tuple(
        result_of(examples, pooled, classifier, plan_of_seed.training.seed)
        for (classifier, *_), plan_of_seed in zip(trained, seeds, strict=True)
    )
    classifier, losses, evaluations = trained[0]
    card = Card(
        WHAT[making.name], examples.name, len(examples), examples.sha256, examples.labels, making.how, making.tanh,
        plan, making.seed, results[0].classifier.value, results, command, datetime.now(UTC).date().isoformat(),
        torch.__version__,
    )  # fmt: skip
    probabilities = outcome_of(examples, pooled, classifier, making.seed).probabilities
    return Shipped(classifier, probabilities, losses, evaluations, card)


def _train(
    plan: Plan, examples: Examples, pooled: Pooled, making: ClassifierSettings
) -> tuple[Classifier, NDArray[np.float32], NDArray[np.float32]]:
    """Train in this process, as a job does: returns the classifier, its losses and its evaluations."""
    subject = Vectors(
        vectors_of(examples, pooled, making.how, tanh=making.tanh), len(examples.labels), plan.training.seed
    )
    layer: nn.Module = build(plan.model, plan.training.seed)
    trainer = Trainer(layer, subject.batch, plan.training)
    losses, evaluations, due = [], [], set(evaluation_steps(plan.training.steps))
    for step in range(plan.training.steps + 1):
        if step in due:
            measured = evaluate(layer, subject)
            evaluations.append((step, measured.loss, measured.accuracy))
        if step < plan.training.steps:
            losses.append(trainer.advance())
    classifier = classifier_of(layer, examples, making.how, tanh=making.tanh)
    return classifier, np.array(losses, np.float32), np.array(evaluations, np.float32)


def result_of(examples: Examples, pooled: Pooled, classifier: Classifier, seed: int) -> SeedResult:
    """Return the accuracies of a classifier and both baselines with one seed."""
    train, held = (rows.tolist() for rows in split(torch.from_numpy(examples.classes.copy()), seed))
    accuracy = outcome_of(examples, pooled, classifier, seed).accuracy
    return SeedResult(seed, accuracy, baselines(examples.texts, examples.classes, train, held))
