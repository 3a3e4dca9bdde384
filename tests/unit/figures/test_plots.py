"""The small plots beside the walk: their room, their labels, their colours; and numbers that are never rounded away."""

from __future__ import annotations

import pytest
import torch

from attnviz.figures.plots import LEGEND, NUMBERS, WORDS, heatmap, lines
from attnviz.figures.style import LIGHT
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
