"""The plots of heads that are switched off: every number stands at its head, and at its token."""

from __future__ import annotations

import json

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
    assert bars["customdata"] == [["a&lt;b", 1.0], ["the", 0.75]]
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
