"""What a classifier has to beat: the most frequent class, and logistic regression on a bag of words.

A bag of words counts how often each word of the training texts is in a text; the order of the words is lost.
"""

from __future__ import annotations

from collections.abc import Sequence
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
