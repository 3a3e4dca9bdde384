"""Search by meaning: BM25 by hand, the plane against numpy, ranking and tokens against transformers."""

from __future__ import annotations

import math
import sys

import numpy as np
import pytest
import torch
from torch import Tensor
from transformers import BertModel

from attnviz.bert.encoding import SENTENCE_TOKENS, embed_sentences
from attnviz.bert.search import (
    K1,
    B,
    Index,
    NoSentenceError,
    Plane,
    Ranking,
    Sentences,
    WordIndex,
    build,
    built_in,
    split,
    token_similarity,
    words_of,
)
from attnviz.pretrained.built_in import BuiltInModel
from tests.memory import held

QUERY = "The software stopped working."


def built(model: BuiltInModel, text: Sentences) -> Index:
    *_, index = build(model, text)
    assert isinstance(index, Index)
    return index


@pytest.fixture(scope="module")
def index(minilm: BuiltInModel) -> Index:
    return built(minilm, built_in())


def mean_of(theirs: BertModel, model: BuiltInModel, text: str) -> Tensor:
    hidden: Tensor = theirs(torch.tensor([model.tokenize(text).ids])).last_hidden_state[0]
    return torch.nn.functional.normalize(hidden.mean(0), dim=0)


def test_bm25_by_hand() -> None:
    """Three sentences of 3, 2 and 4 words: the mean is 3. "cat" is in two of them, "sat" in one, twice."""
    found = WordIndex(["The cat sat.", "A cat!", "sat sat on it"]).scores("cat, sat cat zebra")
    cat = math.log(1 + (3 - 2 + 0.5) / (2 + 0.5))
    sat = math.log(1 + (3 - 2 + 0.5) / (2 + 0.5))

    def part(often: int, words: int) -> float:
        return often / (often + K1 * (1 - B + B * words / 3))

    expected = [2 * cat * part(1, 3) + sat * part(1, 3), 2 * cat * part(1, 2), sat * part(2, 4)]
    torch.testing.assert_close(found, torch.tensor(expected), rtol=0, atol=1e-6)


@pytest.mark.parametrize("query", ["", "zebra", "?!", "\x00"])
def test_bm25_without_a_shared_word_is_0(query: str) -> None:
    assert WordIndex(["The cat sat.", "🐶"]).scores(query).tolist() == [0, 0]
    assert WordIndex(["🐶", "…"]).scores(query).tolist() == [0, 0]
    assert words_of("Über-Größe 3, Ночь") == ["über", "größe", "3", "ночь"]


@pytest.mark.parametrize("shape", [(40, 6), (3, 9), (2, 5)])
def test_the_plane_is_that_of_numpys_singular_values(shape: tuple[int, int]) -> None:
    vectors = torch.randn(*shape, generator=torch.Generator().manual_seed(0)) * torch.arange(1, shape[1] + 1)
    plane = Plane.of(vectors)
    exact = vectors.double().numpy()
    centred = exact - exact.mean(0)
    _, sizes, axes = np.linalg.svd(centred, full_matrices=False)
    kept = sizes**2 / (sizes**2).sum()
    assert plane.kept == pytest.approx(kept[:2].tolist(), abs=1e-9)
    for number in range(2 if shape[0] > 2 else 1):  # two vectors lie on a line
        sign = np.sign(axes[number][np.abs(axes[number]).argmax()])
        np.testing.assert_allclose(plane.axes[number], sign * axes[number], atol=1e-5)
        np.testing.assert_allclose(plane.places[:, number], sign * centred @ axes[number], atol=1e-4)
    assert plane.axes.shape == (2, shape[1])
    torch.testing.assert_close(plane.place(vectors), plane.places, rtol=0, atol=1e-4)


def test_the_plane_of_equal_vectors_keeps_nothing() -> None:
    for count in (1, 7):
        plane = Plane.of(torch.nn.functional.normalize(torch.ones(count, 384), dim=-1))
        assert plane.kept == (0, 0)
        assert float(plane.places.abs().max()) < 1e-6
    with pytest.raises(ValueError, match=r"^vectors \(0, 4\) have no plane$"):
        Plane.of(torch.zeros(0, 4))


