"""Search by meaning: the sentences of a text, their embeddings and their plane, the ranking, and BM25 beside it.

Sentences are cut by the rules of the library sentencex. The plane is that of the first two principal components
(Pearson 1901). BM25 (Robertson and Zaragoza 2009) is computed by the library bm25s as Lucene does: a sentence's score
is the sum, over the words of the query, of idf(w) · f / (f + k1 · (1 − b + b · n / mean n)): f is how often the word
occurs in the sentence, n the number of its words, and idf(w) = ln(1 + (N − d + ½) / (d + ½)) for a word that is in
d of N sentences. A word that the query repeats counts as often.

Shapes: N sentences, C model width, Tq and Th tokens of the query and of the hit.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from hashlib import blake2b

import bm25s
import numpy as np
import sentencex
import torch
from torch import Tensor

from attnviz.bert.encoding import SENTENCE_TOKENS, cut, hidden_states, sentence_batches, token_ids
from attnviz.files import FOLDER
from attnviz.pretrained.built_in import BuiltInModel
from attnviz.reprs import ArraysSize, ShortRepr
from attnviz.tokens import repair

MOST_SENTENCES = 20_000
"""A megabyte of English prose has some 12,000"""
LONGEST = 1000
"""Maximum characters of a sentence; a longer one is cut at a space. 1000 are some 200 tokens; an embedding reads 256"""
BLOCK = 20_000
"""Characters that are split at once: sentencex takes time quadratic in the number of unbalanced quotation marks"""
LOWER_CASE = 1 / 3
"""A paragraph counts as wrapped prose if at least this share of its lines after the first begin in lower case"""
LANGUAGE = "en"
"""The language whose abbreviations are known; the punctuation of other scripts ends sentences too"""

_CONTROL = re.compile(r"[\x00-\x08\x0e-\x1f\x7f-\x84\x86-\x9f]")
_LINE_END = re.compile(r"\r\n|[\r\v\f\x85\u2028\u2029]")
_OPENING = "\"'“‘„«(["


@dataclass(frozen=True, slots=True)
class Sentences:
    """The sentences of a text."""

    sentences: tuple[str, ...]
    """In the order of the text; each run of white space is one space"""
    left_out: int
    """How many sentences follow after the first `MOST_SENTENCES`"""
    digest: str
    """Identifies the sentences"""

    def __len__(self) -> int:
        return len(self.sentences)


def split(text: str) -> Sentences:
    """Split a text into sentences.

    An empty line ends a sentence. So does every other line end, unless the paragraph is wrapped prose. A piece without
    letters, digits or symbols is not a sentence.
    """
    sentences = tuple(_sentences(_CONTROL.sub(" ", _LINE_END.sub("\n", repair(text)))))
    kept = sentences[:MOST_SENTENCES]
    return Sentences(kept, len(sentences) - len(kept), blake2b("\n".join(kept).encode(), digest_size=12).hexdigest())


@cache
def built_in() -> Sentences:
    """Return the sentences that this project has written for the search."""
    return split((FOLDER / "assets" / "bert" / "sentences.txt").read_text(encoding="utf-8"))


def _sentences(text: str) -> Iterator[str]:
    for paragraph in _paragraphs(text):
        for sentence in _segments(paragraph):
            for piece in _cut(" ".join(sentence.split()), LONGEST):
                if any(character.isalnum() or unicodedata.category(character) == "So" for character in piece):
                    yield piece


def _segments(paragraph: str) -> Iterator[str]:
    """Split a paragraph block by block; the last sentence of a block, which may be cut, begins the next one."""
    start = 0
    while start < len(paragraph):
        end = start + BLOCK
        if end < len(paragraph):
            space = paragraph.rfind(" ", start + 1, end)
            end = space if space > 0 else end
        *whole, last = sentencex.segment(LANGUAGE, paragraph[start:end])
        if whole and end < len(paragraph):
            end -= len(last)
        else:
            whole.append(last)
        yield from whole
        start = end


def _paragraphs(text: str) -> Iterator[str]:
    """Yield the wrapped paragraphs, each as one line, and every line of the others."""
    lines: list[str] = []
    for line in (*text.split("\n"), ""):
        if line.strip():
            lines.append(line.strip())
        elif lines:
            following = [later.lstrip(_OPENING)[:1].islower() for later in lines[1:]]
            is_wrapped = sum(following) >= max(1, LOWER_CASE * len(following))
            yield from [" ".join(lines)] if is_wrapped else lines
            lines = []


def _cut(text: str, longest: int) -> Iterator[str]:
    """Cut a text into pieces of at most `longest` characters, each at its last space if it has one."""
    start = 0
    while len(text) - start > longest:
        space = text.rfind(" ", start + 1, start + longest)
        end = space if space > 0 else start + longest
        yield text[start:end].strip()
        start = end
    yield text[start:].strip()


K1, B = 1.5, 0.75
_WORD = re.compile(r"\w+")


def words_of(text: str) -> list[str]:
    """Return the words of a text: runs of letters and digits in lower case. No stemming, no list of stop words."""
    return _WORD.findall(text.lower())


class WordIndex:
    """The word index of some sentences. Immutable after construction."""

    def __init__(self, sentences: Sequence[str]) -> None:
        self._count = len(sentences)
        words = [words_of(sentence) for sentence in sentences]
        self._known = frozenset(word for sentence in words for word in sentence)
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
        """Approximate bytes in memory: three arrays, and two dictionaries of words."""
        arrays = self._index.scores.values() if self._index is not None else ()
        return sum(getattr(array, "nbytes", 0) for array in arrays) + 200 * len(self._known)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Plane(ShortRepr, ArraysSize):
    """A plane through the mean of some vectors."""

    mean: Tensor
    """(C,)"""
    axes: Tensor
    """(2, C): orthogonal, of length 1; in each, the component of largest magnitude is positive"""
    places: Tensor
    """(N, 2): where each vector lies in the plane"""
    kept: tuple[float, float]
    """The share of the variance along each axis; 0 if all vectors are the same"""

    @classmethod
    def of(cls, vectors: Tensor) -> Plane:
        """Return the plane of (N, C) vectors, computed in float64 from their covariance, without random numbers.

        Raises:
            ValueError: there is no vector, or they have fewer than two numbers.
        """
        if vectors.ndim != 2 or not len(vectors) or vectors.shape[1] < 2:
            raise ValueError(f"vectors {tuple(vectors.shape)} have no plane")
        exact = vectors.double()
        mean = exact.mean(0)
        centred = exact - mean
        variances, directions = torch.linalg.eigh(centred.T @ centred)  # ascending
        axes = directions[:, -2:].flip(1).T  # (2, C)
        largest = axes.gather(1, axes.abs().argmax(1, keepdim=True))
        axes = axes * torch.where(largest < 0, -1.0, 1.0)
        total = float(centred.square().sum())
        first, second = (
            float(variance) / total if total > TINY * len(vectors) else 0.0 for variance in variances[-2:].flip(0)
        )
        return cls(mean.float(), axes.float(), (centred @ axes.T).float(), (first, max(0.0, second)))

    def place(self, vectors: Tensor) -> Tensor:
        """Return where vectors, (..., C), lie in the plane, (..., 2)."""
        return (vectors - self.mean) @ self.axes.T


TINY = 1e-10
"""The mean squared distance below which vectors of length 1 differ only by rounding"""


READ_AT_ONCE = 500
"""Sentences tokenised between two reports of `build`"""


class NoSentenceError(ValueError):
    """A text has no sentence. The message is for the user."""

    def __init__(self) -> None:
        super().__init__("There is no sentence in this text: it has no letter, digit or symbol.")


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Index(ShortRepr):
    """A text that can be searched."""

    text: Sentences
    embeddings: Tensor
    """(N, C): of length 1"""
    words: WordIndex
    plane: Plane
    cut: int
    """How many sentences have more tokens than an embedding reads"""

    @property
    def nbytes(self) -> int:
        """Bytes in memory."""
        characters = sum(map(len, self.text.sentences))
        return self.embeddings.nbytes + self.words.nbytes + self.plane.nbytes + 2 * characters + 60 * len(self.text)

    def rank(self, query: str, embedding: Tensor) -> Ranking:
        """Rank all sentences by their cosine with the query's embedding, (C,), and by BM25 with its words."""
        return Ranking.of((self.embeddings @ embedding).clamp(-1, 1), self.words.scores(query))


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Ranking(ShortRepr):
    """All sentences, ranked in two ways. Of equal scores, the first in the text comes first."""

    cosine: Tensor
    """(N,)"""
    bm25: Tensor
    """(N,): 0 where no word is shared"""
    by_meaning: Tensor
    """(N,): sentences, the highest cosine first"""
    by_words: Tensor
    """(N,): sentences, the highest BM25 first"""
    meaning_rank: Tensor
    """(N,): the rank of each sentence by its cosine, from 1"""
    words_rank: Tensor
    """(N,): the rank of each sentence by BM25, from 1; 0 if it shares no word with the query"""

    @classmethod
    def of(cls, cosine: Tensor, bm25: Tensor) -> Ranking:
        """Rank sentences by two scores, (N,) each."""
        by_meaning, by_words = (scores.argsort(descending=True, stable=True) for scores in (cosine, bm25))
        ranks = torch.arange(1, len(cosine) + 1)
        meaning_rank, words_rank = torch.empty_like(ranks), torch.empty_like(ranks)
        meaning_rank[by_meaning], words_rank[by_words] = ranks, ranks
        return cls(cosine, bm25, by_meaning, by_words, meaning_rank, words_rank.masked_fill(bm25 <= 0, 0))


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class TokenSimilarity(ShortRepr):
    """The similarity of the tokens of query and hit in the last hidden state."""

    cosine: Tensor
    """(Tq, Th)"""
    query: tuple[str, ...]
    """(Tq,): labels, including [CLS] and [SEP]"""
    hit: tuple[str, ...]
    """(Th,)"""
    of_sentences: float
    """The cosine of the sentence embeddings: the mean of all dot products of tokens, over the norms of both means"""

    @property
    def nbytes(self) -> int:
        """Bytes in memory."""
        return self.cosine.nbytes + 60 * sum(self.cosine.shape)


