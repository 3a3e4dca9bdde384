"""The small plots beside the walk and of a corpus: their room, labels and colours; and numbers never rounded away."""

from __future__ import annotations

import math

import numpy as np
import plotly.graph_objects as go
import pytest
import torch

from attnviz.figures.corpus import by_part, distribution, positions
from attnviz.figures.plots import LEGEND, NUMBERS, WORDS, heatmap, labelled, lines
from attnviz.figures.style import DARK, LIGHT
from attnviz.formatting import nonzero


@pytest.mark.parametrize(
    ("value", "digits", "text"),
    [
        (0.0, 3, "0"),
        (-0.0, 3, "0"),
        (7.15e-7, 3, "7.15e−7"),
        (-7.15e-17, 2, "−7.15e−17"),
        (0.0004999, 3, "5.00e−4"),
        (0.0005001, 3, "0.001"),
        (-1.25, 1, "−1.2"),
        (12.5, 0, "12"),
    ],
)
def test_a_number_is_not_rounded_to_nothing(value: float, digits: int, text: str) -> None:
    assert nonzero(value, digits) == text


def test_a_plot_has_room_for_its_legend_and_for_labels_that_are_turned() -> None:
    one = lines({"a": [1.0, 2.0]}, ["x", "y"], LIGHT, title="", across="")["layout"]
    two = lines({"a": [1.0, 2.0], "b": [2.0, 1.0]}, ["x", "y"], LIGHT, title="", across="")["layout"]
    long = lines({"a": [1.0, 2.0]}, ["x" * 99, "y"], LIGHT, title="", across="")["layout"]
    assert two["height"] == one["height"] + 2 * LEGEND
    assert two["showlegend"] and not one["showlegend"]
    assert one["height"] < long["height"] < one["height"] + 200
    last = lines({"a": [1.0, 2.0]}, ["x", "y" * 99], LIGHT, title="", across="")["layout"]
    assert one["margin"]["r"] == long["margin"]["r"] < last["margin"]["r"] < 100
    many = ["x"] * 20
    before_last = lines({"a": [1.0] * 22}, [*many, "y" * 99, "z"], LIGHT, title="", across="")["layout"]
    assert long["margin"]["r"] < before_last["margin"]["r"] < last["margin"]["r"]


def test_many_columns_have_few_labels() -> None:
    for labels, most in (([str(n) for n in range(384)], NUMBERS), ([f"{n} word" for n in range(384)], WORDS)):
        axis = heatmap(torch.ones(2, 384), ["a", "b"], labels, LIGHT, across="")["layout"]["xaxis"]
        assert most / 2 <= len(axis["tickvals"]) <= most
        assert axis["ticktext"] == [labels[place] for place in axis["tickvals"]]


def test_two_matrices_can_have_the_same_colours() -> None:
    shown = heatmap(torch.ones(2, 2), ["a", "b"], ["c", "d"], LIGHT, across="", limit=3.0)["data"][0]
    assert (shown["zmin"], shown["zmax"]) == (-3.0, 3.0)


@pytest.mark.parametrize(("highest", "is_flat"), [(0.0, True), (9e-7, True), (2e-5, False), (3.0, False)])
def test_the_rounding_of_float32_does_not_look_like_a_result(highest: float, is_flat: bool) -> None:
    """`highest` is a number among smaller ones; numbers are drawn as they are either way."""
    series = {"one": [0.0, highest, highest / 2], "other": [0.0, 0.0, 0.0]}
    made = lines(series, ["a", "b", "c"], LIGHT, title="change", across="token")
    assert made["data"][0]["y"] == series["one"]
    shown = made["layout"]["yaxis"].get("range")
    assert shown is None if not is_flat else shown[1] >= 1000 * highest


@pytest.mark.parametrize(
    ("labels", "places"),
    [
        ([str(n) for n in range(12)], range(12)),
        ([str(n) for n in range(13)], range(0, 13, 2)),
        ([str(n) for n in range(49)], range(0, 49, 8)),
        ([f"w{n}" for n in range(40)], range(40)),
        ([f"w{n}" for n in range(41)], range(0, 41, 2)),
        ([*map(str, range(12)), "x"], range(13)),  # one word is enough
    ],
)
def test_an_axis_has_all_labels_or_every_second_fourth_or_eighth(labels: list[str], places: range) -> None:
    axis = labelled(labels, "title", LIGHT)
    assert (axis["tickvals"], axis["ticktext"]) == (list(places), [labels[place] for place in places])
    assert axis["title"]["text"] == "title"
    assert labelled(["a" * 28, "a" * 29], "", LIGHT)["ticktext"] == ["a" * 28, "a" * 14 + "…" + "a" * 13]