def test_the_ranking_is_that_of_transformers(minilm: BuiltInModel, theirs: BertModel, index: Index) -> None:
    found = index.rank(QUERY, embed_sentences([QUERY], model=minilm)[0])
    query = mean_of(theirs, minilm, QUERY)
    expected = torch.stack([query @ mean_of(theirs, minilm, one) for one in built_in().sentences])
    torch.testing.assert_close(found.cosine, expected, rtol=0, atol=1e-5)
    best = built_in().sentences[int(expected.argmax())]
    assert best == built_in().sentences[int(found.by_meaning[0])] == (
        "The program crashed because someone had divided by zero."
    )  # fmt: skip
    assert "working days" in built_in().sentences[int(found.by_words[0])]  # the word, not the meaning


def test_of_equal_scores_the_first_in_the_text_comes_first() -> None:
    found = Ranking.of(torch.tensor([0.5, 0.9, 0.5]), torch.tensor([0.0, 0.0, 2.0]))
    assert found.by_meaning.tolist() == [1, 0, 2] and found.meaning_rank.tolist() == [2, 1, 3]
    assert found.by_words.tolist() == [2, 0, 1] and found.words_rank.tolist() == [0, 0, 1]


def test_tokens_are_compared_as_transformers_has_them(minilm: BuiltInModel, theirs: BertModel) -> None:
    hit = "The program crashed."
    found = token_similarity(minilm, QUERY, hit)
    states = [theirs(torch.tensor([minilm.tokenize(one).ids])).last_hidden_state[0] for one in (QUERY, hit)]
    expected = torch.cosine_similarity(states[0][:, None], states[1][None], dim=-1)
    torch.testing.assert_close(found.cosine, expected, rtol=0, atol=1e-5)
    assert 0 < found.nbytes - held(found) < 100 * (len(found.query) + len(found.hit))
    assert (found.query, found.hit) == (minilm.tokenize(QUERY).labels, minilm.tokenize(hit).labels)
    dots = states[0] @ states[1].T
    means = [float(one.mean(0).norm()) for one in states]
    assert found.of_sentences == pytest.approx(float(dots.mean()) / (means[0] * means[1]), abs=1e-5)
    assert found.of_sentences == pytest.approx(float(torch.dot(*embed_sentences([QUERY, hit], model=minilm))), abs=1e-5)


def test_long_sentences_are_compared_as_far_as_they_are_read(minilm: BuiltInModel) -> None:
    found = token_similarity(minilm, "one " * 600, "")
    assert found.cosine.shape == (SENTENCE_TOKENS, 2)
    assert (len(found.query), found.query[-1], found.hit) == (SENTENCE_TOKENS, "[SEP]", ("[CLS]", "[SEP]"))


def test_an_index_is_built_in_slices_and_says_what_it_cut(minilm: BuiltInModel) -> None:
    text = split("今" * 900 + "\n" + "\n".join(f"Number {n}." for n in range(70)))
    *slices, index = build(minilm, text)
    assert isinstance(index, Index) and index.cut == 1
    counts = [one for one in slices if isinstance(one, int)]
    assert counts == sorted(counts) and counts[0] == 0 and counts[-1] == 71 and len(counts) > 3
    torch.testing.assert_close(index.embeddings, embed_sentences(text.sentences, model=minilm), rtol=0, atol=1e-5)
    assert index.plane.nbytes == held(index.plane)
    of_text = index.nbytes - held(index) - index.words.nbytes
    assert of_text == pytest.approx(sum(map(sys.getsizeof, text.sentences)), rel=0.3)
    assert index.words.nbytes > 72 * 2 * sys.getsizeof("word")  # 72 different ones, in two dictionaries


def test_a_text_of_one_sentence_and_of_none(minilm: BuiltInModel) -> None:
    index = built(minilm, split("Hello"))
    assert index.plane.kept == (0, 0) and index.rank("x", index.embeddings[0]).meaning_rank.tolist() == [1]
    with pytest.raises(NoSentenceError):
        next(build(minilm, split(" … ")))
