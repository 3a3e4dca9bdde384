"""The plots of heads that are switched off: every number stands at its head, and at its token."""

from __future__ import annotations

import json

import plotly.graph_objects as go
import pytest
import torch

from attnviz.figures.ablation import LEAST, against, changes, grid, short
from attnviz.figures.style import DARK, LIGHT, Palette

EFFECTS = torch.arange(72.0).view(6, 12) / 1000


@pytest.mark.parametrize("palette", [LIGHT, DARK], ids=["light", "dark"])
def test_the_grid_has_a_target_and_a_number_for_each_head_and_a_frame_for_each_that_is_off(palette: Palette) -> None:
    spec = grid(EFFECTS, ((3, 1), (5, 11)), palette, layers=6, heads=12)
    cells, targets = spec["data"]
    assert torch.equal(torch.tensor(cells["z"]), EFFECTS)
    assert (cells["text"][0][:2], cells["text"][5][11]) == (["0.0", "1.0"], "71")
    assert [[y, x] for x, y in zip(targets["x"], targets["y"], strict=True)] == targets["customdata"]
    assert len(targets["x"]) == 72
    assert "1 − cosine: <b>0.071</b>" in targets["hovertemplate"][71]
    assert "on again" in targets["hovertemplate"][37]
    assert "switch off" in targets["hovertemplate"][36]
    frames = [(one["x0"], one["x1"], one["y0"], one["y1"]) for one in spec["layout"]["shapes"]]
    assert frames == [pytest.approx((0.57, 1.43, 2.57, 3.43)), pytest.approx((10.57, 11.43, 4.57, 5.43))]
    assert spec["layout"]["yaxis"]["range"] == [5.5, -0.5]  # layer 0 on top
    json.dumps(spec)


def test_a_grid_without_effects_has_targets_and_no_numbers() -> None:
    cells, targets = grid(None, (), LIGHT, layers=2, heads=3)["data"]
    assert "text" not in cells
    assert len(targets["customdata"]) == 6
    assert "cosine" not in "".join(targets["hovertemplate"])


def test_a_bar_for_each_token() -> None:
    spec = changes([0.0, 0.25], ["a<b", "the"], LIGHT)
    (bars,) = spec["data"]
    assert bars["y"] == [0.0, 0.25]
    assert bars["customdata"] == [["a&lt;b", "1.0000"], ["the", "0.7500"]]
    assert spec["layout"]["xaxis"]["ticktext"] == ["a&lt;b", "the"]


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


@pytest.mark.parametrize(
    ("value", "text"),
    [(0, "0.0"), (0.04, "0.0"), (2.34, "2.3"), (9.94, "9.9"), (9.96, "10"), (78.7, "79"), (140, "140")],
)
def test_numbers_of_cells_are_short(value: float, text: str) -> None:
    assert short(value) == text


@pytest.mark.parametrize(("tokens", "named"), [(20, 20), (21, 11), (40, 20), (0, 0)])
def test_up_to_20_tokens_are_named_below_their_bars(tokens: int, named: int) -> None:
    labels = [f"w{n}" for n in range(tokens)]
    axis = changes([0.5] * tokens, labels, LIGHT)["layout"]["xaxis"]
    assert len(axis["tickvals"]) == len(axis["ticktext"]) == named
    assert axis["ticktext"] == [labels[place] for place in axis["tickvals"]]


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


def test_cells_go_from_0_to_the_largest_effect_and_are_grey_before_it_is_known() -> None:
    known, unknown = (grid(one, (), LIGHT, layers=6, heads=12)["data"][0] for one in (EFFECTS, None))
    assert (known["zmin"], known["zmax"]) == (0, pytest.approx(0.071))
    assert known["colorscale"] == LIGHT.weights
    assert {colour for _, colour in unknown["colorscale"]} == {LIGHT.rule}
    assert unknown["opacity"] < 0.5
    layout = grid(EFFECTS, (), LIGHT, layers=6, heads=12)["layout"]
    assert layout["xaxis"]["range"] == [-0.5, 11.5]
    assert layout["yaxis"]["ticktext"] == [f"layer {n}" for n in range(6)]
    assert (layout["xaxis"]["ticktext"][-1], layout["xaxis"]["title"]["text"]) == ("11", "head")
