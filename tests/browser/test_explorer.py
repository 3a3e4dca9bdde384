"""The explorer in a real browser, on a page of its own: what is sent, how it looks, what is chosen and pointed at."""

from __future__ import annotations

import re
from collections import Counter
from itertools import pairwise

import numpy as np
import pytest
import torch
from playwright.sync_api import Page, Request, Route, expect

from attnviz.serving.arrays import PATH as ARRAYS
from tests.browser.apps.attention import Model
from tests.browser.apps.explored import HALF_A_STEP, Explore, Explored
from tests.browser.apps.operands import HOSTILE
from tests.browser.screens import SCREENS, move_to
from tests.browser.settle import frames, in_the_end, settled

# ---- what is sent, and when


def test_a_head_that_was_not_sent_is_fetched(explore: Explore) -> None:
    explored, model = explore(few=1, tokens=128), Model(tokens=128)
    explored.choose(5, 7)
    expect(explored.section).to_have_attribute("data-exact", "true")
    assert explored.value_at(100, 3) == pytest.approx(float(model.weights[5, 7, 100, 3]), abs=HALF_A_STEP)


def test_no_number_is_shown_that_is_not_here(explore: Explore) -> None:
    explored = explore(few=1, deaf=1)
    explored.choose(5, 7)
    expect(explored.section).to_have_attribute("data-exact", "false")
    waiting = explored.section.locator(".waiting")
    expect(waiting).to_contain_text("The exact weights of layer 5 · head 7 have not come.")
    expect(waiting.locator(".blurred")).to_be_visible()
    expect(explored.section.locator(".pane.heatmap")).to_be_hidden()
    expect(explored.section.locator(".pane.lines")).to_be_hidden()
    expect(explored.section.get_by_role("button", name="Ask again")).to_be_visible()
    explored.choose(0, 0)  # what is here is still here
    expect(explored.section).to_have_attribute("data-exact", "true")
    expect(explored.section.locator(".pane.heatmap")).to_be_visible()


def test_nearby_heads_are_prefetched_one_request_at_a_time(page: Page, explore_fresh: Explore) -> None:
    on_their_way, most, fetched = set[Request](), [0], list[str]()

    def begin(request: Request) -> None:
        if ARRAYS in request.url:
            on_their_way.add(request)
            most.append(len(on_their_way))
            fetched.append(request.url.rpartition("/")[2])

    def end(request: Request) -> None:  # a method of a built-in type can't listen
        on_their_way.discard(request)

    page.on("request", begin)
    page.on("requestfinished", end)
    explored = explore_fresh(few=1, tokens=256, log=1)
    size = 256 * 256 * 2
    received = "section => section.attnviz.received"
    # The layer's own 12 heads and those of the one beside it.
    in_the_end(page, lambda: explored.section.evaluate(received), lambda found: found >= 24 * size)
    settled(page)
    assert 24 * size <= explored.section.evaluate(received) <= 8e6
    files = explored.section.evaluate("section => section.attnviz.store.header.files")
    numbers = {digest: n for digest, n, _ in files["weights"]}
    assert sorted(fetched[:2]) == sorted([files["shared"], files["weights"][0][0]])  # what is looked at
    assert fetched[2:4] == [digest for digest, n, _ in files["weights"] if n in (12, 1)][::-1]  # one key away
    assert sorted(numbers[digest] for digest in fetched if digest in numbers) == list(range(24))
    assert max(most) == 2
    explored.choose(1, 11)
    assert explored.section.get_attribute("data-exact") == "true"
    expect(page.get_by_text("log [")).to_have_text(re.compile(r"log \[\('view', [^()]*'head': 11[^()]*\)\]"))


