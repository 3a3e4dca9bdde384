"""What a classifier has to beat, the most frequent class and logistic regression on a bag of words, over several seeds.

A bag of words counts how often each word of the training texts is in a text; the order of the words is lost.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from attnviz.bert.classification.outcome import Share

ITERATIONS = 1000
MOST_WORDS = 20_000
"""Words that the bag counts: the most frequent ones. The project's own texts have fewer than 2,000"""


@dataclass(frozen=True, slots=True)
class Baselines:
    """How many held-out texts the baselines get right."""

    majority: Share
    bag_of_words: Share

    @property
    def nbytes(self) -> int:
        """Bytes in memory, about."""
        return 256


def baselines(
    texts: Sequence[str], classes: NDArray[np.int64], train: Sequence[int], held_out: Sequence[int]
) -> Baselines:
    """Return both baselines on a split: each learns from the training rows alone."""
    return Baselines(
        _share(majority(classes[list(train)], len(held_out)), classes, held_out),
        _share(bag_of_words(texts, classes, train, held_out), classes, held_out),
    )


def majority(classes: NDArray[np.int64], count: int) -> NDArray[np.int64]:
    """Return the most frequent class, the first of several, for each of `count` texts."""
    return np.full(count, np.bincount(classes).argmax(), np.int64)


def bag_of_words(
    texts: Sequence[str], classes: NDArray[np.int64], train: Sequence[int], held_out: Sequence[int]
) -> NDArray[np.int64]:
    """Return what scikit-learn's logistic regression on counts of words says of the held-out texts.

    It counts the 20,000 most frequent words of the training texts. Where these have no word that it counts, it says the
    most frequent class.
    """
    from sklearn.feature_extraction.text import CountVectorizer
    from sklearn.linear_model import LogisticRegression

    words = CountVectorizer(max_features=MOST_WORDS)
    try:
        counts = words.fit_transform([texts[row] for row in train])
    except ValueError:  # an empty vocabulary
        return majority(classes[list(train)], len(held_out))
    fitted = LogisticRegression(max_iter=ITERATIONS).fit(counts, classes[list(train)])
    found: NDArray[np.int64] = fitted.predict(words.transform([texts[row] for row in held_out]))
    return found


def _share(predicted: NDArray[np.int64], classes: NDArray[np.int64], held_out: Sequence[int]) -> Share:
    return Share(int((predicted == classes[list(held_out)]).sum()), len(held_out))


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
