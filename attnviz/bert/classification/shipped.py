"""The classifiers that ship with the app: a safetensors file each, with a card in JSON beside it; and their making.

The file holds the weights, the losses, and the probabilities for the held-out texts, so that a page shows the result
without encoding 600 texts. Each is trained with one seed and evaluated with five.

Shapes: N held-out texts, K classes.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, fields, replace
from datetime import UTC, datetime
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

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
from attnviz.bert.classification.examples import FOLDER, Examples, built_in
from attnviz.bert.classification.outcome import (
    SEEDS,
    Baselines,
    Outcome,
    SeedResult,
    Share,
    baselines,
    held_out,
    outcome_of,
)
from attnviz.reprs import ShortRepr
from attnviz.training.evaluation import evaluate
from attnviz.training.jobs.run import evaluation_steps
from attnviz.training.loop import Trainer
from attnviz.training.plan import Plan, build
from attnviz.training.vectors import Vectors, split

if TYPE_CHECKING:
    from attnviz.pretrained.built_in import BuiltInModel

NAMES: Mapping[str, str] = {"classifier": "reviews", "agent": "reports"}
"""The examples that each is trained on"""
ARRAYS = ("probabilities", "losses", "evaluations")
"""What a file holds besides the weights"""


@dataclass(frozen=True, slots=True)
class Card:
    """The description of a classifier."""

    what: str
    data: str
    """The file with the examples"""
    rows: int
    sha256: str
    """Digest of that file"""
    labels: tuple[str, ...]
    """The classes"""
    features: How
    tanh: bool
    plan: Plan
    seed: int
    accuracy: float
    """Accuracy on held-out texts, from 0 to 1"""
    seeds: tuple[SeedResult, ...]
    """The results of this seed and the following ones"""
    command: str
    """The command that made it"""
    date: str
    """YYYY-MM-DD"""
    torch: str
    """The version of torch"""

    def to_json(self) -> dict[str, Any]:
        """Return the card as plain values."""
        return {**asdict(self), "plan": self.plan.to_json()}

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Card:
        """Return the card from plain values."""
        entries = {field.name: value[field.name] for field in fields(cls)}
        seeds = tuple(
            SeedResult(
                seed["seed"],
                Share(**seed["classifier"]),
                Baselines(**{name: Share(**share) for name, share in seed["baselines"].items()}),
            )
            for seed in entries["seeds"]
        )
        plan = Plan.from_json(entries["plan"])
        return cls(**{**entries, "labels": tuple(entries["labels"]), "plan": plan, "seeds": seeds})


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Shipped(ShortRepr):
    """A classifier that ships with the app."""

    classifier: Classifier
    probabilities: NDArray[np.float32]
    """(N, K): the probabilities of the classes of each held-out text, in the order of `held_out`"""
    losses: NDArray[np.float32]
    """(steps,): the loss of each step's batch, before the step, in nats"""
    evaluations: NDArray[np.float32]
    """(E, 3): step, loss and accuracy on held-out texts"""
    card: Card

    def outcome(self, examples: Examples) -> Outcome:
        """Return its predictions on the held-out texts of its examples.

        Raises:
            ValueError: these are not the examples that it was trained on.
        """
        if examples.sha256 != self.card.sha256:
            raise ValueError(f"{examples.name} is not the file that this classifier was trained on")
        rows = held_out(examples, self.card.seed)
        return Outcome(rows, examples.classes[list(rows)], self.probabilities)

    @property
    def baselines(self) -> Baselines:
        """The results of both baselines on the same texts."""
        return next(result.baselines for result in self.card.seeds if result.seed == self.card.seed)


@cache
def load(name: str) -> Shipped:
    """Return one of `NAMES`."""
    from safetensors.torch import load_file

    card = Card.from_json(json.loads((FOLDER / f"{name}.json").read_text(encoding="utf-8")))
    tensors = load_file(FOLDER / f"{name}.safetensors")
    classifier = Classifier(tensors["weight"], tensors["bias"], card.labels, card.features, card.tanh)
    probabilities, losses, evaluations = (tensors[name].numpy() for name in ARRAYS)
    return Shipped(classifier, probabilities, losses, evaluations, card)


def write(shipped: Shipped) -> tuple[bytes, bytes]:
    """Return the safetensors file and the card beside it."""
    from safetensors.torch import save

    arrays = {name: getattr(shipped, name) for name in ARRAYS}
    weights = {"weight": shipped.classifier.weight.contiguous(), "bias": shipped.classifier.bias.contiguous()}
    data = save({**weights, **{name: torch.from_numpy(array.copy()) for name, array in arrays.items()}})
    return data, f"{json.dumps(shipped.card.to_json(), indent=2, ensure_ascii=False)}\n".encode()


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