def test_what_the_server_has_not_is_offered_and_fetched_again(one_page: Page, explore: Explore) -> None:
    """After 404 the page has to offer it again; tests/browser/test_files.py has the other reasons."""
    asked = Counter[str]()

    def fail_once(route: Route) -> None:
        asked[route.request.url] += 1
        if asked[route.request.url] > 1:
            route.continue_()
        else:
            route.fulfill(status=404)

    one_page.route(f"**{ARRAYS}*", fail_once)
    explored, model = explore(few=1, layers=1, heads=2, tokens=20, log=1), Model(1, 2, 20)
    expect(explored.section).to_have_attribute("data-exact", "true")
    assert explored.value_at(7, 3) == pytest.approx(float(model.weights[0, 0, 7, 3]), abs=HALF_A_STEP)
    assert explored.section.evaluate("section => section.attnviz.files.failed.size") == 0
    assert len(asked) > 1, "what all heads share, and the head"
    assert "'view', {}" in one_page.get_by_text("log [").inner_text()
    one_page.unroute_all(behavior="wait")


def test_without_a_connection_the_viewer_may_ask_again(one_page: Page, explore: Explore) -> None:
    one_page.route(f"**{ARRAYS}*", lambda route: route.abort())
    explored = explore(tokens=24)
    again = explored.section.get_by_role("button", name="Ask again")
    expect(again).to_be_visible()
    one_page.unroute_all(behavior="wait")
    again.click()
    expect(explored.section).to_have_attribute("data-exact", "true")
    expect(again).to_be_hidden()
    exact = float(Model(tokens=24).weights[0, 0, 7, 3])
    assert explored.value_at(7, 3) == pytest.approx(exact, abs=HALF_A_STEP)


def test_quick_steps_are_not_undone_by_slow_responses(explore: Explore) -> None:
    explored = explore(log=1)
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


def test_hostile_tokens_and_labels_are_text(explore: Explore) -> None:
    explored = explore()
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


def test_a_change_of_theme_repaints(explore: Explore) -> None:
    explored = explore()
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


def test_all_of_it_is_seen_at_once_on_a_laptop(explore: Explore) -> None:
    explored = explore()
    for part in (".grid", ".filter summary", ".attnviz-lines", ".attnviz-board", ".readout"):
        box = explored.section.locator(part).bounding_box()
        assert box, part
        assert box["y"] + box["height"] <= 720, part


LEVELS = """async (section) => {
  const { Pen } = await import("/frontend/pen/pen.ts");
  const { board, lines } = section.attnviz.view.pictures;
  const top = (one) => one.element.getBoundingClientRect().top;
  const pen = new Pen();
  lines.element.attnvizPicture.paint(pen, { theme: "light" });
  const [{ y, height }] = board.panels();
  const ISOLATED = /[\u2068\u2069]/g;
  const left = pen.marks.filter(({ kind, anchor }) => kind === "text" && anchor === "end");
  return {
    rows: Array.from({ length: height }, (_, i) => top(board) + y._offset + y.l2p(i)),
    labels: left.map(({ text, matrix, size }) => [text.replace(ISOLATED, ""), top(lines) + matrix[5] - size / 3]),
    scrolls: lines.layout.travel > 0,
  };
}"""
"""The middles of the heatmap's rows and of the labels of queries beside the lines, in the window."""


@pytest.mark.parametrize(
    ("width", "height", "tokens", "is_level"),
    [(1280, 720, 12, True), (1280, 720, 60, False), (1920, 1080, 60, True)],
)
def test_a_line_begins_level_with_its_row_of_the_heatmap(
    explore: Explore, one_page: Page, width: int, height: int, tokens: int, *, is_level: bool
) -> None:
    one_page.set_viewport_size({"width": width, "height": height})
    explored = explore(tokens=tokens)
    names = Model(1, 1, tokens).labels
    seen = explored.section.evaluate(LEVELS)
    title, *labels = seen["labels"]
    assert seen["scrolls"] == (not is_level)
    assert title[0] == "query (from)"
    if is_level:
        assert len(labels) >= tokens / 2
        for name, y in labels:
            (row,) = [i for i, at in enumerate(seen["rows"]) if abs(at - y) < 1.5]
            first, *shortened = name.split("…")
            assert names[row].startswith(first) and (shortened or names[row] == name)
        assert title[1] < seen["rows"][0]


