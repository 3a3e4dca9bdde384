"""The inspector in a real browser: what it shows of what is pointed at and pinned, and what it lights."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from attnviz.figures.style import ROWS_AND_COLUMNS
from tests.browser.apps.operands import HOSTILE, Operands, oracle
from tests.browser.apps.walk_page import See, WalkView
from tests.browser.settle import frames, in_the_end

FRESH = "Point at a cell to see its arithmetic; click or tap to pin it."

pytestmark = pytest.mark.page("one_page")


def test_hovering_lights_the_same_row_and_column_in_every_panel(see: See) -> None:
    inspector = see(step="scores")
    assert inspector.marks() == set()
    inspector.hover("scores", 3, 1)
    expect(inspector.panel.locator("[data-line=scores]")).to_be_visible()
    lit = {("query", "row"), ("key_t", "column"), ("scores", "row"), ("scores", "column"), ("scores", "cell")}
    assert inspector.marks() == lit
    outlined = inspector.page.locator("[data-attnviz-overlay] [data-panel=scores][data-shape=cell]").bounding_box()
    assert outlined
    x, y = inspector.at("scores", 3, 1)
    assert abs(outlined["x"] + outlined["width"] / 2 - x) < 1
    assert abs(outlined["y"] + outlined["height"] / 2 - y) < 1
    inspector.leave()
    expect(inspector.panel.get_by_text(FRESH)).to_be_visible()
    assert inspector.marks() == set()


def test_a_click_pins_at_once_and_escape_lets_go(see: See) -> None:
    inspector = see(step="weights")
    inspector.click("weights", 3, 2)
    expect(inspector.panel.locator(".badge")).to_have_text("pinned")
    inspector.pinned(3, 2, changes=1)
    inspector.leave()
    weight = oracle(Operands())["weights"][3, 2]
    assert inspector.result("weights") == pytest.approx(weight, abs=1e-9)
    expect(inspector.panel.locator("[aria-live=polite]")).to_have_text(
        f'Pinned query 3 "\u202etfel", key 2 "{HOSTILE}": weight {weight:.4f}.'
    )
    assert ("weights", "cell") in inspector.marks("pinned")
    inspector.hover("weights", 8, 8)
    expect(inspector.panel.locator(".badge")).to_have_text("under the pointer")
    assert ("weights", "cell") in inspector.marks("pinned-behind")
    inspector.page.keyboard.press("Escape")
    inspector.pinned(None, None, changes=2)
    inspector.leave()
    expect(inspector.panel.get_by_text(FRESH)).to_be_visible()
    inspector.click("weights", 5, 1)
    inspector.pinned(5, 1, changes=3)
    inspector.panel.get_by_role("button", name="unpin").click()
    inspector.pinned(None, None, changes=4)


def test_while_a_head_is_computed_no_arithmetic_stands_beside_it_and_a_pin_can_be_left(see: See) -> None:
    inspector = see(step="scores")
    inspector.click("scores", 4, 4)
    inspector.pinned(4, 4, changes=1)
    seen = "getComputedStyle(walk.view.inspector.view.section).visibility"
    assert inspector.page.evaluate(seen) == "visible"
    inspector.page.evaluate("walk.view.inspector.wait()")
    assert inspector.page.evaluate(seen) == "hidden"
    inspector.page.keyboard.press("Escape")
    inspector.page.evaluate("walk.inspect(walk.store.current)")
    inspector.pinned(None, None, changes=2)
    assert inspector.page.evaluate(seen) == "visible"


def test_a_pinned_row_says_where_it_looks(see: See) -> None:
    inspector = see(step="weights", mask="array")
    given = Operands(mask="array")
    weights = oracle(given)["weights"]
    looks = inspector.panel.get_by_role("list", name="Where the row looks")
    for row in (7, 2, 5, 11):  # row 5 is hidden throughout: it looks nowhere
        inspector.panel.get_by_label("query row").fill(str(row))
        expected = [int(k) for k in (-weights[row]).argsort()[:3] if weights[row, k] > 0]
        expect(looks.locator("li[data-key]")).to_have_count(len(expected))
        for place, k in enumerate(expected):
            expect(looks.locator("li[data-key]").nth(place)).to_have_attribute("data-key", str(k))
        listed = looks.locator("li[data-key]").evaluate_all(
            "all => all.map((one) => [+one.dataset.key, +one.querySelector('[data-result]').dataset.value])"
        )
        assert [x for _, x in listed] == pytest.approx([weights[row, k] for k in expected], abs=1e-9)
        if expected:
            whole = looks.locator(".row-sum [data-result]").get_attribute("data-value")
            assert float(whole or "nan") == pytest.approx(weights[row].sum(), abs=1e-9)
    inspector.panel.get_by_label("key column").fill("2")
    expect(looks).to_be_hidden()
    expect(inspector.line("weights")).to_be_visible()
    expect(inspector.line("weights").locator(".row-sum")).to_contain_text(f"Σⱼ = {weights[11].sum():.4f}")


def test_the_number_fields_pin_any_cell_by_keyboard(see: See) -> None:
    inspector = see(step="scores")
    query = inspector.panel.get_by_label("query row")
    query.focus()
    inspector.page.keyboard.type("3")
    inspector.page.keyboard.press("Tab")
    inspector.page.keyboard.type("99")  # there are 12 keys: the last is meant
    inspector.pinned(3, 11, changes=3)
    assert inspector.result("scores") == pytest.approx(oracle(Operands())["scores"][3, 11], abs=1e-9)
    query.focus()
    expect(inspector.panel.get_by_label("key column")).to_have_value("11")
    for _ in range(3):
        inspector.page.keyboard.press("ArrowUp")
    inspector.pinned(6, 11, changes=6)
    inspector.page.keyboard.press("Escape")
    inspector.pinned(None, None, changes=7)


def test_a_number_that_is_left_before_it_was_drawn_stays(see: See) -> None:
    """On a machine that is busy Tab comes before the next frame."""
    inspector = see(step="scores")
    left = inspector.panel.evaluate("""(panel) => {
      const [query, key] = panel.querySelectorAll('.fields input');
      query.focus();
      query.value = '33';  // there are 12
      query.dispatchEvent(new Event('input', { bubbles: true }));
      key.focus();
      return query.value;
    }""")
    assert left == "11"
    inspector.pinned(11, None, changes=1)
    expect(inspector.panel.get_by_label("query row")).to_have_value("11")


def test_hostile_tokens_are_shown_as_text(see: See) -> None:
    inspector = see(step="head_outputs")
    opened: list[str] = []
    inspector.page.once("dialog", lambda dialog: (opened.append(dialog.message), dialog.dismiss()))
    inspector.click("weights", 2, 2)
    token = inspector.panel.locator(".token")
    expect(token).to_have_text([HOSTILE, HOSTILE])
    inspector.hover("head_outputs", 2, 1)
    inspector.panel.locator("[data-terms=product]").evaluate("details => { details.open = true }")
    expect(inspector.panel.locator("[data-terms=product] .term-label").nth(2)).to_have_text(f"2 {HOSTILE}")
    assert inspector.panel.locator("img").count() == 0
    assert opened == []


def test_the_step_of_the_page_is_marked_and_later_ones_dimmed(see: See) -> None:
    inspector = see(step="scaled")
    inspector.hover("scaled", 1, 1)
    now = inspector.panel.locator("[aria-current=step]")
    expect(now).to_have_attribute("data-line", "scaled")
    later = inspector.panel.locator(".line.later")
    names = later.evaluate_all("all => all.map((x) => x.dataset.line)")
    assert names == ["masked", "weights", "head_outputs"]


def test_a_picture_that_comes_after_the_sentence_is_followed(see: See) -> None:
    inspector = see(step="tokens")
    expect(inspector.panel).to_be_hidden()
    inspector.page.set_viewport_size({"width": 1200, "height": 700})
    frames(inspector.page)
    inspector.step("Weights")
    inspector.hover("weights", 3, 1)
    assert inspector.result("weights") == pytest.approx(oracle(Operands())["weights"][3, 1], abs=1e-9)
    assert ("weights", "cell") in inspector.marks()
    inspector.step("Sentence")
    inspector.page.wait_for_timeout(100)
    assert inspector.marks() == set()


def zoom_with_the_wheel(inspector: WalkView) -> None:
    inspector.hover("scores", 3, 2)
    inspector.page.keyboard.down("Control")
    inspector.page.mouse.wheel(0, -300)
    inspector.page.keyboard.up("Control")


def zoom_with_a_drag(inspector: WalkView) -> None:
    start, end = inspector.at("scores", 1, 0), inspector.at("scores", 6, 5)
    inspector.page.mouse.move(*start)
    inspector.page.mouse.down()
    inspector.page.mouse.move(*end, steps=5)
    inspector.page.mouse.up()


@pytest.mark.parametrize(("drawing", "zoom"), [("stage", zoom_with_the_wheel), ("chart", zoom_with_a_drag)])
def test_hovering_goes_on_after_a_zoom_and_after_the_picture_was_made_anew(
    see: See, drawing: str, zoom: Callable[[WalkView], None]
) -> None:
    inspector = see(step="scores", drawing=drawing)
    if drawing == "chart":
        expect(inspector.page.locator(".js-plotly-plot .heatmaplayer image")).to_have_count(3)
    inspector.click("scores", 3, 2)
    inspector.pinned(3, 2, changes=1)
    inspector.leave()
    pinned = inspector.page.locator("[data-state=pinned][data-shape=cell][data-panel=scores]")
    before = pinned.bounding_box()
    assert before
    zoom(inspector)
    inspector.leave()
    wide = before["width"] * 1.5
    after = in_the_end(inspector.page, pinned.bounding_box, lambda box: box is not None and box["width"] > wide)
    assert after
    assert after["width"] > wide
    inspector.pinned(3, 2, changes=1)  # a zoom is no click
    inspector.page.get_by_role("button", name="head 2").click()
    inspector.pinned(3, 2, changes=2)

    def shown() -> float:
        inspector.leave()
        inspector.hover("scores", 2, 3)
        return inspector.result("scores")

    expected = pytest.approx(oracle(Operands(seed=2))["scores"][2, 3], abs=1e-9)
    found = in_the_end(inspector.page, shown, lambda score: score == expected)  # plotly.js draws when it can
    assert found == expected
    expect(inspector.panel.get_by_role("heading")).to_contain_text("row 2")


def test_the_head_strip_is_made_of_buttons(see: See) -> None:
    inspector = see(step="weights", mask="causal", heads=12)
    strip = inspector.page.get_by_role("group", name="heads of layer 3")
    buttons = strip.get_by_role("button")
    expect(buttons).to_have_count(12)
    expect(buttons.nth(0)).to_have_attribute("aria-pressed", "true")
    expect(buttons.nth(5)).to_have_attribute("title", f"layer 3 · head 5. {ROWS_AND_COLUMNS}")
    strip.get_by_role("button", name="head 3").press("Enter")
    assert inspector.changes == [{"head": 3}]
    expect(strip.locator("[aria-pressed=true]")).to_have_attribute("aria-label", "head 3")
    corner = "canvas => [...canvas.getContext('2d').getImageData(1, 1, 1, 1).data]"
    assert buttons.nth(0).locator("canvas").evaluate(corner) == [94, 60, 153, 255]  # token 0 sees itself only


def test_it_fits_a_phone(one_touch_page: Page, see: See) -> None:
    page = one_touch_page
    page.set_viewport_size({"width": 390, "height": 844})
    page.emulate_media(color_scheme="dark")
    inspector = see(page=page, step="weights", tokens=64, size=64, heads=12)
    expect(inspector.panel).to_have_attribute("data-theme", "dark")
    page.touchscreen.tap(*inspector.at("weights", 40, 60))
    inspector.pinned(40, 60, changes=1)
    inspector.panel.get_by_text("all 64 products").click()
    box = inspector.panel.bounding_box()
    assert box
    assert box["x"] + box["width"] <= 390
    assert inspector.panel.evaluate("panel => panel.scrollWidth <= panel.clientWidth")
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


HOVERS = """async (tokens) => {
  const graph = document.querySelector('.walk .attnviz-board');
  const { left, top } = graph.getBoundingClientRect();
  const { x, y } = graph.attnviz.panels().find(({ name }) => name === 'scores');
  const original = window.requestAnimationFrame;
  const spent = [];
  for (let i = 0; i < 20; i += 1) {
    await new Promise((next) => original(() => setTimeout(next)));
    const clientX = left + x._offset + x.l2p((i * 12) % tokens);
    const clientY = top + y._offset + y.l2p((i * 12 + 3) % tokens);
    const frames = [];
    window.requestAnimationFrame = (work) => frames.push(work);
    const start = performance.now();
    graph.dispatchEvent(new PointerEvent('pointermove', { clientX, clientY, bubbles: true }));
    if (!frames.length) throw new Error('nothing is drawn');
    for (const frame of frames) frame(0);
    spent.push(performance.now() - start);
    window.requestAnimationFrame = original;
  }
  return spent.sort((a, b) => a - b)[5];  // what it takes where nothing else has the processor
}"""
"""The ms that hovering takes, the work of the handler and of its frames, each on a page that is laid out."""


def test_a_hover_at_512_tokens_costs_hardly_more_than_at_64(page: Page, see: See) -> None:
    pages = {64: page, 512: page.context.new_page()}
    sights = {tokens: see(page=own, step="scores", tokens=tokens, size=64, heads=1) for tokens, own in pages.items()}
    spent: list[tuple[float, ...]] = []
    for _ in range(3):  # by turns, as the machine may be slower at one time than at another
        turn = []
        for tokens, inspector in sights.items():
            inspector.page.bring_to_front()
            inspector.hover("scores", 10, 10)
            expect(inspector.line("scores")).to_be_visible()
            turn.append(inspector.page.evaluate(HOVERS, tokens))
        spent.append(tuple(turn))
    pages[512].close()
    few, many = (min(times) for times in zip(*spent, strict=True))
    assert many < 4 * few, spent  # there are 64 times as many cells, and 8 times as many keys to sum over