def build(model: BuiltInModel, text: Sentences) -> Iterator[int | Index]:
    """Embed all sentences of a text in slices of some hundredths of a second: yields how many are done, then the index.

    The caller may do other work between two slices, or stop. The last two slices, words and plane, take up to half a
    second each for `MOST_SENTENCES`.

    Raises:
        NoSentenceError: the text has no sentence.
    """
    if not len(text):
        raise NoSentenceError
    ids: list[tuple[int, ...]] = []
    for start in range(0, len(text), READ_AT_ONCE):
        ids += token_ids(model, text.sentences[start : start + READ_AT_ONCE])
        yield 0
    embeddings, done = torch.empty(len(text), model.description.width), 0
    for places, embedded in sentence_batches(model, [cut(tokens, SENTENCE_TOKENS) for tokens in ids]):
        embeddings[places] = embedded
        done += len(places)
        yield done
    words = WordIndex(text.sentences)
    yield done
    longer = sum(len(tokens) > SENTENCE_TOKENS for tokens in ids)
    yield Index(text, embeddings, words, Plane.of(embeddings), longer)


def token_similarity(model: BuiltInModel, query: str, hit: str) -> TokenSimilarity:
    """Compare the tokens of two sentences, each cut to the tokens that an embedding reads."""
    hidden = hidden_states(model, [query, hit], max_tokens=SENTENCE_TOKENS)
    unit = [torch.nn.functional.normalize(states, dim=-1) for states in hidden]
    labels = [cut(model.tokenize(text).labels, SENTENCE_TOKENS) for text in (query, hit)]
    of_sentences = float(torch.cosine_similarity(hidden[0].mean(0), hidden[1].mean(0), dim=0))
    return TokenSimilarity((unit[0] @ unit[1].T).clamp(-1, 1), labels[0], labels[1], of_sentences)
