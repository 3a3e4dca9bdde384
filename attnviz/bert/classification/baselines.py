"""A classifier's baselines, over several seeds: the most frequent class, and logistic regression on a bag of words.

A bag of words counts how often each word of the training texts occurs in a text; the order of the words is lost.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from attnviz.bert.classification.outcome import Share

ITERATIONS = 1000
MOST_WORDS = 20_000
"""Maximum words that the bag counts: the most frequent ones. The project's own texts have fewer than 2,000"""


@dataclass(frozen=True, slots=True)
class Baselines:
    """How many held-out texts the baselines get right."""

    majority: Share
    bag_of_words: Share

    @property
    def nbytes(self) -> int:
        """Approximate bytes in memory."""
        return 256


def baselines(
    texts: Sequence[str], classes: NDArray[np.int64], train: Sequence[int], held_out: Sequence[int]
) -> Baselines:
    """Return both baselines on a split: each learns only from the training rows."""
    return Baselines(
        _share(majority(classes[list(train)], len(held_out)), classes, held_out),
        _share(bag_of_words(texts, classes, train, held_out), classes, held_out),
    )


def majority(classes: NDArray[np.int64], count: int) -> NDArray[np.int64]:
    """Return the most frequent class, or the first in a tie, for each of `count` texts."""
    return np.full(count, np.bincount(classes).argmax(), np.int64)


def bag_of_words(
    texts: Sequence[str], classes: NDArray[np.int64], train: Sequence[int], held_out: Sequence[int]
) -> NDArray[np.int64]:
    """Return the predictions of scikit-learn's logistic regression on word counts for the held-out texts.

    It counts the 20,000 most frequent words of the training texts. If these have no word that it counts, it predicts
    the most frequent class.
    """
    from sklearn.feature_extraction.text import CountVectorizer
    from sklearn.linear_model import LogisticRegression

    words = CountVectorizer(max_features=MOST_WORDS)
    try:
        counts = words.fit_transform([texts[row] for row in train])
    except ValueError:  # an empty vocabulary
        return majority(classes[list(train)], len(held_out))
    fitted = LogisticRegression(max_iter=ITERATIONS).fit(counts, classes[list(train)])
    predicted: NDArray[np.int64] = fitted.predict(words.transform([texts[row] for row in held_out]))
    return predicted


def _share(predicted: NDArray[np.int64], classes: NDArray[np.int64], held_out: Sequence[int]) -> Share:
    return Share(int((predicted == classes[list(held_out)]).sum()), len(held_out))


SEEDS = 5
NAMES = ("classifier", "bag_of_words", "majority")


@dataclass(frozen=True, slots=True)
class SeedResult:
    """The results of one seed, which determines the split, the first weights and the order."""

    seed: int
    classifier: Share
    baselines: Baselines

    def share(self, name: str) -> Share:
        """Return how many texts one of `NAMES` gets right."""
        if name == "classifier":
            return self.classifier
        share: Share = getattr(self.baselines, name)
        return share


@dataclass(frozen=True, slots=True)
class Spread:
    """Accuracies of several seeds, from 0 to 1."""

    mean: float
    low: float
    high: float


def spreads(results: Sequence[SeedResult]) -> Mapping[str, Spread]:
    """Return the mean and range of each of `NAMES` over the seeds."""
    by_name = {}
    for name in NAMES:
        values = np.array([result.share(name).value for result in results])
        by_name[name] = Spread(float(values.mean()), float(values.min()), float(values.max()))
    return by_name


def wins(results: Sequence[SeedResult]) -> int:
    """Return for how many seeds the classifier gets more right than both baselines."""
    return sum(
        result.classifier.right > max(result.baselines.bag_of_words.right, result.baselines.majority.right)
        for result in results
    )


def beats(results: Sequence[SeedResult]) -> bool:
    """Whether the classifier's mean accuracy is above that of both baselines."""
    spread = spreads(results)
    return spread["classifier"].mean > max(spread["bag_of_words"].mean, spread["majority"].mean)


def verdict(results: Sequence[SeedResult], what: str = "classifier") -> str:
    """Say in one sentence whether it beats both baselines."""
    spread, count = spreads(results), len(results)
    numbers = (
        f"{100 * spread['classifier'].mean:.1f} % on average, against {100 * spread['bag_of_words'].mean:.1f} % of the "
        f"bag of words and {100 * spread['majority'].mean:.1f} % of the most frequent class"
    )
    if not beats(results):
        return f"Over {count} seeds the {what} does not beat both baselines: {numbers}."
    in_each = "in each of them" if wins(results) == count else f"in {wins(results)} of them"
    return f"Over {count} seeds the {what} beats both baselines: {numbers}; {in_each} it is the best of the three."
