"""One matrix among other plots: no label lies over the next, and hovering names every cell."""

from __future__ import annotations

import math
from itertools import combinations

import numpy as np
import plotly.graph_objects as go
import pytest
import torch

from attnviz.figures.multiples import multiples, one_matrix
from attnviz.figures.plots import heatmap
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


@pytest.mark.parametrize(
    ("count", "across"),
    [(1, 1), (2, 2), (3, 3), (4, 2), (5, 3), (6, 3), (7, 4), (12, 4), (13, 4)],
)
def test_matrices_stand_in_rows_each_below_its_title_and_none_over_another(count: int, across: int) -> None:
    matrices, labels = torch.rand(count, 3, 3), ["a", "<b>", "c"]
    spec = multiples(matrices, [f"head <{n}>" for n in range(count)], labels, LIGHT, limit=0.5, height=400)
    layout = go.Figure(spec).to_dict()["layout"]  # Plotly checks that domains are within 0 and 1
    boxes = []
    for number, one in enumerate(spec["data"]):
        np.testing.assert_array_equal(one["z"], matrices[number].numpy())
        assert one["hovertemplate"].startswith(f"head &lt;{number}&gt;")
        x, y = (layout[f"{one[f'{letter}axis'][0]}axis{one[f'{letter}axis'][1:]}"] for letter in "xy")
        assert (x["anchor"], y["anchor"], y["autorange"]) == (one["yaxis"], one["xaxis"], "reversed")
        assert list(x["ticktext"]) == ["a", "&lt;b&gt;", "c"]
        boxes.append((*x["domain"], *y["domain"]))
        title = layout["annotations"][number]
        assert title["text"] == f"head &lt;{number}&gt;"
        assert (title["x"], title["y"]) == pytest.approx((sum(x["domain"]) / 2, y["domain"][1]))
    assert len({round(box[0], 6) for box in boxes}) == across
    assert len({round(box[3], 6) for box in boxes}) == math.ceil(count / across)
    assert boxes == sorted(boxes, key=lambda box: (-round(box[3], 6), box[0]))
    assert {round(box[1] - box[0], 6) for box in boxes} == {round(boxes[0][1] - boxes[0][0], 6)}
    assert {round(box[3] - box[2], 6) for box in boxes} == {round(boxes[0][3] - boxes[0][2], 6)}
    assert (min(box[0] for box in boxes), max(box[1] for box in boxes)) == pytest.approx((0, 1))
    assert (min(box[2] for box in boxes), 1 - max(box[3] for box in boxes)) == pytest.approx((0, 24 / 390))
    for one, other in combinations(boxes, 2):
        apart_x, apart_y = (max(one[n], other[n]) - min(one[n + 1], other[n + 1]) for n in (0, 2))
        assert apart_x > 0.029 or apart_y * 390 > 23.9  # px, of a title
    assert (layout["coloraxis"]["cmin"], layout["coloraxis"]["cmax"]) == (0, 0.5)


def test_hidden_cells_of_one_matrix_are_hatched() -> None:
    hidden = torch.ones(3, 3).triu(1).bool()
    weights = torch.rand(3, 3)
    figure = one_matrix(weights, ["a", "b", "c"], LIGHT, limit=0.75, hidden=hidden)
    go.Figure(figure)
    (cells,) = figure["data"]
    np.testing.assert_array_equal(np.isnan(cells["z"]), hidden.numpy())
    np.testing.assert_array_equal(cells["z"][~hidden.numpy()], weights.numpy()[~hidden.numpy()])
    assert (cells["zmin"], cells["zmax"]) == (0, 0.75)
    (image,) = figure["layout"]["images"]
    assert [image[one] for one in ("x", "y", "sizex", "sizey", "layer")] == [-0.5, -0.5, 3, 3, "below"]
    assert figure["layout"]["xaxis"]["title"]["text"] == "key (to)"
    assert figure["layout"]["yaxis"]["title"]["text"] == "query (from)"
    assert "images" not in one_matrix(weights, ["a", "b", "c"], LIGHT, limit=1.0)["layout"]


def test_one_matrix_is_as_high_as_it_may_be_and_no_higher() -> None:
    labels = [f"w{n}" for n in range(30)]
    heights = [
        one_matrix(torch.rand(30, 30), labels, LIGHT, limit=1.0, highest=n)["layout"]["height"] for n in (300, 640)
    ]
    assert heights[0] == 300 < heights[1]
    usual = heatmap(torch.rand(30, 30), labels, labels, LIGHT, across="")["layout"]["height"]
    assert heights[1] == usual - 22  # nothing stands above it
    numbers = [str(n) for n in range(30)]
    for names, is_named in ((labels, True), (numbers, False)):
        figure = one_matrix(torch.rand(30, 30), names, LIGHT, limit=1.0, highest=300)
        assert len(figure["layout"]["xaxis"]["tickvals"]) < 30
        assert ("text" in figure["data"][0]) == is_named