@pytest.mark.parametrize(("signed", "low", "high"), [(True, -4, 4), (False, 0, 4)])
def test_colours_of_a_heatmap_end_at_its_largest_magnitude(signed: bool, low: float, high: float) -> None:
    for palette in (LIGHT, DARK):
        spec = heatmap(torch.tensor([[1.0, -4], [3, 0]]), ["a", "b"], ["c", "d"], palette, across="to", signed=signed)
        go.Figure(spec)
        (cells,) = spec["data"]
        assert (cells["z"], cells["zmin"], cells["zmax"]) == ([[1, -4], [3, 0]], low, high)
        assert cells["colorscale"] == (palette.signed if signed else palette.weights)
    assert spec["layout"]["xaxis"]["title"]["text"] == "to"
    assert spec["layout"]["xaxis"]["ticktext"] == ["c", "d"]
    assert (spec["layout"]["yaxis"]["ticktext"], spec["layout"]["yaxis"]["autorange"]) == (["a", "b"], "reversed")
    nothing = heatmap(torch.zeros(1, 2), ["a"], ["c", "d"], LIGHT, across="", signed=signed)["data"][0]
    assert (nothing["zmin"], nothing["zmax"]) == (-1 if signed else 0, 1)


def test_a_heatmap_grows_with_its_rows_within_bounds() -> None:
    heights = [
        heatmap(torch.ones(n, 1), ["a"] * n, ["b"], LIGHT, across="")["layout"]["height"] for n in (1, 8, 20, 21, 99)
    ]
    assert heights[0] == heights[1]
    assert heights[3] - heights[2] == 17
    assert heights[4] - heights[0] == 640 - 220
    turned = heatmap(torch.ones(1, 1), ["a"], ["b" * 99], LIGHT, across="")["layout"]["height"]
    assert turned - heights[0] == 6 * (28 - 1)


def test_lines_over_labels_have_points_and_lines_over_lengths_have_both_axes_logarithmic() -> None:
    series = {"one": [1.0, 2.0, 4.0], "<other>": [3.0, 2.0, 1.0]}
    labels = lines(series, ["a", "b", "c"], LIGHT, title="change", across="token")
    lengths = lines(series, [16, 64, 256], LIGHT, title="seconds", across="tokens", is_logarithmic=True, marked=64)
    for spec in (labels, lengths):
        go.Figure(spec)
        assert [one["y"] for one in spec["data"]] == [*series.values()]
        assert len({(one["line"]["color"], one["line"]["dash"]) for one in spec["data"]}) == 2
        assert "&lt;other&gt;" in spec["data"][1]["hovertemplate"]
    assert [one["x"] for one in labels["data"]] == [[0, 1, 2]] * 2
    assert [one["x"] for one in lengths["data"]] == [[16, 64, 256]] * 2
    assert ({one["mode"] for one in labels["data"]}, {one["mode"] for one in lengths["data"]}) == (
        {"lines+markers"}, {"lines"},
    )  # fmt: skip
    axes = [(spec["layout"]["xaxis"].get("type"), spec["layout"]["yaxis"].get("type")) for spec in (labels, lengths)]
    assert axes == [(None, None), ("log", "log")]
    assert labels["layout"]["xaxis"]["ticktext"] == ["a", "b", "c"]
    assert "shapes" not in labels["layout"]
    (mark,) = lengths["layout"]["shapes"]
    assert (mark["x0"], mark["x1"], mark["y0"], mark["y1"], mark["yref"]) == (64, 64, 0, 1, "paper")
    assert [one["layout"]["yaxis"]["title"]["text"] for one in (labels, lengths)] == ["change", "seconds"]
    assert lengths["layout"]["margin"]["r"] == lines({}, [], LIGHT, title="", across="")["layout"]["margin"]["r"]


def test_thirty_lines_look_different() -> None:
    spec = lines({str(n): [1.0] for n in range(30)}, ["a"], LIGHT, title="", across="")
    assert len({(one["line"]["color"], one["line"]["dash"]) for one in spec["data"]}) == 30


def test_numbers_just_below_and_above_rounding() -> None:
    for number, is_flat in ((9.9e-6, True), (-9.9e-6, True), (1e-5, False), (-1e-5, False)):
        axis = lines({"a": [number], "b": [0.0]}, ["x"], LIGHT, title="", across="")["layout"]["yaxis"]
        assert ("range" in axis) == is_flat
        if is_flat:
            assert axis["range"][0] < 0 < axis["range"][1]
            assert math.isclose(axis["range"][1], 0.01)


