"""What is shown of a search and exported: figures, and the lines of torch, which give the same numbers."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import torch
from transformers import AutoModel, AutoTokenizer

from attnviz.bert.encoding import embed_sentences
from attnviz.bert.search import Plane, TokenSimilarity, token_similarity
from attnviz.export.code.bert.uses import search_script
from attnviz.figures.search import LONGEST, MANY, NUMBERED, SHORTEST, plane_map, token_heatmap
from attnviz.figures.style import DARK, LIGHT
from attnviz.pretrained.built_in import BuiltInModel
from attnviz.pretrained.described import find_folder
from attnviz.ui.bert.search.views import MAP_LINES, RANKING_LINES, TOKENS_LINES, isolated, most_alike
from tests.scripts import FILE, run_alone

QUERY = "The software stopped working."
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
