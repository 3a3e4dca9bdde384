"""Several trainings that differ in their seeds alone: whether a classifier beats both baselines, or was only lucky."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from attnviz.bert.classification.baselines import Baselines
from attnviz.bert.classification.outcome import Share

SEEDS = 5
NAMES = ("classifier", "bag_of_words", "majority")


@dataclass(frozen=True, slots=True)
class SeedResult:
    """What one seed gives: of the split, the first weights and the order."""

    seed: int
    classifier: Share
    baselines: Baselines

    def share(self, name: str) -> Share:
        """Return how many are right: of one of `NAMES`."""
        if name == "classifier":
            return self.classifier
        found: Share = getattr(self.baselines, name)
        return found


@dataclass(frozen=True, slots=True)
class Spread:
    """Accuracies of several seeds, from 0 to 1."""

    mean: float
    low: float
    high: float


def spreads(results: Sequence[SeedResult]) -> Mapping[str, Spread]:
    """Return mean and range of each of `NAMES` over the seeds."""
    found = {}
    for name in NAMES:
        values = np.array([one.share(name).value for one in results])
        found[name] = Spread(float(values.mean()), float(values.min()), float(values.max()))
    return found


def wins(results: Sequence[SeedResult]) -> int:
    """Return for how many seeds the classifier has more right than both baselines."""
    return sum(
        one.classifier.right > max(one.baselines.bag_of_words.right, one.baselines.majority.right) for one in results
    )


def beats(results: Sequence[SeedResult]) -> bool:
    """Whether the classifier's mean accuracy is above that of both baselines."""
    found = spreads(results)
    return found["classifier"].mean > max(found["bag_of_words"].mean, found["majority"].mean)


def verdict(results: Sequence[SeedResult], what: str = "classifier") -> str:
    """Say whether it beats both baselines, in one sentence."""
    found, count = spreads(results), len(results)
    numbers = (
        f"{100 * found['classifier'].mean:.1f} % on average, against {100 * found['bag_of_words'].mean:.1f} % of the "
        f"bag of words and {100 * found['majority'].mean:.1f} % of the most frequent class"
    )
    if not beats(results):
        return f"Over {count} seeds the {what} does not beat both baselines: {numbers}."
    in_each = "in each of them" if wins(results) == count else f"in {wins(results)} of them"
    return f"Over {count} seeds the {what} beats both baselines: {numbers}; {in_each} it is the best of the three."
