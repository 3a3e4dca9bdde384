"""Plots of the search by meaning: cells of tokens, and points of sentences with what they say."""

from __future__ import annotations

import plotly.graph_objects as go
import pytest
import torch

from attnviz.figures.search import LONGEST, MANY, SHORTEST, plane_map, token_heatmap
from attnviz.figures.style import LIGHT


@pytest.mark.parametrize(("hit", "numbered"), [(16, True), (17, False)])
def test_up_to_16_tokens_have_their_cosines_in_the_cells(hit: int, numbered: bool) -> None:
    cosine = torch.linspace(-0.5, 0.5, 3 * hit).view(3, hit)
    spec = token_heatmap(cosine, ["the", "<b>", "the"], ["x"] * hit, LIGHT)
    go.Figure(spec)
    (cells,) = spec["data"]
    assert torch.equal(torch.tensor(cells["z"]), cosine)
    assert (cells["zmin"], cells["zmax"]) == (-1, 1)
    assert ("texttemplate" in cells) == numbered
    layout = spec["layout"]
    assert layout["yaxis"]["ticktext"] == ["the 0", "&lt;b&gt; 1", "the 2"]
    assert layout["xaxis"]["ticktext"][-1] == f"x {hit - 1}"
    assert (layout["yaxis"]["title"]["text"], layout["xaxis"]["title"]["text"]) == (
        "token of the query", "token of the hit",
    )  # fmt: skip


def test_cells_with_numbers_have_room_for_them_and_more_in_a_lecture() -> None:
    labels, cosine = ["a"] * 12, torch.ones(12, 12)
    usual, large = (
        token_heatmap(cosine, labels, labels, LIGHT, is_large=one)["layout"]["height"] for one in (False, True)
    )
    assert usual >= 12 * 28
    assert large == usual + 12 * 6


def test_each_sentence_is_one_point_and_the_hit_is_no_hit_twice() -> None:
    places = torch.tensor([[0.0, 1], [2, 3], [4, 5], [6, 7], [8, 9]])
    texts = ["zero", "one", "two", "three", "the query"]
    spec = plane_map(texts, places, (0.25, 0.125), [2, 0], 2, LIGHT)
    go.Figure(spec)
    found = {one["name"]: one for one in spec["data"]}
    assert {name: one["customdata"] for name, one in found.items()} == {
        "sentences": [1, 3], "best hits": [0], "the hit": [2], "query": None,
    }  # fmt: skip
    assert (found["sentences"]["x"], found["sentences"]["y"]) == ([2, 6], [3, 7])
    assert (found["query"]["x"], found["query"]["text"]) == ([8], ["the query"])
    assert found["best hits"]["text"] == ["zero"]
    layout = spec["layout"]
    assert layout["xaxis"]["title"]["text"] == "component 1: 25.0 % of the variance"
    assert layout["yaxis"]["title"]["text"] == "component 2: 12.5 % of the variance"
    large = plane_map(texts, places, (0.25, 0.125), [2, 0], 2, LIGHT, is_large=True)
    assert large["layout"]["height"] > layout["height"]
    for usual, grown in zip(spec["data"], large["data"], strict=True):
        assert grown["marker"]["size"] == usual["marker"]["size"] + 3
    assert [one["name"] for one in plane_map(texts[3:], places[3:], (1, 0), [0], 0, LIGHT)["data"]] == [
        "the hit", "query",
    ]  # fmt: skip


@pytest.mark.parametrize(("sentences", "longest"), [(MANY - 1, LONGEST), (MANY, SHORTEST)])
def test_the_texts_of_many_points_are_short(sentences: int, longest: int) -> None:
    """The query counts as a point."""
    texts = ["a" * longest, "b" * (longest + 1), *["<c> d"] * (sentences - 2), "query"]
    spec = plane_map(texts, torch.zeros(len(texts), 2), (0.5, 0.5), [2], 2, LIGHT)
    shown = spec["data"][0]["text"]
    assert shown[0].replace("<br>", "") == "a" * longest
    assert shown[1].replace("<br>", "") == "b" * (longest - 1) + "…"
    assert max(map(len, shown[0].split("<br>"))) == 50
    assert shown[2] == "&lt;c&gt; d"
