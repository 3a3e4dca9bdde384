"""Search by meaning: BM25 by hand, the plane against numpy, ranking, tokens and exported lines against transformers."""

from __future__ import annotations

import math
import re
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor
from transformers import AutoModel, AutoTokenizer, BertModel

from attnviz.bert.encoding import SENTENCE_TOKENS, embed_sentences
from attnviz.bert.search import (
    K1,
    B,
    Index,
    NoSentenceError,
    Plane,
    Ranking,
    Sentences,
    TokenSimilarity,
    WordIndex,
    build,
    built_in,
    split,
    token_similarity,
    words_of,
)
from attnviz.export.code.bert.uses import search_script
from attnviz.figures.search import LONGEST, MANY, NUMBERED, SHORTEST, plane_map, token_heatmap
from attnviz.figures.style import DARK, LIGHT
from attnviz.pretrained.built_in import BuiltInModel
from attnviz.pretrained.described import find_folder
from attnviz.ui.bert.search import MAP_LINES, RANKING_LINES, TOKENS_LINES, isolated, most_alike
from tests.memory import held
from tests.scripts import FILE, run_alone

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


SENTENCES = [
    "The program crashed.",
    "A dog barks.",
    "It's “raining” <b>cats</b> \\ and dogs!",
    "日本語 🐶",
    "A dog barks.",
]


def test_the_lines_of_torch_give_the_same_numbers(minilm: BuiltInModel) -> None:
    names: dict[str, Any] = {
        "torch": torch, "tokenizer": AutoTokenizer.from_pretrained(find_folder()), "query": QUERY,
        "model": AutoModel.from_pretrained(find_folder()).eval().requires_grad_(False), "sentences": SENTENCES,
        "hit": SENTENCES[0],
    }  # fmt: skip
    for code in (RANKING_LINES, MAP_LINES, TOKENS_LINES.replace("cosine =", "of_tokens =")):
        exec(code, names)
    E = embed_sentences([QUERY, *SENTENCES], model=minilm)  # noqa: N806 — as in the lines
    torch.testing.assert_close(names["E"], E, rtol=0, atol=1e-5)
    torch.testing.assert_close(names["cosine"], E[1:] @ E[0], rtol=0, atol=1e-5)
    assert int(names["ranking"][0]) == 0
    plane = Plane.of(E[1:])
    torch.testing.assert_close(names["kept"], torch.tensor(plane.kept), rtol=0, atol=1e-5)
    places = torch.cat([names["places"], names["of_query"][None]]).abs()  # the sign of a component is free
    torch.testing.assert_close(places, torch.cat([plane.places, plane.place(E[:1])]).abs(), rtol=0, atol=1e-4)
    found = token_similarity(minilm, QUERY, SENTENCES[0])
    torch.testing.assert_close(names["of_tokens"], found.cosine, rtol=0, atol=1e-5)
    assert float(names["score"]) == pytest.approx(found.of_sentences, abs=1e-5)


def test_the_script_prints_the_numbers(minilm: BuiltInModel, tmp_path: Path) -> None:
    file = tmp_path / "search.py"
    file.write_text(search_script(QUERY, SENTENCES, 3), encoding="utf-8")
    assert file.read_text(encoding="utf-8").isascii()
    run = run_alone(FILE, file, cwd=tmp_path)
    assert run.returncode == 0, run.stderr
    E = embed_sentences([QUERY, *SENTENCES], model=minilm)  # noqa: N806
    cosine = E[1:] @ E[0]
    *hits, _, last = run.stdout.strip().split("\n")
    for line, place in zip(hits, cosine.argsort(descending=True, stable=True)[:3].tolist(), strict=True):
        assert line.split(" ", 2)[2] == SENTENCES[place]
        assert float(line.split(" ")[1]) == pytest.approx(float(cosine[place]), abs=1e-4)
    assert [float(one) for one in re.findall(r"\d\.\d+", last)] == pytest.approx(list(Plane.of(E[1:]).kept), abs=1e-4)