def test_it_works_on_a_phone(one_touch_page: Page, served: str) -> None:
    one_touch_page.set_viewport_size({"width": 390, "height": 844})
    explored = Explored.open(one_touch_page, served)
    expect(explored.section.locator(".hint .how")).to_have_text("Tap a head to choose it.")
    assert explored.page.evaluate("document.documentElement.scrollWidth") <= 390
    boxes = [explored.section.locator(part).bounding_box() for part in (".grid", ".attnviz-lines", ".attnviz-board")]
    assert all(box and box["x"] >= 0 and box["x"] + box["width"] <= 390 for box in boxes)
    tops = [box["y"] for box in boxes if box]
    assert all(a < b for a, b in pairwise(tops))
    expect(explored.section.get_by_label("Special tokens")).to_be_hidden()
    explored.section.get_by_text("Filter").tap()
    expect(explored.section.get_by_label("Special tokens")).to_be_visible()


def test_the_filter_is_opened_and_closed_by_keys(explore: Explore) -> None:
    explored = explore()
    button, field = explored.section.locator(".filter summary"), explored.section.get_by_label("Special tokens")
    expect(field).to_be_hidden()
    button.press("Enter")
    expect(button).to_have_attribute("aria-expanded", "true")
    field.press("Escape")
    expect(field).to_be_hidden()
    expect(button).to_be_focused()
    expect(button).to_have_attribute("aria-expanded", "false")


@pytest.mark.parametrize(("layers", "heads", "tokens"), [(1, 1, 1), (24, 16, 5)])
def test_the_smallest_and_a_large_model_are_shown(explore: Explore, layers: int, heads: int, tokens: int) -> None:
    explored, model = explore(layers=layers, heads=heads, tokens=tokens), Model(layers, heads, tokens)
    explored.choose(layers - 1, heads - 1)
    expect(explored.section).to_have_attribute("data-chosen", f"{layers - 1}.{heads - 1}")
    explored.section.locator(".attnviz-board").scroll_into_view_if_needed()
    expected = float(model.weights[-1, -1, tokens - 1, 0])
    assert explored.value_at(tokens - 1, 0) == pytest.approx(expected, abs=HALF_A_STEP)


def test_pictures_stay_sharp_when_the_window_moves_to_a_denser_screen(explore_fresh: Explore, page: Page) -> None:
    page.add_init_script(SCREENS)
    explored = explore_fresh(few=1, tokens=20)
    densities = """(section) => [...section.querySelectorAll('canvas')]
      .filter((canvas) => canvas.checkVisibility() && canvas.clientWidth > 40)
      .map((canvas) => canvas.width / canvas.clientWidth)"""
    before = explored.section.evaluate(densities)
    assert len(before) >= 3, "lines, heatmap and thumbnails"
    for density in (2, 1.5):  # it moves twice
        move_to(page, density)
        expected = [pytest.approx(density * one, rel=0.02) for one in before]
        assert in_the_end(page, lambda: explored.section.evaluate(densities), lambda now: now == expected) == expected  # noqa: B023


# ---- choosing heads, by pointer and by keys


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


# ---- pointing and pinning: what lights up, what is shown, what stays


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


# ---- the filters, against what torch and numpy make of the same weights


def test_special_tokens_are_hidden_and_rows_renormalised(explore: Explore) -> None:
    explored, model, head = explore(), Model(), 5
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


def test_what_cant_be_renormalised_is_not_shown(explore: Explore) -> None:
    explored, model = explore(), Model()
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
    value = explored.value_at(q, k)
    # Little is left, so fewer digits are certain, and no more are shown.
    assert value == pytest.approx(float(oracle[k]), abs=1.5 / 65535 / float(left[q]))
    expect(explored.tooltip.locator(".result")).to_contain_text("≈")


def test_only_weights_between_sentences_are_kept(explore: Explore) -> None:
    explored, model = explore(pair=1), Model(pair=True)
    groups = model.groups
    first, second = groups.index(1), groups.index(2)
    for option, shown in {"ab": (first, second), "ba": (second, first), "aa": (first, first + 1)}.items():
        explored.set("Sentences", option)
        assert explored.value_at(*shown) == pytest.approx(float(model.weights[0, 0][shown]), abs=HALF_A_STEP)
        explored.point_at_cell(0, second)
        expect(explored.tooltip.locator(".none")).to_have_text("hidden")
        total = groups.count(1 if option[0] == "a" else 2) * groups.count(1 if option[1] == "a" else 2)
        expect(explored.section.locator(".drawn")).to_contain_text(f"of {total} weights")


