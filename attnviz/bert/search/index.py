"""What a text is searched in: its sentences with their embeddings, their words and their plane; and the ranking.

Shapes: N sentences, C model width, Tq and Th tokens of the query and of the hit.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import torch
from torch import Tensor

from attnviz.bert.encoding import SENTENCE_TOKENS, hidden_states, sentence_batches, token_ids
from attnviz.bert.search.plane import Plane
from attnviz.bert.search.sentences import Sentences
from attnviz.bert.search.words import Words
from attnviz.pretrained.built_in import BuiltInModel
from attnviz.reprs import ShortRepr

READ_AT_ONCE = 500
"""Sentences that are tokenised between two reports of `build`"""


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
    words: Words
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
    """(N,): the rank of each by BM25, from 1; 0 if it shares no word with the query"""

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
    """How alike the tokens of query and hit are in the last hidden state."""

    cosine: Tensor
    """(Tq, Th)"""
    query: tuple[str, ...]
    """(Tq,): labels, [CLS] and [SEP] among them"""
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

    Whoever computes it may do other work between two slices, or stop. The last two slices, words and plane, take up
    to half a second each where there are `MOST_SENTENCES`.

    Raises:
        NoSentenceError: there is none.
    """
    if not len(text):
        raise NoSentenceError
    ids: list[tuple[int, ...]] = []
    for start in range(0, len(text), READ_AT_ONCE):
        ids += token_ids(model, text.sentences[start : start + READ_AT_ONCE])
        yield 0
    cut = sum(len(one) > SENTENCE_TOKENS for one in ids)
    read = [one if len(one) <= SENTENCE_TOKENS else (*one[: SENTENCE_TOKENS - 1], one[-1]) for one in ids]
    embeddings, done = torch.empty(len(text), model.description.width), 0
    for places, embedded in sentence_batches(model, read):
        embeddings[places] = embedded
        done += len(places)
        yield done
    words = Words(text.sentences)
    yield done
    yield Index(text, embeddings, words, Plane.of(embeddings), cut)


def token_similarity(model: BuiltInModel, query: str, hit: str) -> TokenSimilarity:
    """Compare the tokens of two sentences, as far as an embedding reads them."""
    hidden = hidden_states(model, [query, hit], max_tokens=SENTENCE_TOKENS)
    unit = [torch.nn.functional.normalize(one, dim=-1) for one in hidden]
    labels = [_labels(model, text, len(one)) for text, one in zip((query, hit), hidden, strict=True)]
    of_sentences = float(torch.cosine_similarity(hidden[0].mean(0), hidden[1].mean(0), dim=0))
    return TokenSimilarity((unit[0] @ unit[1].T).clamp(-1, 1), labels[0], labels[1], of_sentences)


def _labels(model: BuiltInModel, text: str, count: int) -> tuple[str, ...]:
    labels = model.tokenize(text).labels
    return labels if len(labels) == count else (*labels[: count - 1], labels[-1])
