"""Plots of a head over a corpus: the right number in the right place."""

from __future__ import annotations

import numpy as np

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
    assert bars["customdata"] == ["1 token before", "the token itself", "1 token after"]
    (cells,) = by_part(np.array([[0.25, 0.75], [np.nan, np.nan]]), ["special", "other"], LIGHT)["data"]
    assert cells["z"] == [[0.25, 0.75], [0.0, 0.0]]
