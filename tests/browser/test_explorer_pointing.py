"""Pointing at the explorer and pinning: what lights up, what is shown, what stays."""

from __future__ import annotations

import pytest
import torch
from playwright.sync_api import expect

from tests.browser.apps.attention import Model
from tests.browser.apps.explored import HALF_A_STEP, Explore

REST = "Point at a token or a cell; a click or a tap pins it, Esc lets it go."


def test_a_token_in_the_lines_lights_its_row_in_the_heatmap(explore: Explore) -> None:
    explored, model = explore(), Model()
    explored.point_at_token(0, 7)
    expect(explored.tooltip.locator(".title")).to_contain_text("looks most at")
    best = torch.sort(model.weights[0, 0, 7], descending=True)
    assert explored.values() == pytest.approx(best.values[:3].tolist(), abs=HALF_A_STEP)
    positions = explored.tooltip.locator(".token.key .position").all_inner_texts()
    assert positions == [str(int(k)) for k in best.indices[:3]]
    assert explored.lit() == {"row"}
    explored.point_at_token(1, 3)
    expect(explored.tooltip.locator(".title")).to_contain_text("is looked at most by")
    assert explored.values() == pytest.approx(
        torch.sort(model.weights[0, 0, :, 3], descending=True).values[:3].tolist(), abs=HALF_A_STEP
    )
    assert explored.lit() == {"column"}
    explored.leave()
    expect(explored.tooltip).to_be_hidden()
    assert explored.lit() == set()


def test_a_cell_of_the_heatmap_lights_its_tokens_in_the_lines(explore: Explore) -> None:
    explored = explore()
    explored.point_at_cell(7, 6)
    assert explored.lit() == {"row", "column", "cell"}
    expect(explored.section.locator(".attnviz-lines")).not_to_have_attribute("data-lit", "0")
    explored.leave()
    expect(explored.section.locator(".attnviz-lines")).to_have_attribute("data-lit", "0")


def test_pointing_draws_no_picture_anew(explore: Explore) -> None:
    explored = explore(tokens=64)
    explored.section.evaluate("""section => {
      const names = new Map(['grid', 'attnviz-board', 'attnviz-lines'].map((name) =>
        [section.querySelector(`.${name} canvas`), name]));
      window.drawn = [];
      const { prototype } = CanvasRenderingContext2D;
      const { clearRect } = prototype;
      prototype.clearRect = function (...box) {  // each picture is emptied before it is drawn anew
        if (names.has(this.canvas)) window.drawn.push(names.get(this.canvas));
        return clearRect.apply(this, box);
      };
    }""")
    for q, k in [(3, 4), (40, 2), (63, 63)]:
        explored.point_at_cell(q, k)
        explored.values()
    explored.point_at_head(2, 2)
    expect(explored.tooltip.locator(".title")).to_have_text("layer 2 · head 2")
    assert explored.page.evaluate("window.drawn") == []
    explored.choose(2, 3)
    explored.page.wait_for_function(
        "() => window.drawn.includes('attnviz-board') && window.drawn.includes('attnviz-lines')"
    )
    assert "grid" not in explored.page.evaluate("window.drawn")


def test_a_pin_stays_and_escape_lets_it_go(explore: Explore) -> None:
    explored, weights = explore(log=1), Model().weights
    expect(explored.readout).to_have_text(REST)
    explored.pin_cell(5, 9)
    explored.leave()
    assert explored.values(explored.readout) == pytest.approx([float(weights[0, 0, 5, 9])], abs=HALF_A_STEP)
    explored.choose(3, 3)
    explored.leave()
    assert explored.values(explored.readout) == pytest.approx([float(weights[3, 3, 5, 9])], abs=HALF_A_STEP)
    assert explored.lit("pinned") == {"row", "column", "cell"}
    expect(explored.page.get_by_text("log [")).to_contain_text("'q': 5, 'k': 9")
    explored.page.keyboard.press("Escape")
    expect(explored.readout).to_have_text(REST)
    assert explored.lit("pinned") == set()


def test_what_is_clicked_again_is_let_go(explore: Explore) -> None:
    explored = explore()
    explored.pin_token(0, 4)
    assert (explored.view()["q"], explored.view()["k"]) == (4, None)
    explored.pin_token(1, 2)
    assert (explored.view()["q"], explored.view()["k"]) == (4, 2)
    explored.pin_token(0, 4)
    assert (explored.view()["q"], explored.view()["k"]) == (None, 2)
    explored.pin_cell(7, 8)
    explored.pin_cell(7, 8)
    assert (explored.view()["q"], explored.view()["k"]) == (None, None)


def test_arrow_keys_on_the_heatmap_move_the_pin(explore: Explore) -> None:
    explored, weights = explore(), Model().weights
    explored.section.locator(".attnviz-board").focus()
    for key in ("Enter", "ArrowDown", "ArrowDown", "ArrowRight"):
        explored.page.keyboard.press(key)
    assert explored.values(explored.readout) == pytest.approx([float(weights[0, 0, 2, 1])], abs=HALF_A_STEP)
