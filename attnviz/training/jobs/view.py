"""The state of a training job at one moment, as immutable values. Does not import torch."""

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
"""queued: it waits for others. running: it has a process. In the other states it can be resumed only if
`View.can_continue`; a failed job resumes from the step at which it was last stopped."""


@dataclass(frozen=True, slots=True, repr=False)
class Snapshot(ShortRepr):
    """The model's weights after a number of steps; `weights.model_of` builds a model from them."""

    step: int
    weights: bytes
    """In float16; for the layout see `attnviz.training.jobs.weights`"""


@dataclass(frozen=True, slots=True)
class FoundHead:
    """A head of a model, and how strongly it shows a pattern."""

    kind: Kind
    layer: int
    head: int
    score: float
    """From 0 to 1"""


@dataclass(frozen=True, slots=True, repr=False)
class Evaluation(ShortRepr):
    """How the model does on held-out sequences after a number of steps."""

    step: int
    loss: float
    """Held-out loss, in nats"""
    accuracy: float
    """Held-out accuracy, from 0 to 1"""
    scores: dict[str, dict[Place, tuple[float, ...]]] = field(default_factory=dict)
    """By the name of the task's pattern: how strongly each head of each attention shows it, (H,), from 0 to 1"""

    trained: float | None = None
    """Accuracy on all training sequences, from 0 to 1, if there are only a few; else None"""

    @classmethod
    def of(cls, step: int, told: Mapping[str, Any]) -> Evaluation:
        """Return the evaluation after `step` steps from the plain values that `Evaluator.evaluate` returns."""
        scores = {
            name: {Place(kind, layer): tuple(heads) for kind, layer, heads in rows}
            for name, rows in told["scores"].items()
        }
        return cls(step, float(told["loss"]), float(told["accuracy"]), scores, told.get("trained"))

    def best_head(self, pattern: str) -> FoundHead | None:
        """Return the head that shows a pattern most; None if the pattern has no scores."""
        return best_of(self.scores.get(pattern, {}))

    def best(self, pattern: str) -> float | None:
        """Return the score of the head that shows a pattern most; None if the pattern has no scores."""
        head = self.best_head(pattern)
        return None if head is None else head.score


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class View(ShortRepr):
    """A training job at one moment."""

    status: Status
    steps: int
    """How many steps there will be"""
    place: int = 0
    """If queued: 1 is the next to start; else 0"""
    message: str = ""
    """If it has diverged or failed, or was stopped by the server: why, in one sentence"""
    step: int = 0
    """How many steps have been made"""
    losses: NDArray[np.float32] = field(default_factory=lambda: np.zeros(0, np.float32))
    """(step,): the loss of each step on its own batch, before the step, in nats"""
    learning_rate: float = 0.0
    """The learning rate of the last step"""
    evaluations: tuple[Evaluation, ...] = ()
    """In order of their steps; when a training is done, its last evaluation is on all held-out sequences"""
    snapshots: tuple[Snapshot, ...] = ()
    """In order of their steps"""
    speed: float = 0.0
    """Steps per second, recently or at the end; 0 if unknown"""
    can_continue: bool = False
    """Whether `Jobs.go_on` and `Jobs.one_step` have an effect"""

    @property
    def is_live(self) -> bool:
        """Whether it trains, or waits for its turn."""
        return self.status in ("running", "queued")

    @property
    def has_ended(self) -> bool:
        """Whether it has ended, successfully or not."""
        return self.status in ("done", "diverged", "failed")

    @property
    def seconds_left(self) -> float | None:
        """The remaining seconds at the present speed; None if it is not running or the speed is unknown."""
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


def best_of(scores: Mapping[Place, Iterable[float]]) -> FoundHead | None:
    """Return the head with the highest score, the first in case of a tie; None if there are no scores."""
    heads_with_scores = [
        FoundHead(place.kind, place.layer, head, score)
        for place, heads in scores.items()
        for head, score in enumerate(heads)
    ]
    return max(heads_with_scores, key=lambda scored: scored.score, default=None)
