"""Plots of a head over a corpus: the right number in the right place."""

from __future__ import annotations

import numpy as np
import plotly.graph_objects as go
import pytest

from attnviz.figures.corpus import by_part, distribution, positions
from attnviz.figures.style import LIGHT


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


def test_parts_go_from_rows_to_columns_from_0_to_1() -> None:
    spec = by_part(np.array([[0.25, 0.75], [0.12346, np.nan]]), ["special", "other"], LIGHT)
    go.Figure(spec)
    (cells,) = spec["data"]
    assert (cells["z"], cells["zmin"], cells["zmax"]) == ([[0.25, 0.75], [0.1235, 0.0]], 0, 1)
    x, y = spec["layout"]["xaxis"], spec["layout"]["yaxis"]
    assert (x["title"]["text"], y["title"]["text"], y["autorange"]) == ("key (to)", "query (from)", "reversed")
    assert x["ticktext"] == y["ticktext"] == ["special", "other"]
