"""Plots of heads over a corpus: the right number in the right cell."""

from __future__ import annotations

import numpy as np

from attnviz.figures.corpus import NEAR, by_part, distribution, pictures, positions
from attnviz.figures.style import LIGHT

OFFSETS = tuple(range(-16, 17))


def test_the_picture_of_each_head_has_the_mean_weight_at_each_distance() -> None:
    means = np.random.default_rng(0).random((3, 4, len(OFFSETS)))
    spec = pictures(means, OFFSETS, LIGHT, chosen=(1, 2), said={(1, 2): "<br>one"})
    picture, targets = spec["data"]
    side = NEAR + 1
    cells = np.array(picture["z"], float)
    assert cells.shape == (3 * (side + 1), 4 * (side + 1))
    for layer, head, query, key in ((0, 0, 0, 0), (2, 3, 8, 0), (1, 2, 3, 7), (2, 0, 0, 8)):
        cell = cells[layer * (side + 1) + query, head * (side + 1) + key]
        assert abs(cell - means[layer, head, OFFSETS.index(key - query)]) < 1e-4
    assert np.isnan(cells[side]).all() and np.isnan(cells[:, side]).all()  # between the heads
    # A head's cells stand around its number, within half of it.
    for axis in (picture["x"], picture["y"]):
        first, last = axis[0], axis[side - 1]
        assert -0.5 < first < last < 0.5 and abs(first + last) < 1e-9
    assert targets["customdata"] == [[1, 2]]
    frame = spec["layout"]["shapes"][-1]
    assert frame["x0"] < 2 < frame["x1"] and frame["y0"] < 1 < frame["y1"]


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
    assert bars["customdata"] == ["1 token before", "the token itself", "1 token after"]
    (cells,) = by_part(np.array([[0.25, 0.75], [np.nan, np.nan]]), ["special", "other"], LIGHT)["data"]
    assert cells["z"] == [[0.25, 0.75], [0.0, 0.0]]