def test_the_heatmap_has_the_query_in_its_rows() -> None:
    cosine = torch.tensor([[0.5, -0.25, 1.0], [0.0, 0.125, 0.75]])
    spec = token_heatmap(cosine, ("a", "<b>"), ("c", "c", "d"), LIGHT)
    (cells,) = spec["data"]
    assert cells["z"] == cosine.tolist() and (cells["zmin"], cells["zmax"]) == (-1, 1)
    assert cells["texttemplate"] == "%{text}"
    assert cells["text"] == [["0.50", "−0.25", "1.00"], ["0.00", "0.12", "0.75"]]
    layout = spec["layout"]
    assert layout["xaxis"]["ticktext"] == ["c 0", "c 1", "d 2"] and layout["yaxis"]["ticktext"] == [
        "a 0",
        "&lt;b&gt; 1",
    ]
    assert (layout["yaxis"]["title"]["text"], layout["xaxis"]["title"]["text"]) == (
        "token of the query", "token of the hit"
    )  # fmt: skip
    many = token_heatmap(torch.zeros(2, NUMBERED + 1), ("a", "b"), ("c",) * (NUMBERED + 1), DARK)
    assert "texttemplate" not in many["data"][0]


def test_the_map_has_every_sentence_once_and_the_query() -> None:
    texts = [*SENTENCES, "<i>query</i>"]
    places = torch.arange(12.0).view(6, 2)
    spec = plane_map(texts, places, (0.25, 0.125), [3, 1], 3, LIGHT)
    by_name = {one["name"]: one for one in spec["data"]}
    assert [by_name[name]["customdata"] for name in ("sentences", "best hits", "the hit", "query")] == [
        [0, 2, 4], [1], [3], None
    ]  # fmt: skip
    assert (by_name["the hit"]["x"], by_name["the hit"]["y"]) == ([6], [7])
    assert (by_name["query"]["x"], by_name["query"]["text"]) == ([10], ["&lt;i&gt;query&lt;/i&gt;"])
    assert "&lt;b&gt;cats&lt;/b&gt;" in by_name["sentences"]["text"][1]
    titles = [spec["layout"][axis]["title"]["text"] for axis in ("xaxis", "yaxis")]
    assert titles == ["component 1: 25.0 % of the variance", "component 2: 12.5 % of the variance"]
    assert spec["layout"]["yaxis"]["scaleanchor"] == "x"  # distances are the same in both directions


def test_long_texts_are_short_beside_their_points() -> None:
    for count, limit in ((2, LONGEST), (MANY, SHORTEST)):
        spec = plane_map(["word " * 200] * count + ["query"], torch.zeros(count + 1, 2), (1, 0), [], 0, DARK)
        shown = spec["data"][0]["text"][0]
        assert limit - 10 < len(shown.replace("<br>", " ")) <= limit and shown.endswith("…")


def test_the_most_alike_words_are_different_ones() -> None:
    cosine = torch.tensor([[1.0, 0.9, 0.8, 0.7], [0.9, 0.9, 0.2, 0.5], [0.8, 0.1, 0.6, 0.9], [1.0, 1.0, 1.0, 1.0]])
    labels = ("[CLS]", "the", "dog", "[SEP]")
    found = TokenSimilarity(cosine, labels, ("[CLS]", "the", "cat", "."), 0.5)
    assert most_alike(found) == (2, 2)  # not "the" and "the", and neither "." nor a special token
    assert most_alike(TokenSimilarity(torch.ones(2, 2), ("[CLS]", "[SEP]"), ("[CLS]", "[SEP]"), 1.0)) is None


def test_a_text_from_right_to_left_turns_nothing_around_it() -> None:
    assert isolated("\u202eabc\u2069 שלום") == "\u2068abc שלום\u2069"
