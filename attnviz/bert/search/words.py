"""What plain words find: BM25 (Robertson and Zaragoza 2009), computed by the library bm25s as Lucene does.

A sentence's score is the sum, over the words of the query, of idf(w) · f / (f + k1 · (1 − b + b · n / mean n)): f is
how often the word stands in the sentence, n the number of its words, and idf(w) = ln(1 + (N − d + ½) / (d + ½)) for a
word that is in d of N sentences. A word counts as often as the query has it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import bm25s
import numpy as np
import torch
from torch import Tensor

K1, B = 1.5, 0.75
_WORD = re.compile(r"\w+")


def words_of(text: str) -> list[str]:
    """Return the words of a text: runs of letters and digits in lower case, without stemming and stop words."""
    return _WORD.findall(text.lower())


class Words:
    """The index of words of some sentences. Immutable after construction."""

    def __init__(self, sentences: Sequence[str]) -> None:
        self._count = len(sentences)
        words = [words_of(sentence) for sentence in sentences]
        self._known = frozenset(word for one in words for word in one)
        self._index = None
        if self._known:
            self._index = bm25s.BM25(method="lucene", k1=K1, b=B)
            self._index.index(words, show_progress=False)

    def scores(self, query: str) -> Tensor:
        """Return the score of each sentence, (N,); 0 where it shares no word with the query."""
        known = [word for word in words_of(query) if word in self._known]
        if self._index is None or not known:
            return torch.zeros(self._count)
        return torch.from_numpy(np.asarray(self._index.get_scores(known), dtype=np.float32))

    @property
    def nbytes(self) -> int:
        """Bytes in memory, about: three arrays, and two dictionaries of words."""
        arrays = self._index.scores.values() if self._index is not None else ()
        return sum(getattr(one, "nbytes", 0) for one in arrays) + 200 * len(self._known)
