"""The quality of a classifier: accuracy on held-out texts, confusion, mistakes, and the effect of leaving out words.

Its baselines, over several seeds, are the most frequent class and logistic regression on a bag of words. It counts how
often each word of the training texts occurs in a text; the order of the words is lost.

Shapes: N held-out texts, K classes.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np
import torch
from numpy.typing import NDArray

from attnviz.bert.classification.classifier import Classifier, Pooled
from attnviz.bert.classification.examples import Examples
from attnviz.formatting import percent
from attnviz.training.vectors import split

CONFIDENCE = 0.95


@dataclass(frozen=True, slots=True)
class Share:
    """How many of some texts are right."""

    right: int
    total: int

    @property
    def value(self) -> float:
        """The share, from 0 to 1; nan if there is no text."""
        return self.right / self.total if self.total else math.nan

    @property
    def interval(self) -> tuple[float, float]:
        """Its 95 % interval."""
        return wilson(self.right, self.total)


@dataclass(frozen=True, slots=True, eq=False)
class Outcome:
    """A classifier's predictions on held-out texts."""

    rows: tuple[int, ...]
    """Their rows among all texts"""
    classes: NDArray[np.int64]
    """(N,): their classes"""
    probabilities: NDArray[np.float32]
    """(N, K)"""

    @property
    def predicted(self) -> NDArray[np.int64]:
        """The likeliest class of each text, (N,)."""
        classes: NDArray[np.int64] = self.probabilities.argmax(-1)
        return classes

    @property
    def confidence(self) -> NDArray[np.float32]:
        """The probability of the likeliest class, (N,)."""
        largest: NDArray[np.float32] = self.probabilities.max(-1)
        return largest

    @property
    def is_right(self) -> NDArray[np.bool_]:
        """Whether the prediction is the text's class, (N,)."""
        right: NDArray[np.bool_] = self.predicted == self.classes
        return right

    @property
    def accuracy(self) -> Share:
        """How many predictions are right."""
        return Share(int(self.is_right.sum()), len(self.rows))

    def confusion(self) -> NDArray[np.int64]:
        """Return how many texts of each class (row) are predicted as each (column), (K, K)."""
        count = self.probabilities.shape[1]
        pairs = self.classes * count + self.predicted
        return np.bincount(pairs, minlength=count**2).reshape(count, count)

    def by_kind(self, kinds: Sequence[str]) -> dict[str, Share]:
        """Return how many texts of each kind are right; `kinds` has the kind of every text, or is empty."""
        if not kinds:
            return {}
        held = np.array([kinds[row] for row in self.rows])
        return {
            name: Share(int(self.is_right[held == name].sum()), int((held == name).sum()))
            for name in dict.fromkeys(kinds) if (held == name).any()
        }  # fmt: skip

    def wrong(self) -> list[int]:
        """Return the places of the misclassified texts, the most confident first."""
        places = np.flatnonzero(~self.is_right)
        return [int(place) for place in places[np.argsort(-self.confidence[places], kind="stable")]]


def outcome_of(examples: Examples, pooled: Pooled, classifier: Classifier, seed: int) -> Outcome:
    """Return a classifier's predictions on the texts that are held out with its seed."""
    rows = list(held_out(examples, seed))
    held = Pooled(pooled.cls[rows], pooled.mean[rows])
    with torch.no_grad():
        probabilities = classifier.probabilities(held).numpy()
    return Outcome(tuple(rows), examples.classes[rows], probabilities)


def held_out(examples: Examples, seed: int) -> tuple[int, ...]:
    """Return the rows of the texts that are held out with a seed."""
    return tuple(split(torch.from_numpy(examples.classes.copy()), seed)[1].tolist())


def wilson(right: int, total: int) -> tuple[float, float]:
    """Return the score interval of the share of `right` in `total`.

    E. B. Wilson (1927), Probable inference, the law of succession, and statistical inference, JASA 22, 209-212. It
    stays within 0 and 1, and is also valid for few texts.

    Raises:
        ValueError: there is no text, or more are right than there are.
    """
    if not 0 <= right <= total or not total:
        raise ValueError(f"{right} of {total} is not a share")
    z = NormalDist().inv_cdf((1 + CONFIDENCE) / 2)
    share = right / total
    middle = (share + z**2 / (2 * total)) / (1 + z**2 / total)
    half = z / (1 + z**2 / total) * math.sqrt(share * (1 - share) / total + z**2 / (4 * total**2))
    return middle - half if right else 0.0, middle + half if right < total else 1.0


MOST, FEWEST = 48, 8
SHORT = 128
"""Maximum tokens of a text for which the model may run `MOST` times; for longer texts, proportionally fewer times"""
_WORD = re.compile(r"\S+")


@dataclass(frozen=True, slots=True)
class TextWithoutWords:
    """A text without one word, or without several neighbouring ones."""

    words: str
    """The words left out"""
    text: str
    """The remaining text"""


def most_passes(tokens: int) -> int:
    """Return the maximum number of forward passes for a text of this length."""
    return max(FEWEST, min(MOST, MOST * SHORT // max(1, tokens)))


def without_words(text: str, most: int = MOST) -> list[TextWithoutWords]:
    """Return the text without each of its words in turn: words are separated by white space.

    With more than `most` words, as few neighbours as possible are left out together. A text of one word gives an empty
    list.
    """
    words = list(_WORD.finditer(text))
    if len(words) < 2:
        return []
    each = -(-len(words) // most)
    texts = []
    for first in range(0, len(words), each):
        removed = words[first : first + each]
        rest = text[: removed[0].start()] + text[removed[-1].end() :]
        texts.append(TextWithoutWords(text[removed[0].start() : removed[-1].end()], " ".join(rest.split())))
    return texts


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
        f"{percent(spread['classifier'].mean, 1)} on average, against {percent(spread['bag_of_words'].mean, 1)} of the "
        f"bag of words and {percent(spread['majority'].mean, 1)} of the most frequent class"
    )
    if not beats(results):
        return f"Over {count} seeds the {what} does not beat both baselines: {numbers}."
    in_each = "in each of them" if wins(results) == count else f"in {wins(results)} of them"
    return f"Over {count} seeds the {what} beats both baselines: {numbers}; {in_each} it is the best of the three."
