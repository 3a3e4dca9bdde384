"""Figures of a classifier: every number stands where it belongs, in percent or in nats, in both themes."""

from __future__ import annotations

from typing import Any

import numpy as np
import plotly.graph_objects as go
import pytest

from attnviz.figures.classification import confusion, coverage, effects, looks, losses, seeds
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


@pytest.mark.parametrize(("words", "written", "angle"), [(8, 8, 0), (9, 9, -60), (24, 24, -60), (25, 13, -60)])
def test_up_to_24_words_are_written_and_more_than_8_are_turned(words: int, written: int, angle: int) -> None:
    labels = [f"word{n}" for n in range(words)]
    spec = effects([0.1] * words, labels, LIGHT)
    x, _ = axes(spec)
    assert (len(x["ticktext"]), x["tickangle"]) == (written, angle)
    assert x["ticktext"] == [labels[place] for place in x["tickvals"]]
    room = spec["layout"]["height"] - effects([0.1], ["a"], LIGHT)["layout"]["height"]
    assert room == (0 if words == 8 else 6 * len(labels[-1]) - 20)


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
    assert (error["name"], error["y"]) == ("error", [25, 12.5, None])
    (mark,) = spec["layout"]["shapes"]
    assert [mark[one] for one in ("x0", "x1", "y0", "y1", "yref")] == [0.5, 0.5, 0, 1, "paper"]
    assert x["range"] == [0, 1]
    assert y["range"][0] == 0
    assert 100 < y["range"][1] < 110