def test_a_distribution_has_all_sentences_and_this_text() -> None:
    counts, edges = [0, 5, 0, 7, 0, 0], [0, 0.1, 0.3, 0.4, 0.6, 0.9, 1]
    spec = distribution(counts, edges, LIGHT, title="x", here=0.95)
    (bars,) = spec["data"]
    assert sum(bars["y"]) == 12 and bars["customdata"][0] == [0.1, 0.3] and bars["customdata"][-1] == [0.4, 0.6]
    low, high = spec["layout"]["xaxis"]["range"]
    assert low < 0.1 and high > 0.95
    assert spec["layout"]["shapes"][0]["x0"] == 0.95
    assert "shapes" not in distribution(counts, edges, LIGHT, title="x", here=None)["layout"]
    assert sum(distribution([0, 0], [0, 1, 2], LIGHT, title="x", here=None)["data"][0]["y"]) == 0


def test_positions_and_parts() -> None:
    (bars,) = positions([0.1, 0.2, 0.3], (-1, 0, 1), LIGHT)["data"]
    assert bars["customdata"] == [
        ["1 token before", "0.1000"], ["the token itself", "0.2000"], ["1 token after", "0.3000"],
    ]  # fmt: skip
    (cells,) = by_part(np.array([[0.25, 0.75], [np.nan, 4e-5]]), ["special", "other"], LIGHT)["data"]
    assert cells["z"] == [[0.25, 0.75], [0.0, 0.0]]
    assert cells["text"] == [["0.25", "0.75"], ["0.00", "0.00"]]
    assert cells["customdata"] == [["0.2500", "0.7500"], ["0.0000", "< 0.0001"]]


@pytest.mark.parametrize(("here", "low", "high"), [(None, 0.1, 0.6), (0.5, 0.1, 0.6), (0.0, 0, 0.6), (2.1, 0.1, 2.1)])
def test_bins_stand_at_their_middles_and_the_axis_goes_on_a_little(here: float | None, low: float, high: float) -> None:
    counts, edges = [0, 5, 0, 7, 0, 0], [0, 0.1, 0.3, 0.4, 0.6, 0.9, 1]
    spec = distribution(counts, edges, LIGHT, title="entropy", here=here)
    go.Figure(spec)
    (bars,) = spec["data"]
    assert bars["x"] == pytest.approx([0.2, 0.35, 0.5])
    assert bars["width"] == pytest.approx([0.2, 0.1, 0.2])
    assert (bars["y"], spec["layout"]["xaxis"]["title"]["text"]) == ([5, 0, 7], "entropy")
    room = 0.02 * (high - low)
    assert spec["layout"]["xaxis"]["range"] == pytest.approx([low - room, high + room])
    if here is None:
        assert "annotations" not in spec["layout"]
    else:
        (mark,), (text,) = spec["layout"]["shapes"], spec["layout"]["annotations"]
        assert (mark["x0"], mark["x1"], mark["y0"], mark["y1"]) == (here, here, 0, 1)
        assert (text["x"], text["y"], text["text"]) == (here, 1, "this text")


def test_an_empty_distribution_has_all_its_bins() -> None:
    (bars,) = distribution([0, 0], [0, 1, 3], LIGHT, title="", here=None)["data"]
    assert bars["customdata"] == [[0, 1], [1, 3]]


def test_positions_stand_at_their_offsets() -> None:
    spec = positions([0.1, 4e-5, 0.3, 0.4], (-2, -1, 0, 2), LIGHT)
    go.Figure(spec)
    (bars,) = spec["data"]
    assert (bars["x"], bars["y"]) == ([-2, -1, 0, 2], [0.1, 4e-5, 0.3, 0.4])
    assert bars["customdata"] == [
        ["2 tokens before", "0.1000"], ["1 token before", "< 0.0001"], ["the token itself", "0.3000"],
        ["2 tokens after", "0.4000"],
    ]  # fmt: skip
    across = spec["layout"]["xaxis"]
    assert across["title"]["text"] == "tokens before (left) or after (right) the query"
    assert across["ticktext"] == [str(abs(at)) for at in across["tickvals"]] and 0 in across["tickvals"]


def test_parts_go_from_rows_to_columns_from_0_to_1() -> None:
    spec = by_part(np.array([[0.25, 0.75], [0.12346, np.nan]]), ["special", "other"], LIGHT)
    go.Figure(spec)
    (cells,) = spec["data"]
    assert (cells["z"], cells["zmin"], cells["zmax"]) == ([[0.25, 0.75], [0.1235, 0.0]], 0, 1)
    x, y = spec["layout"]["xaxis"], spec["layout"]["yaxis"]
    assert (x["title"]["text"], y["title"]["text"], y["autorange"]) == ("key (to)", "query (from)", "reversed")
    assert x["ticktext"] == y["ticktext"] == ["special", "other"]
