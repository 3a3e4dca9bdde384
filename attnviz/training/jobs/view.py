"""What is known of a training job at one moment, as immutable values. It imports no torch."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from attnviz.reprs import ShortRepr
from attnviz.trace.model import Kind, Place

MOST_POINTS = 400
"""Maximum points of a loss curve on the screen"""
Status = Literal["queued", "running", "stopped", "done", "diverged", "failed"]
"""queued: it waits for others. running: it has a process. The others go on only if `View.can_continue`; one
that has failed then goes on from the step at which it was stopped last."""


@dataclass(frozen=True, slots=True, repr=False)
class Snapshot(ShortRepr):
    """The weights of the model after some steps; `weights.model_of` makes a model of them."""

    step: int
    weights: bytes
    """In float16: see `attnviz.training.jobs.weights`"""


@dataclass(frozen=True, slots=True)
class HeadOf:
    """A head of a model, and how much it shows a pattern."""

    kind: Kind
    layer: int
    head: int
    score: float
    """From 0 to 1"""


@dataclass(frozen=True, slots=True, repr=False)
class Evaluation(ShortRepr):
    """What the model does, after some steps, on sequences on which it is not trained."""

    step: int
    loss: float
    """Held out, in nats"""
    accuracy: float
    """Held out, from 0 to 1"""
    scores: dict[str, dict[Place, tuple[float, ...]]] = field(default_factory=dict)
    """By the name of the task's pattern: how much each head of each attention shows it, (H,), from 0 to 1"""

    trained: float | None = None
    """Accuracy on all sequences of the training, from 0 to 1, where they are few; else None"""

    @classmethod
    def of(cls, step: int, told: Mapping[str, Any]) -> Evaluation:
        """Return what `attnviz.training.evaluation.Evaluator` tells, as plain values, after so many steps."""
        scores = {
            name: {Place(kind, layer): tuple(heads) for kind, layer, heads in found}
            for name, found in told["scores"].items()
        }
        return cls(step, float(told["loss"]), float(told["accuracy"]), scores, told.get("trained"))

    def best_head(self, pattern: str) -> HeadOf | None:
        """Return the head that shows a pattern most; None if there is none."""
        return best_of(self.scores.get(pattern, {}))

    def best(self, pattern: str) -> float | None:
        """Return its score."""
        found = self.best_head(pattern)
        return None if found is None else found.score


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class View(ShortRepr):
    """A training job at one moment."""

    status: Status
    steps: int
    """How many there will be"""
    place: int = 0
    """If queued: 1 is the next to start; else 0"""
    message: str = ""
    """If it has diverged or failed, or was stopped by the server: why, in one sentence"""
    step: int = 0
    """How many have been made"""
    losses: NDArray[np.float32] = field(default_factory=lambda: np.zeros(0, np.float32))
    """(step,): the loss of each step on its own batch, before the step, in nats"""
    learning_rate: float = 0.0
    """Of the last step"""
    evaluations: tuple[Evaluation, ...] = ()
    """In order of their steps; the last of a training that is done is on all held-out sequences"""
    snapshots: tuple[Snapshot, ...] = ()
    """In order of their steps"""
    speed: float = 0.0
    """Steps a second, lately or at the end; 0 if it is not known"""
    can_continue: bool = False
    """Whether `Jobs.go_on` and `Jobs.one_step` do something"""

    @property
    def is_live(self) -> bool:
        """Whether it trains, or waits for its turn."""
        return self.status in ("running", "queued")

    @property
    def has_ended(self) -> bool:
        """Whether it has come to an end, good or bad."""
        return self.status in ("done", "diverged", "failed")

    @property
    def seconds_left(self) -> float | None:
        """How long it will take at the present speed; None if it does not run or the speed is not known."""
        return (self.steps - self.step) / self.speed if self.status == "running" and self.speed else None


def thinned_losses(
    losses: NDArray[np.float32], most: int = MOST_POINTS
) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Return at most `most` points of a loss curve, steps and losses: means of equally many steps if there are more.

    Args:
        losses: (steps,): as in `View`.
        most: points.
    """
    count = len(losses)
    each = max(1, -(-count // most))
    starts = np.arange(0, count, each)
    if not len(starts):
        return np.zeros(0, np.float32), np.zeros(0, np.float32)
    sizes = np.diff(np.append(starts, count))
    return (starts + (sizes - 1) / 2).astype(np.float32), (np.add.reduceat(losses, starts) / sizes).astype(np.float32)


def best_of(scores: Mapping[Place, Iterable[float]]) -> HeadOf | None:
    """Return the head with the highest score, the first of equal ones; None if there is none."""
    found = [
        HeadOf(place.kind, place.layer, head, score)
        for place, heads in scores.items()
        for head, score in enumerate(heads)
    ]
    return max(found, key=lambda one: one.score, default=None)
