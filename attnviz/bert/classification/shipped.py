"""The classifiers that ship with the app: a safetensors file each, with a card in JSON beside it.

The file holds the weights, the losses, and the probabilities for the held-out texts, so that a page shows the result
without encoding 600 texts.

Shapes: N held-out texts, K classes.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from functools import cache
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from attnviz.bert.classification.baselines import Baselines, SeedResult
from attnviz.bert.classification.classifier import Classifier, How
from attnviz.bert.classification.examples import FOLDER, Examples
from attnviz.bert.classification.outcome import Outcome, Share, held_out
from attnviz.reprs import ShortRepr
from attnviz.training.plan import Plan

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
            SeedResult(seed["seed"], Share(**seed["classifier"]), Baselines(*map(_share, seed["baselines"].values())))
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


def _share(value: Mapping[str, int]) -> Share:
    return Share(**value)


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
