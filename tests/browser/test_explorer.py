"""The explorer in a real browser, on a page of its own: what it says is what torch says."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

import numpy as np
import pytest
import torch
from playwright.sync_api import BrowserContext, Page, expect

from tests.browser.apps.attention import Model
from tests.browser.apps.explored import Explored
from tests.browser.apps.operands import HOSTILE
from tests.browser.settle import frames, in_the_end, settled

HALF_A_STEP = 7.7e-6
"""A weight is sent as rint(weight × 65535), worked out in single precision."""

REST = "Point at a token or a cell; a click pins it, Esc lets it go."

See = Callable[..., Explored]


@pytest.fixture
def see(page: Page, explorer_url: str) -> See:
    """Open the page with what its link says: `see(tokens=64, few=1)`."""
    return lambda **link: Explored.open(page, explorer_url, **link)


# ---- choosing heads


def test_every_chosen_head_has_torchs_weights(see: See) -> None:
    explored, model = see(), Model()
    for (layer, head), (q, k) in {(0, 0): (4, 3), (5, 11): (15, 0), (2, 7): (9, 14), (1, 1): (3, 15)}.items():
        explored.choose(layer, head)
        explored.point_at_cell(q, k)
        expected = float(model.weights[layer, head, q, k])
        (said,) = explored.values()
        assert said == pytest.approx(expected, abs=HALF_A_STEP)
        expect(explored.tooltip.locator(".result")).to_have_text(f"{said:.4f}")
        expect(explored.tooltip.locator(".value-line .name")).to_have_text(f"layer {layer} · head {head}")


def test_all_weights_in_the_browser_are_torchs(see: See) -> None:
    explored, model = see(tokens=40), Model(tokens=40)
    script = "(section, head) => [...section.attnviz.store.codes(head)].map((code) => code / 65535)"
    for layer, head in [(0, 0), (3, 5), (5, 11)]:
        here = np.array(explored.section.evaluate(script, [layer, head]))
        assert np.abs(here - model.weights[layer, head].numpy().ravel()).max() <= HALF_A_STEP


def test_arrow_keys_step_through_heads(see: See) -> None:
    explored = see()
    explored.grid.focus()
    steps = {"ArrowDown": (1, 0), "ArrowRight": (1, 1), "End": (1, 11), "ArrowUp": (0, 11), "Home": (0, 0)}
    for key, (layer, head) in steps.items():
        explored.page.keyboard.press(key)
        expect(explored.section).to_have_attribute("data-chosen", f"{layer}.{head}")
    explored.page.keyboard.press("ArrowLeft")  # the end of a row is an end
    explored.page.keyboard.press("ArrowUp")
    expect(explored.section).to_have_attribute("data-chosen", "0.0")


def test_the_grid_says_which_head_is_active(see: See) -> None:
    explored, model = see(), Model()
    explored.grid.focus()
    explored.page.keyboard.press("ArrowDown")
    explored.page.keyboard.press("ArrowRight")
    cell = explored.grid.get_by_role("gridcell")
    entropy, peak = model.measures[1, 1]
    said = f"layer 1 head 1; [SEP]; <b>bold</b>; entropy {entropy:.3f} bits; largest weight {peak:.3f}"
    expect(cell).to_have_accessible_name(said)
    expect(cell).to_have_attribute("aria-selected", "true")
    assert explored.grid.get_attribute("aria-activedescendant") == cell.get_attribute("id")


def test_heads_are_added_and_taken_away(see: See) -> None:
    explored = see()
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


def test_heads_are_added_by_keys(see: See) -> None:
    explored = see()
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


def test_the_tooltip_names_a_head_with_its_measures(see: See) -> None:
    explored = see()
    explored.point_at_head(4, 9)
    expect(explored.tooltip.locator(".title")).to_have_text("layer 4 · head 9")
    assert explored.values() == pytest.approx(Model().measures[4, 9].tolist())
    explored.leave()
    expect(explored.tooltip).to_be_hidden()


def test_several_heads_are_read_at_once_and_as_their_mean(see: See) -> None:
    explored, weights = see(), Model().weights
    chosen = [(0, 0), (1, 4), (5, 2)]
    for layer, head in chosen[1:]:
        explored.choose(layer, head, "Control")
    explored.point_at_cell(6, 5)
    each = [float(weights[layer, head, 6, 5]) for layer, head in chosen]
    assert explored.values() == pytest.approx(each, abs=HALF_A_STEP)
    explored.section.get_by_label("mean of the 3 chosen heads").check()
    assert explored.value_at(6, 5) == pytest.approx(sum(each) / 3, abs=HALF_A_STEP)
    expect(explored.tooltip.locator(".value-line .name")).to_have_text("mean of 3 heads")
    expect(explored.section.locator(".drawn")).to_contain_text("mean of the 3 chosen heads")


def test_the_grid_is_ranked_by_a_measure(see: See) -> None:
    explored, model = see(), Model()
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


def test_a_label_makes_the_other_heads_fade(see: See) -> None:
    explored = see()
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


# ---- pointing and pinning


def test_a_token_in_the_lines_lights_its_row_in_the_heatmap(see: See) -> None:
    explored, model = see(), Model()
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


def test_a_cell_of_the_heatmap_lights_its_tokens_in_the_lines(see: See) -> None:
    explored = see()
    explored.point_at_cell(7, 6)
    assert explored.lit() == {"row", "column", "cell"}
    expect(explored.section.locator(".attnviz-lines")).not_to_have_attribute("data-lit", "0")
    explored.leave()
    expect(explored.section.locator(".attnviz-lines")).to_have_attribute("data-lit", "0")


def test_pointing_draws_no_picture_anew(see: See) -> None:
    explored = see(tokens=64)
    explored.section.evaluate("""section => {
      const { grid, pictures } = section.attnviz.view;
      window.drawn = [];
      const painters = [['grid', grid, 'paintNow'], ['board', pictures.board, 'drawNow'],
                        ['lines', pictures.lines, 'startBack']];
      for (const [name, one, method] of painters) {
        const own = one[method].bind(one);
        one[method] = () => { window.drawn.push(name); return own(); };
      }
    }""")  # fmt: skip
    for q, k in [(3, 4), (40, 2), (63, 63)]:
        explored.point_at_cell(q, k)
        explored.values()
    explored.point_at_head(2, 2)
    expect(explored.tooltip.locator(".title")).to_have_text("layer 2 · head 2")
    assert explored.page.evaluate("window.drawn") == []
    explored.choose(2, 3)
    explored.page.wait_for_function("() => window.drawn.includes('board') && window.drawn.includes('lines')")
    assert "grid" not in explored.page.evaluate("window.drawn")


def test_a_pin_stays_and_escape_lets_it_go(see: See) -> None:
    explored, weights = see(log=1), Model().weights
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


def test_what_is_clicked_again_is_let_go(see: See) -> None:
    explored = see()
    explored.pin_token(0, 4)
    assert (explored.view()["q"], explored.view()["k"]) == (4, None)
    explored.pin_token(1, 2)
    assert (explored.view()["q"], explored.view()["k"]) == (4, 2)
    explored.pin_token(0, 4)
    assert (explored.view()["q"], explored.view()["k"]) == (None, 2)
    explored.pin_cell(7, 8)
    explored.pin_cell(7, 8)
    assert (explored.view()["q"], explored.view()["k"]) == (None, None)


def test_arrow_keys_on_the_heatmap_move_the_pin(see: See) -> None:
    explored, weights = see(), Model().weights
    explored.section.locator(".attnviz-board").focus()
    for key in ("Enter", "ArrowDown", "ArrowDown", "ArrowRight"):
        explored.page.keyboard.press(key)
    assert explored.values(explored.readout) == pytest.approx([float(weights[0, 0, 2, 1])], abs=HALF_A_STEP)


# ---- filters


@pytest.mark.parametrize("head", [0, 5])
def test_special_tokens_are_hidden_and_rows_renormalised(see: See, head: int) -> None:
    explored, model = see(), Model()
    explored.choose(0, head)
    explored.set("Special tokens", "hide")
    assert explored.value_at(3, 2) == pytest.approx(float(model.weights[0, head, 3, 2]), abs=HALF_A_STEP)
    expect(explored.section.locator("[data-field=special] .note")).to_contain_text("rows no longer sum to 1")
    explored.point_at_cell(3, 0)
    expect(explored.tooltip.locator(".none")).to_have_text("hidden")
    explored.set("Special tokens", "renormalise")
    oracle = model.without_special(0, head)
    for q, k in [(3, 2), (14, 13), (7, 1)]:
        assert explored.value_at(q, k) == pytest.approx(float(oracle[q, k]), rel=1e-3, abs=1e-4)
    expect(explored.section.locator("[data-field=special] .note")).to_contain_text("sums to 1 again")


def test_what_cant_be_renormalised_is_not_shown(see: See) -> None:
    explored, model = see(), Model()
    explored.choose(1, 1)  # nearly all of its weight is on a special token
    explored.set("Special tokens", "renormalise")
    kept = torch.tensor(model.groups) != 0
    left = (model.weights[1, 1].double() * kept).sum(-1)
    short = int((left[kept] < 1e-3).sum())
    assert 0 < short < int(kept.sum())
    expect(explored.section.locator(".drawn")).to_contain_text(f"{short} rows are hidden because less than 0.001")
    q = int(torch.argmax(left * kept))
    oracle = model.without_special(1, 1)[q]
    k = int(torch.argmax(oracle.nan_to_num()))
    said = explored.value_at(q, k)
    # Little is left, so fewer digits are certain, and no more are said.
    assert said == pytest.approx(float(oracle[k]), abs=1.5 / 65535 / float(left[q]))
    expect(explored.tooltip.locator(".result")).to_contain_text("≈")


def test_only_weights_between_sentences_are_kept(see: See) -> None:
    explored, model = see(pair=1), Model(pair=True)
    groups = model.groups
    first, second = groups.index(1), groups.index(2)
    for option, shown in {"ab": (first, second), "ba": (second, first), "aa": (first, first + 1)}.items():
        explored.set("Sentences", option)
        assert explored.value_at(*shown) == pytest.approx(float(model.weights[0, 0][shown]), abs=HALF_A_STEP)
        explored.point_at_cell(0, second)
        expect(explored.tooltip.locator(".none")).to_have_text("hidden")
        total = groups.count(1 if option[0] == "a" else 2) * groups.count(1 if option[1] == "a" else 2)
        expect(explored.section.locator(".drawn")).to_contain_text(f"of {total} weights")


def test_there_is_no_sentence_filter_for_one_sentence(see: See) -> None:
    explored = see(plain=1)
    for label in ("Sentences", "Values", "rollout"):
        expect(explored.section.get_by_label(label)).to_be_hidden()
    expect(explored.section.get_by_label("Special tokens")).to_be_visible()


def test_norm_weighted_values_are_weight_times_norm(see: See) -> None:
    explored, model = see(), Model()
    explored.choose(2, 2)
    explored.set("Values", "norms")
    product = model.weights[2, 2] * model.key_norms[2, 2]
    for q, k in [(3, 2), (15, 15)]:
        assert explored.value_at(q, k) == pytest.approx(float(product[q, k]), abs=4 * HALF_A_STEP)
    expect(explored.section.locator("[data-field=values] .note")).to_contain_text("Kobayashi")


def test_what_is_drawn_is_counted(see: See) -> None:
    explored, weights = see(), Model().weights[0, 0]
    drawn = explored.section.locator(".drawn")
    expect(drawn).to_have_text(f"{int((weights >= 0.05).sum())} of 256 weights are drawn as lines: those ≥ 0.05.")
    explored.set("Strongest", "1")
    strongest = int((weights.amax(-1) >= 0.05).sum())
    expect(drawn).to_contain_text(f"{strongest} of 256 weights are drawn as lines: the 1 strongest of each query")
    explored.section.get_by_label("Threshold").fill("50")
    expect(explored.section.locator(".amount")).to_have_text("≥ 0.25")
    expect(drawn).to_contain_text(f"{int((weights.amax(-1) >= 0.25).sum())} of 256")


def test_causal_models_show_only_what_exists(see: See) -> None:
    explored, model = see(causal=1), Model(causal=True)
    assert explored.value_at(6, 6) == pytest.approx(float(model.weights[0, 0, 6, 6]), abs=HALF_A_STEP)
    explored.point_at_cell(6, 7)
    expect(explored.tooltip.locator(".none")).to_have_text("masked")
    expect(explored.section.locator(".drawn")).to_contain_text("of 136 weights")
    expect(explored.section.locator(".drawn")).to_contain_text("120 of 256 cells are masked or hidden")


@pytest.mark.parametrize(("tokens", "keys"), [(5, 30), (30, 4)])
def test_cross_attention_has_other_keys_than_queries(see: See, tokens: int, keys: int) -> None:
    explored, model = see(tokens=tokens, keys=keys), Model(tokens=tokens, keys=keys)
    explored.choose(4, 2)
    exact = model.weights[4, 2]
    assert explored.value_at(tokens - 1, keys - 1) == pytest.approx(float(exact[-1, -1]), abs=HALF_A_STEP)
    expect(explored.tooltip.locator(".token.key .text")).to_have_text(f"k{keys - 1}")
    explored.point_at_token(1, 2)
    best = torch.sort(exact[:, 2], descending=True).values[:3]
    assert explored.values() == pytest.approx(best.tolist(), abs=HALF_A_STEP)


def test_rollout_takes_the_place_of_a_head(see: See) -> None:
    explored, model = see(), Model()
    explored.choose(3, 4)
    explored.section.get_by_role("checkbox", name="rollout up to layer 3").check()
    expect(explored.section).to_have_attribute("data-exact", "true")
    assert explored.value_at(8, 2) == pytest.approx(float(model.rollout[3, 8, 2]), abs=HALF_A_STEP)
    expect(explored.section.locator(".drawn")).to_contain_text("Abnar and Zuidema")
    explored.section.get_by_role("checkbox", name="rollout up to layer 3").uncheck()
    expect(explored.section).to_have_attribute("data-chosen", "3.4")


# ---- what is sent, and when


def test_a_head_that_was_not_sent_is_fetched(see: See) -> None:
    explored, model = see(few=1, tokens=128), Model(tokens=128)
    explored.choose(5, 7)
    expect(explored.section).to_have_attribute("data-exact", "true")
    assert explored.value_at(100, 3) == pytest.approx(float(model.weights[5, 7, 100, 3]), abs=HALF_A_STEP)


def test_no_number_is_shown_that_is_not_here(see: See) -> None:
    explored = see(few=1, deaf=1)
    explored.choose(5, 7)
    expect(explored.section).to_have_attribute("data-exact", "false")
    waiting = explored.section.locator(".waiting")
    expect(waiting).to_contain_text("The exact weights of layer 5 · head 7 are on their way.")
    expect(waiting.locator(".blurred")).to_be_visible()
    expect(explored.section.locator(".pane.heatmap")).to_be_hidden()
    expect(explored.section.locator(".pane.lines")).to_be_hidden()
    expect(explored.section.get_by_role("button", name="Ask again")).to_be_visible()
    explored.choose(0, 0)  # what is here is still here
    expect(explored.section).to_have_attribute("data-exact", "true")
    expect(explored.section.locator(".pane.heatmap")).to_be_visible()


def test_heads_nearby_are_fetched_ahead_one_question_at_a_time(see: See) -> None:
    explored = see(few=1, tokens=256, log=1)
    size = 256 * 256 * 2
    received = "section => section.attnviz.store.received"
    # The layer's own 12 heads and those of the one beside it.
    in_the_end(explored.page, lambda: explored.section.evaluate(received), lambda found: found >= 24 * size)
    settled(explored.page)
    assert 24 * size <= explored.section.evaluate(received) <= 8e6
    wants = explored.page.get_by_text("log [").inner_text()
    assert "[2, " not in wants  # a layer further away is not fetched
    explored.choose(1, 11)
    assert explored.section.get_attribute("data-exact") == "true"


def test_quick_steps_are_not_undone_by_slow_answers(see: See) -> None:
    explored = see(log=1)
    explored.grid.focus()
    explored.section.evaluate("""(section) => {
      window.seen = [];
      new MutationObserver(() => window.seen.push(Number(section.dataset.head)))
        .observe(section, { attributeFilter: ['data-head'] });
    }""")
    for _ in range(9):
        explored.page.keyboard.press("ArrowRight")
        explored.page.wait_for_timeout(90)  # so that some answers come between
    expect(explored.page.get_by_text("log [")).to_contain_text("'head': 9")
    settled(explored.page)
    seen = explored.page.evaluate("window.seen")
    assert seen == sorted(seen)
    assert seen[-1] == 9
    expect(explored.section).to_have_attribute("data-head", "9")


# ---- how it looks and sounds


def test_hostile_tokens_and_labels_are_text(see: See) -> None:
    explored = see()
    explored.point_at_token(0, 2)
    expect(explored.tooltip.locator(".title .text")).to_have_text(HOSTILE)
    explored.point_at_token(0, 6)
    expect(explored.tooltip.locator(".title .text")).to_have_text("a" * 200)
    box = explored.tooltip.bounding_box()
    assert box
    assert box["width"] < 400
    explored.point_at_token(0, 5)
    expect(explored.tooltip.locator(".title .text")).to_have_text("(blank)")
    explored.choose(1, 1)
    expect(explored.chips).to_contain_text("<b>bold</b>")
    assert explored.section.locator("img, b:not(.result)").count() == 0


def test_a_change_of_theme_repaints(see: See) -> None:
    explored = see()
    corner = """section => {
      const { grid } = section.attnviz.view;
      const { left, top, side } = grid.layout;
      return [...grid.canvas.getContext('2d').getImageData(left + side - 3, top + 2, 1, 1).data];
    }"""
    light = explored.section.evaluate(corner)
    explored.page.emulate_media(color_scheme="dark")
    expect(explored.section).to_have_attribute("data-theme", "dark")
    frames(explored.page)
    dark = explored.section.evaluate(corner)
    assert sum(dark[:3]) < 255 < sum(light[:3])
    explored.page.emulate_media(color_scheme="light")
    expect(explored.section).to_have_attribute("data-theme", "light")
    frames(explored.page)
    assert explored.section.evaluate(corner) == light


def test_all_of_it_is_seen_at_once_on_a_laptop(see: See) -> None:
    explored = see()
    for part in (".grid", ".controls", ".attnviz-lines", ".attnviz-board", ".readout"):
        box = explored.section.locator(part).bounding_box()
        assert box, part
        assert box["y"] + box["height"] <= 720, part


def test_it_works_on_a_phone(new_context: Callable[..., BrowserContext], explorer_url: str) -> None:
    phone = new_context(viewport={"width": 390, "height": 844}, has_touch=True)
    explored = Explored.open(phone.new_page(), explorer_url)
    assert explored.page.evaluate("document.documentElement.scrollWidth") <= 390
    boxes = [explored.section.locator(part).bounding_box() for part in (".grid", ".attnviz-lines", ".attnviz-board")]
    assert all(box and box["x"] >= 0 and box["x"] + box["width"] <= 390 for box in boxes)
    tops = [box["y"] for box in boxes if box]
    assert all(a < b for a, b in pairwise(tops))
    expect(explored.section.get_by_label("Special tokens")).to_be_hidden()
    explored.section.get_by_text("Settings").tap()
    expect(explored.section.get_by_label("Special tokens")).to_be_visible()


@pytest.mark.parametrize(("layers", "heads", "tokens"), [(1, 1, 1), (24, 16, 5), (12, 12, 32)])
def test_models_of_all_sizes_are_shown(see: See, layers: int, heads: int, tokens: int) -> None:
    explored, model = see(layers=layers, heads=heads, tokens=tokens), Model(layers, heads, tokens)
    explored.choose(layers - 1, heads - 1)
    expect(explored.section).to_have_attribute("data-chosen", f"{layers - 1}.{heads - 1}")
    explored.section.locator(".attnviz-board").scroll_into_view_if_needed()
    expected = float(model.weights[-1, -1, tokens - 1, 0])
    assert explored.value_at(tokens - 1, 0) == pytest.approx(expected, abs=HALF_A_STEP)
