"""Figures of the parts of BERT: every number stands where it belongs, in percent or in nats, in both themes."""

from __future__ import annotations

from typing import Any

import numpy as np
import plotly.graph_objects as go
import pytest
import torch

from attnviz.figures.ablation import LEAST, against
from attnviz.figures.classification import confusion, coverage, effects, looks, losses, seeds
from attnviz.figures.search import LONGEST, MANY, SHORTEST, plane_map, token_heatmap
from attnviz.figures.style import DARK, LIGHT, Palette

PALETTES = pytest.mark.parametrize("palette", [LIGHT, DARK], ids=["light", "dark"])


def axes(spec: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    go.Figure(spec)  # Plotly checks every name and value
    return spec["layout"]["xaxis"], spec["layout"]["yaxis"]


def test_losses_are_over_their_steps() -> None:
    steps, training = np.float32([1, 2, 3]), np.float32([0.9, 0.7, 0.6])
    spec = losses(steps, training, np.float32([[0, 0.8], [3, 0.5]]), LIGHT)
    x, y = axes(spec)
    assert {one["name"]: (list(one["x"]), list(one["y"])) for one in spec["data"]} == {
        "training": (list(steps), list(training)),
        "held out": ([0, 3], list(np.float32([0.8, 0.5]))),
    }
    assert (x["title"]["text"], y["title"]["text"], y["rangemode"]) == ("step", "loss in nats", "tozero")


@PALETTES
def test_a_confusion_has_classes_in_rows_from_the_top_and_its_darkest_cell_is_the_largest(palette: Palette) -> None:
    spec = confusion(np.array([[5, 2], [0, 9]]), ["up", "down"], palette)
    x, y = axes(spec)
    (cells,) = spec["data"]
    assert (cells["z"], cells["zmin"], cells["zmax"]) == ([[5, 2], [0, 9]], 0, 9)
    assert cells["colorscale"] == palette.weights
    assert (cells["texttemplate"], cells["showscale"]) == ("%{z}", False)  # its cells have their numbers
    assert (x["title"]["text"], y["title"]["text"], y["autorange"]) == ("predicted", "is", "reversed")
    assert x["ticktext"] == y["ticktext"] == ["up", "down"]
    assert confusion(np.zeros((2, 2), int), ["a", "b"], palette)["data"][0]["zmax"] == 1
    heights = [confusion(np.eye(n, dtype=int), ["x"] * n, palette)["layout"]["height"] for n in (2, 10)]
    assert heights[1] > 10 * 50 > heights[0]


@PALETTES
def test_each_seed_is_a_point_in_percent_and_the_mean_a_line_in_its_row(palette: Palette) -> None:
    spec = seeds({"own": [0.5, 0.75], "<other>": [0.9, 0.6]}, ["seed 0", "seed 1"], palette)
    assert [one["customdata"] for one in spec["data"]] == [["50.0 %", "75.0 %"], ["90.0 %", "60.0 %"]]
    _, y = axes(spec)
    own, other = spec["data"]
    assert (own["x"], own["y"], own["text"]) == ([50, 75], [0, 0], ["seed 0", "seed 1"])
    assert (other["x"], other["y"]) == ([90, 60], [1, 1])
    assert (own["marker"]["color"], other["marker"]["color"]) == (palette.ink.attention, palette.ink.key)
    means = [(one["x0"], one["x1"], (one["y0"] + one["y1"]) / 2) for one in spec["layout"]["shapes"]]
    assert means == [pytest.approx((62.5, 62.5, 0)), pytest.approx((75, 75, 1))]
    assert all(0.2 < one["y1"] - one["y0"] < 1 for one in spec["layout"]["shapes"])
    assert (y["ticktext"], y["range"]) == (["own", "&lt;other&gt;"], [1.5, -0.5])


@PALETTES
def test_effects_are_in_percentage_points_and_their_sign_has_a_colour(palette: Palette) -> None:
    spec = effects([0.25, -0.5, 0.0], ["<a>", "b", "c"], palette)
    x, y = axes(spec)
    (bars,) = spec["data"]
    assert (bars["x"], bars["y"], bars["customdata"]) == ([0, 1, 2], [25, -50, 0], ["&lt;a&gt;", "b", "c"])
    against, for_it = palette.signed[0][1], palette.signed[-1][1]
    assert bars["marker"]["color"] == [for_it, against, for_it]
    low, high = y["range"]
    assert low == -high
    assert 50 < high < 60
    assert x["ticktext"] == ["&lt;a&gt;", "b", "c"]
    assert axes(effects([0.0], ["a"], palette))[1]["range"] == pytest.approx([-1.1, 1.1])
    axes(effects([], [], palette))


@pytest.mark.parametrize(("words", "written"), [(8, 8), (24, 24), (25, 13)])
def test_up_to_24_words_are_written_and_turned_where_they_have_no_room(words: int, written: int) -> None:
    labels = [f"word{n}" for n in range(words)]
    spec = effects([0.1] * words, labels, LIGHT)
    x, _ = axes(spec)
    assert (len(x["ticktext"]), x["autotickangles"]) == (written, [0, -60])
    assert x["ticktext"] == [labels[place] for place in x["tickvals"]]
    longer = effects([0.1] * words, [f"{label}s" for label in labels], LIGHT)
    assert longer["layout"]["height"] > spec["layout"]["height"]


def test_a_chosen_head_stands_beside_the_mean() -> None:
    spec = looks([0.25, 0.75], [0.5, 0.125], ["<a>", "b"], LIGHT)
    axes(spec)
    mean, head = spec["data"]
    assert (mean["type"], mean["y"], head["type"], head["y"]) == ("bar", [0.25, 0.75], "scatter", [0.5, 0.125])
    assert mean["customdata"] == head["customdata"] == ["&lt;a&gt;", "b"]
    assert mean["x"] == head["x"] == [0, 1]
    assert spec["layout"]["showlegend"]
    alone = looks([0.25, 0.75], None, ["a", "b"], LIGHT)
    assert len(alone["data"]) == 1
    assert not alone["layout"]["showlegend"]


def test_coverage_and_error_are_in_percent_with_a_gap_where_nothing_is_covered() -> None:
    spec = coverage(np.array([0, 0.5, 1]), np.array([1, 0.75, 0]), np.array([0.25, 0.125, np.nan]), 0.5, LIGHT)
    x, y = axes(spec)
    covered, error = spec["data"]
    assert (covered["name"], covered["y"], list(covered["x"])) == ("coverage", [100, 75, 0], [0, 0.5, 1])
    assert (error["name"], error["y"], error["customdata"][:2]) == ("error", [25, 12.5, None], ["25.0 %", "12.5 %"])
    (mark,) = spec["layout"]["shapes"]
    assert [mark[one] for one in ("x0", "x1", "y0", "y1", "yref")] == [0.5, 0.5, 0, 1, "paper"]
    assert x["range"] == [0, 1]
    assert y["range"][0] == 0
    assert 100 < y["range"][1] < 110


def test_every_head_is_a_point_and_those_that_are_off_are_named() -> None:
    measure, effect = torch.rand(2, 72, generator=torch.Generator().manual_seed(0)).tolist()
    effect[0] = 0.0
    spec = against(measure, effect, ((0, 0), (5, 11)), LIGHT, title="entropy", heads=12)
    others, last, off = spec["data"]
    assert [len(one["x"]) for one in (others, last, off)] == [59, 11, 2]
    found = {
        tuple(place): (x, y)
        for one in spec["data"]
        for place, x, y in zip(one["customdata"], one["x"], one["y"], strict=True)
    }
    assert found == {divmod(n, 12): (measure[n], max(effect[n], LEAST)) for n in range(72)}
    assert off["text"] == ["0 · 0", "5 · 11"]
    assert {place[0] for place in last["customdata"]} == {5}
    assert "text" not in against(measure, effect, [(0, n) for n in range(7)], LIGHT, title="", heads=12)["data"][2]


def test_heads_of_the_last_layer_are_filled_and_up_to_six_that_are_off_are_named() -> None:
    spec = against([0.5] * 6, [0.25, 0.5, 0.75] * 2, ((0, 2),), LIGHT, title="entropy", heads=3, height=99)
    go.Figure(spec)
    others, last, off = spec["data"]
    assert [one["name"] for one in spec["data"]] == ["other layers", "layer 1", "switched off"]
    assert [one["marker"]["symbol"] for one in spec["data"]] == ["circle-open", "circle", "x"]
    assert (others["customdata"], last["customdata"], off["customdata"]) == (
        [[0, 0], [0, 1]], [[1, 0], [1, 1], [1, 2]], [[0, 2]],
    )  # fmt: skip
    assert (others["y"], off["y"]) == ([0.25, 0.5], [0.75])
    layout = spec["layout"]
    assert (layout["xaxis"]["title"]["text"], layout["yaxis"]["title"]["text"]) == ("entropy", "1 − cosine")
    assert (layout["yaxis"]["type"], layout["height"]) == ("log", 99)
    six = against([0.0] * 8, [0.0] * 8, [(0, n) for n in range(6)], LIGHT, title="", heads=8)["data"]
    assert six[2]["text"] == [f"0 · {n}" for n in range(6)]
    assert six[1]["y"] == [LEAST] * 2


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