def test_norm_weighted_values_are_weight_times_norm(explore: Explore) -> None:
    explored, model = explore(), Model()
    explored.choose(2, 2)
    explored.set("Values", "norms")
    product = model.weights[2, 2] * model.key_norms[2, 2]
    for q, k in [(3, 2), (15, 15)]:
        assert explored.value_at(q, k) == pytest.approx(float(product[q, k]), abs=4 * HALF_A_STEP)
    expect(explored.section.locator("[data-field=values] .note")).to_contain_text("Kobayashi")
    measures = explored.section.locator("dl.measures")
    expect(measures).to_contain_text("of norms, each row divided by its sum")
    found = [float(text.removesuffix(" bits")) for text in measures.locator("dd").all_inner_texts()]
    assert found == pytest.approx(model.norm_measures[2, 2].tolist(), abs=2e-3)


def test_what_is_drawn_is_counted(explore: Explore) -> None:
    explored, weights = explore(), Model().weights[0, 0]
    drawn = explored.section.locator(".drawn")
    expect(drawn).to_have_text(f"{int((weights >= 0.05).sum())} of 256 weights are drawn as lines: those ≥ 0.05.")
    explored.set("Strongest", "1")
    strongest = int((weights.amax(-1) >= 0.05).sum())
    expect(drawn).to_contain_text(f"{strongest} of 256 weights are drawn as lines: the 1 strongest of each query")
    explored.section.get_by_label("Threshold").fill("50")
    expect(explored.section.locator(".amount")).to_have_text("≥ 0.25")
    expect(drawn).to_contain_text(f"{int((weights.amax(-1) >= 0.25).sum())} of 256")


def test_causal_models_show_only_what_exists(explore: Explore) -> None:
    explored, model = explore(causal=1), Model(causal=True)
    assert explored.value_at(6, 6) == pytest.approx(float(model.weights[0, 0, 6, 6]), abs=HALF_A_STEP)
    explored.point_at_cell(6, 7)
    expect(explored.tooltip.locator(".none")).to_have_text("masked")
    expect(explored.section.locator(".drawn")).to_contain_text("of 136 weights")
    expect(explored.section.locator(".drawn")).to_contain_text("120 of 256 cells are masked (hatched)")


@pytest.mark.parametrize(("tokens", "keys"), [(5, 30), (30, 4)])
def test_cross_attention_has_other_keys_than_queries(explore: Explore, tokens: int, keys: int) -> None:
    explored, model = explore(tokens=tokens, keys=keys), Model(tokens=tokens, keys=keys)
    explored.choose(4, 2)
    exact = model.weights[4, 2]
    assert explored.value_at(tokens - 1, keys - 1) == pytest.approx(float(exact[-1, -1]), abs=HALF_A_STEP)
    expect(explored.tooltip.locator(".token.key .text")).to_have_text(f"k{keys - 1}")
    explored.point_at_token(1, 2)
    best = torch.sort(exact[:, 2], descending=True).values[:3]
    assert explored.values() == pytest.approx(best.tolist(), abs=HALF_A_STEP)


def test_rollout_takes_the_place_of_a_head(explore: Explore) -> None:
    explored, model = explore(), Model()
    explored.choose(3, 4)
    explored.check("rollout up to layer 3")
    expect(explored.section).to_have_attribute("data-exact", "true")
    assert explored.value_at(8, 2) == pytest.approx(float(model.rollout[3, 8, 2]), abs=HALF_A_STEP)
    expect(explored.section.locator(".drawn")).to_contain_text("Abnar and Zuidema")
    explored.check("rollout up to layer 3", is_on=False)
    expect(explored.section).to_have_attribute("data-chosen", "3.4")
