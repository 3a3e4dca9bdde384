"""One matrix among other plots: no label lies over the next, and hovering names every cell."""

from __future__ import annotations

import plotly.graph_objects as go
import torch

from attnviz.figures.multiples import one_matrix
from attnviz.figures.style import LIGHT


def test_labels_are_left_out_where_they_would_overlap_and_hovering_still_names_each_cell() -> None:
    labels = [f"{n} <b>" for n in range(20)]
    weights = torch.full((20, 20), 0.05)
    figure = one_matrix(weights, labels, LIGHT, limit=1.0, highest=330, letter=17)
    (cells,) = figure["data"]
    for axis in ("xaxis", "yaxis"):
        places = figure["layout"][axis]["tickvals"]
        assert 17 * len(places) <= 200
        assert figure["layout"][axis]["ticktext"] == [f"{n} &lt;b&gt;" for n in places]
    assert cells["text"][3][5] == "3 &lt;b&gt; → 5 &lt;b&gt;"
    assert "%{text}" in cells["hovertemplate"]
    go.Figure(figure)


def test_few_labels_are_all_written() -> None:
    figure = one_matrix(torch.eye(4), ["a", "b", "a", "c"], LIGHT, limit=1.0)
    assert figure["layout"]["yaxis"]["ticktext"] == ["a", "b", "a", "c"]
    assert "text" not in figure["data"][0]


def test_positions_of_a_long_text_are_named_by_plotly_itself() -> None:
    figure = one_matrix(torch.eye(512), list(map(str, range(512))), LIGHT, limit=1.0, highest=300, letter=17)
    assert "text" not in figure["data"][0]
