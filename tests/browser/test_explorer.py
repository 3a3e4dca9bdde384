"""The explorer in a real browser, on a page of its own: what is sent and when, and how it looks."""

from __future__ import annotations

import re
from collections import Counter
from itertools import pairwise
from typing import Any

import pytest
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


@pytest.mark.parametrize(
    ("tokens", "answer"),
    [(20, {"status": 404}), (21, {"status": 429, "headers": {"Retry-After": "1"}}), (22, {"status": 500}), (23, None)],
)  # a length of each, so that what is fetched is new to the page
def test_what_does_not_come_at_once_is_fetched_again(
    one_page: Page, explore: Explore, tokens: int, answer: dict[str, Any] | None
) -> None:
    """404 means that the page has to offer it again, None that there is no connection."""
    asked = Counter[str]()

    def fail_once(route: Route) -> None:
        asked[route.request.url] += 1
        if asked[route.request.url] > 1:
            route.continue_()
        elif answer:
            route.fulfill(**answer)
        else:
            route.abort()

    one_page.route(f"**{ARRAYS}*", fail_once)
    explored, model = explore(few=1, layers=1, heads=2, tokens=tokens, log=1), Model(1, 2, tokens)
    expect(explored.section).to_have_attribute("data-exact", "true")
    assert explored.value_at(7, 3) == pytest.approx(float(model.weights[0, 0, 7, 3]), abs=HALF_A_STEP)
    assert explored.section.evaluate("section => section.attnviz.files.failed.size") == 0
    assert len(asked) > 1, "what all heads share, and the head"
    runs = one_page.get_by_text("log [").inner_text().count("'view', {}")
    assert runs > 0 if answer == {"status": 404} else runs == 0
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


@pytest.mark.parametrize(("layers", "heads", "tokens"), [(1, 1, 1), (24, 16, 5), (12, 12, 32)])
def test_models_of_all_sizes_are_shown(explore: Explore, layers: int, heads: int, tokens: int) -> None:
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
