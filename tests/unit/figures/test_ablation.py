"""The plot of all heads by a measure and their effect: every number stands at its head."""

from __future__ import annotations

import plotly.graph_objects as go
import torch

from attnviz.figures.ablation import LEAST, against
from attnviz.figures.style import LIGHT


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
