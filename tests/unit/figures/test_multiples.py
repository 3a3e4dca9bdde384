"""Several matrices in a grid: each has its place and its title, and hovering names every cell."""

from __future__ import annotations

import math
from itertools import combinations

import numpy as np
import plotly.graph_objects as go
import pytest
import torch

from attnviz.figures.multiples import multiples
from attnviz.figures.style import LIGHT


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
