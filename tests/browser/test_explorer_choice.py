"""Choosing heads in the explorer, by pointer and by keys: what is shown is what torch computes."""

from __future__ import annotations

import numpy as np
import pytest
from playwright.sync_api import expect

from tests.browser.apps.attention import Model
from tests.browser.apps.explored import HALF_A_STEP, Explore


def test_every_chosen_head_has_torchs_weights(explore: Explore) -> None:
    explored, model = explore(), Model()
    for (layer, head), (q, k) in {(0, 0): (4, 3), (5, 11): (15, 0), (2, 7): (9, 14), (1, 1): (3, 15)}.items():
        explored.choose(layer, head)
        explored.point_at_cell(q, k)
        expected = float(model.weights[layer, head, q, k])
        (value,) = explored.values()
        assert value == pytest.approx(expected, abs=HALF_A_STEP)
        expect(explored.tooltip.locator(".result")).to_have_text(f"{value:.4f}")
        expect(explored.tooltip.locator(".value-line .name")).to_have_text(f"layer {layer} · head {head}")


def test_the_grid_says_which_head_is_active(explore: Explore) -> None:
    explored, model = explore(), Model()
    explored.grid.focus()
    explored.page.keyboard.press("ArrowDown")
    explored.page.keyboard.press("ArrowRight")
    cell = explored.grid.get_by_role("gridcell")
    entropy, first = model.measures[1, 1]
    value = f"layer 1 head 1; [SEP]; <b>bold</b>; entropy {entropy:.3f} bits; to first token {first:.3f}"
    expect(cell).to_have_accessible_name(value)
    expect(cell).to_have_attribute("aria-selected", "true")
    assert explored.grid.get_attribute("aria-activedescendant") == cell.get_attribute("id")


def test_heads_are_added_and_taken_away(explore: Explore) -> None:
    explored = explore()
    expect(explored.section.locator(".hint .how")).to_contain_text("Ctrl or Shift adds or removes it")
    explored.choose(1, 1, "Control")
    explored.choose(2, 3, "Shift")
    expect(explored.section).to_have_attribute("data-chosen", "0.0 1.1 2.3")
    colours = explored.chips.locator(".swatch").evaluate_all("all => all.map(({ style }) => style.background)")
    assert len(set(colours)) == 3
    explored.section.get_by_role("button", name="Take away layer 1 · head 1").click()
    expect(explored.section).to_have_attribute("data-chosen", "0.0 2.3")
    kept = explored.chips.locator(".swatch").evaluate_all("all => all.map(({ style }) => style.background)")
    assert kept == [colours[0], colours[2]]  # a head keeps its colour
    explored.choose(2, 3, "Control")
    explored.choose(0, 0, "Control")  # the last one stays
    expect(explored.section).to_have_attribute("data-chosen", "0.0")
    expect(explored.section.get_by_role("button", name="Take away")).to_have_count(0)


def test_heads_are_added_by_keys(explore: Explore) -> None:
    explored = explore()
    explored.grid.focus()
    explored.page.keyboard.press("Shift+ArrowRight")
    expect(explored.section).to_have_attribute("data-chosen", "0.0 0.1")
    explored.page.keyboard.press("Control+ArrowDown")  # goes there, chooses nothing
    explored.page.keyboard.press("Control+ArrowDown")
    expect(explored.section).to_have_attribute("data-chosen", "0.0 0.1")
    explored.page.keyboard.press("Space")
    expect(explored.section).to_have_attribute("data-chosen", "0.0 0.1 2.1")
    explored.page.keyboard.press("Space")
    expect(explored.section).to_have_attribute("data-chosen", "0.0 0.1")
    explored.page.keyboard.press("Enter")
    expect(explored.section).to_have_attribute("data-chosen", "2.1")


def test_several_heads_are_read_at_once_and_as_their_mean(explore: Explore) -> None:
    explored, weights = explore(), Model().weights
    chosen = [(0, 0), (1, 4), (5, 2)]
    for layer, head in chosen[1:]:
        explored.choose(layer, head, "Control")
    explored.point_at_cell(6, 5)
    each = [float(weights[layer, head, 6, 5]) for layer, head in chosen]
    assert explored.values() == pytest.approx(each, abs=HALF_A_STEP)
    explored.check("mean of the 3 chosen heads")
    assert explored.value_at(6, 5) == pytest.approx(sum(each) / 3, abs=HALF_A_STEP)
    expect(explored.tooltip.locator(".value-line .name")).to_have_text("mean of 3 heads")
    expect(explored.section.locator(".drawn")).to_contain_text("mean of the 3 chosen heads")


def test_the_grid_is_ranked_by_a_measure(explore: Explore) -> None:
    explored, model = explore(), Model()
    explored.set("Order", "entropy")
    expect(explored.section.locator(".hint")).to_contain_text("Ranked by entropy, largest first.")
    explored.grid.focus()
    explored.page.keyboard.press("Home")  # of the current head's row
    ranks = np.argsort(-model.measures[..., 0].ravel(), kind="stable")
    order = explored.section.evaluate("section => [...section.attnviz.view.grid.given.order]")
    assert order == ranks.tolist()
    first = explored.where("""(section) => {
      const { left, top } = section.attnviz.view.grid.element.getBoundingClientRect();
      return [left + 8, top + 20];
    }""", [])  # fmt: skip
    explored.page.mouse.click(*first)
    expect(explored.section).to_have_attribute("data-chosen", f"{ranks[0] // 12}.{ranks[0] % 12}")


def test_a_label_makes_the_other_heads_fade(explore: Explore) -> None:
    explored = explore()
    ink = """(section, [layer, head]) => {
      const { grid } = section.attnviz.view;
      const { pitch, left, top, side } = grid.layout;
      const pen = grid.canvas.getContext('2d');
      const { data } = pen.getImageData(left + head * pitch.x + 1, top + layer * pitch.y + 1, side - 2, side - 2);
      return data.reduce((sum, byte) => sum + 255 - byte, 0);
    }"""
    before = [explored.section.evaluate(ink, head) for head in ([1, 1], [2, 2])]
    explored.set("Label", "[SEP]")
    kept, faded = [explored.section.evaluate(ink, head) for head in ([1, 1], [2, 2])]
    assert kept == before[0]
    assert faded < 0.5 * before[1]


def test_a_label_chooses_its_first_head_unless_the_current_one_carries_it(explore: Explore) -> None:
    explored = explore()
    explored.choose(2, 3)
    explored.set("Label", "[SEP]")  # the labels of layer 1, head 1
    expect(explored.section).to_have_attribute("data-chosen", "1.1")
    expect(explored.section).to_contain_text("1 of ")
    expect(explored.section).not_to_contain_text("which is not one of them")
    explored.set("Label", "<b>bold</b>")  # its own too
    expect(explored.section).to_have_attribute("data-chosen", "1.1")
    explored.set("Label", "previous token")
    expect(explored.section).to_have_attribute("data-chosen", "0.0")
    explored.choose(2, 3)
    expect(explored.section).to_contain_text("Shown is layer 2 · head 3, which is not one of them.")
    explored.set("Label", "")
    expect(explored.section).not_to_contain_text("which is not one of them")
