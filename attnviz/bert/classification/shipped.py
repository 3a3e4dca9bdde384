"""The classifiers that ship with the app: a safetensors file each, with a card in JSON beside it.

The file holds the weights, the losses, and the probabilities of the held-out texts, so that a page shows the result
without reading 600 texts.

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
"""The examples on which each is trained"""
ARRAYS = ("probabilities", "losses", "evaluations")
"""What a file holds beside the weights"""


@dataclass(frozen=True, slots=True)
class Card:
    """What is said of a classifier."""

    what: str
    data: str
    """The file with the examples"""
    rows: int
    sha256: str
    """Of that file"""
    labels: tuple[str, ...]
    """The classes"""
    features: How
    tanh: bool
    plan: Plan
    seed: int
    accuracy: float
    """On held-out texts, from 0 to 1"""
    seeds: tuple[SeedResult, ...]
    """What this seed and the following ones give"""
    command: str
    """What made it"""
    date: str
    """YYYY-MM-DD"""
    torch: str
    """The version of torch"""

    def to_json(self) -> dict[str, Any]:
        """Return the card as plain values."""
        return {**asdict(self), "plan": self.plan.to_json()}

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Card:
        """Return the card of plain values."""
        given = {one.name: value[one.name] for one in fields(cls)}
        seeds = tuple(
            SeedResult(one["seed"], Share(**one["classifier"]), Baselines(*map(_share, one["baselines"].values())))
            for one in given["seeds"]
        )
        return cls(**{**given, "labels": tuple(given["labels"]), "plan": Plan.from_json(given["plan"]), "seeds": seeds})


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Shipped(ShortRepr):
    """A classifier that ships with the app."""

    classifier: Classifier
    probabilities: NDArray[np.float32]
    """(N, K): of the classes of each held-out text, in the order of `held_out`"""
    losses: NDArray[np.float32]
    """(steps,): of each step on its own batch, before the step, in nats"""
    evaluations: NDArray[np.float32]
    """(E, 3): after how many steps, the loss and the accuracy on held-out texts"""
    card: Card

    def outcome(self, examples: Examples) -> Outcome:
        """Return what it says of the held-out ones of its examples.

        Raises:
            ValueError: these are not the examples that it was trained on.
        """
        if examples.sha256 != self.card.sha256:
            raise ValueError(f"{examples.name} is not the file that this classifier was trained on")
        rows = held_out(examples, self.card.seed)
        return Outcome(rows, examples.classes[list(rows)], self.probabilities)

    @property
    def baselines(self) -> Baselines:
        """What both baselines say of the same texts."""
        return next(one.baselines for one in self.card.seeds if one.seed == self.card.seed)


def _share(value: Mapping[str, int]) -> Share:
    return Share(**value)


@cache
def load(name: str) -> Shipped:
    """Return one of `NAMES`."""
    from safetensors.torch import load_file

    card = Card.from_json(json.loads((FOLDER / f"{name}.json").read_text(encoding="utf-8")))
    found = load_file(FOLDER / f"{name}.safetensors")
    classifier = Classifier(found["weight"], found["bias"], card.labels, card.features, card.tanh)
    probabilities, losses, evaluations = (found[name].numpy() for name in ARRAYS)
    return Shipped(classifier, probabilities, losses, evaluations, card)


def write(shipped: Shipped) -> tuple[bytes, bytes]:
    """Return the safetensors file and the card beside it."""
    from safetensors.torch import save

    arrays = {name: getattr(shipped, name) for name in ARRAYS}
    weights = {"weight": shipped.classifier.weight.contiguous(), "bias": shipped.classifier.bias.contiguous()}
    data = save({**weights, **{name: torch.from_numpy(one.copy()) for name, one in arrays.items()}})
    return data, f"{json.dumps(shipped.card.to_json(), indent=2, ensure_ascii=False)}\n".encode()
