"""Words light the picture, and the picture lights words: by pointer, keyboard and tap, with nothing sent before."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import torch
from playwright.sync_api import Locator, Page, expect

from attnviz.document import document_of_layer, write
from attnviz.toy.config import ToyConfig
from attnviz.trace.walk import Walk
from tests.browser.apps.walk_page import WalkPage, WalkView, serving
from tests.browser.settle import frames, in_the_end
from tests.loaded import built_in_model
from tests.toy import run_block

TEXT = "My sister bought a bicycle because she wanted to ride it to work."
PIECES = ("the", "<b>cat</b>", "saw", "the", "[dog](row=1)", "run")
BOXES = """([panel, shape]) => {
  const svg = deepFind('[data-attnviz-overlay]');
  const { left, top } = svg.getBoundingClientRect();
  return [...svg.querySelectorAll(`[data-state=hovered][data-panel="${panel}"][data-shape="${shape}"]`)].map((mark) => {
    const { x, y, width, height } = mark.getBBox();
    return [left + x, top + y, width, height];
  });
}"""
"""Where marks of one kind lie over a matrix, in the window."""

pytestmark = pytest.mark.page("one_page")


def document_of(walk: Walk) -> bytes:
    return write(document_of_layer(walk, thumbnails=True))


@pytest.fixture(scope="module")
def bert() -> Iterator[WalkPage]:
    with serving(WalkPage({3: document_of(built_in_model().trace(TEXT).walk(3, 1))})) as page:
        yield page


@pytest.fixture(scope="module")
def toy() -> Iterator[WalkPage]:
    with serving(WalkPage({0: document_of(run_block(range(1, 7), ToyConfig(causal=True), PIECES).walk(0, 0))})) as page:
        yield page


def word(page: Page, text: str) -> Locator:
    return page.locator(".notice").get_by_role("button", name=text, exact=True)


def middles(view: WalkView, panel: str, shape: str) -> list[tuple[float, float]]:
    frames(view.page)
    boxes: list[list[float]] = view.page.evaluate(BOXES, [panel, shape])
    return [(x + width / 2, y + height / 2) for x, y, width, height in boxes]


def test_pointing_at_a_word_lights_what_it_names_in_every_matrix(page: Page, bert: WalkPage) -> None:
    view = WalkView.open(page, bert.url, step="weights", head=1)
    expect(page.locator(".notice .marked")).to_have_count(4)
    word(page, "row 11, “it”").hover()
    assert view.marks() == {("masked", "row"), ("weights", "row"), ("row_sum", "row")}
    assert middles(view, "weights", "row")[0][1] == pytest.approx(view.at("weights", 11, 0)[1], abs=1)
    word(page, "column 5, “bicycle”").hover()
    assert view.marks() == {("masked", "column"), ("weights", "column")}
    assert middles(view, "weights", "column")[0][0] == pytest.approx(view.at("weights", 0, 5)[0], abs=1)
    word(page, "97 %").hover()
    assert view.marks() == {("weights", "row"), ("weights", "column"), ("weights", "cell")}
    assert middles(view, "weights", "cell") == [pytest.approx(view.at("weights", 11, 5), abs=1)]
    word(page, "sums to 1").hover()
    assert view.marks() == {("row_sum", "region"), ("row_sum", "region-edge")}
    view.leave()
    assert view.marks() == set()
    assert view.changes == [], "pointing changes nothing"


def test_a_click_pins_before_anything_is_sent_and_the_word_shows_it(page: Page, bert: WalkPage) -> None:
    view = WalkView.open(page, bert.url, step="weights", head=1)
    row, cell = word(page, "row 11, “it”"), word(page, "97 %")
    row.click()
    view.pinned(11, None, 1)
    assert ("weights", "row") in view.marks("pinned")
    expect(row).to_have_attribute("aria-pressed", "true")
    expect(row).to_have_attribute("data-lit", "pin")
    cell.click()
    view.pinned(11, 5, 2)
    expect(view.panel.locator(".badge")).to_have_text("pinned")
    expect(row).to_have_attribute("aria-pressed", "false")
    cell.click()
    view.pinned(None, None, 3)
    frames(page)
    assert view.marks("pinned") == view.marks() == set(), "a second click lets go of it"
    painted_first = page.evaluate("""async () => {
      const seen = [];
      const { changed } = walk.home;
      walk.home.changed = (values) => {
        const { q, k } = walk.view.inspector.pin;
        seen.push([q, k]);
        changed(values);
      };
      [...document.querySelectorAll('.notice .marked')].at(-1).click();
      return seen;
    }""")
    assert painted_first == [[None, 5]]


def test_words_light_up_for_what_is_pointed_at_or_pinned(page: Page, bert: WalkPage) -> None:
    view = WalkView.open(page, bert.url, step="weights", head=1)

    def lit() -> list[str]:
        frames(page)
        frames(page)
        return [one.replace("\xa0", " ") for one in page.locator(".notice .marked[data-lit]").all_text_contents()]

    assert lit() == []
    view.hover("weights", 11, 2)
    assert lit() == ["row 11, “it”"]
    view.hover("masked", 11, 5)
    assert lit() == ["row 11, “it”", "column 5, “bicycle”"], "the weight is not in this matrix"
    view.hover("weights", 11, 5)
    assert lit() == ["row 11, “it”", "97 %", "column 5, “bicycle”"]
    view.hover("row_sum", 4, 0)
    assert lit() == ["sums to 1"]
    view.click("weights", 11, 0)
    view.leave()
    assert lit() == ["row 11, “it”", "1 %", "column 0, “[CLS]”"], "the notice speaks of the pinned cell"


def test_words_are_reached_by_keyboard(page: Page, bert: WalkPage) -> None:
    view = WalkView.open(page, bert.url, step="weights", head=1)
    word(page, "sums to 1").focus()
    page.keyboard.press("Tab")
    expect(word(page, "row 11, “it”")).to_be_focused()
    assert ("weights", "row") in view.marks()
    page.keyboard.press("Enter")
    view.pinned(11, None, 1)
    page.keyboard.press("Tab")
    page.keyboard.press(" ")
    view.pinned(11, 5, 2)
    page.keyboard.press("Escape")
    view.pinned(None, None, 3)
    word(page, "sums to 1").focus()
    page.keyboard.press("Enter")
    page.keyboard.press("Shift+Tab")
    assert ("row_sum", "region") in view.marks(), "what can't be pinned stays lit"
    expect(word(page, "sums to 1")).to_have_attribute("aria-pressed", "true")
    page.keyboard.press("Escape")
    assert view.marks() == set()
    assert len(view.changes) == 3


def test_a_covered_row_is_not_given_away(page: Page, toy: WalkPage) -> None:
    view = WalkView.open(page, toy.url, step="weights", q=4, predict=1)
    expect(page.locator(".fact")).to_be_empty()
    named = """(target) => {
      const empty = { row: null, column: null, matrix: '', part: '', layer: null, head: null };
      walk.view.inspector.name({ ...empty, ...target });
    }"""
    page.evaluate(named, {"row": 4, "column": 1})
    assert {shape for panel, shape in view.marks() if panel == "weights"} == {"row"}
    for part in ("largest", "smallest"):
        for row in (4, None):
            page.evaluate(named, {"part": part, "row": row, "matrix": "weights"})
            assert view.marks() == set()
    page.evaluate(named, {"part": "largest", "row": 3, "matrix": "weights"})
    assert view.marks() == {("weights", "region"), ("weights", "region-edge")}
    page.evaluate("walk.view.inspector.pinNamed({ row: 4, column: 1 })")
    view.pinned(None, None, 1)  # its row was pinned, and stays covered
    page.evaluate("walk.view.inspector.pinNamed({ row: 2, column: 1 })")
    view.pinned(2, 1, 2)  # now row 2 is covered
    page.keyboard.press("r")
    page.evaluate(named, {"row": 2, "column": 1})
    assert ("weights", "cell") in view.marks()


def test_hidden_cells_the_diagonal_and_a_head_are_outlined(page: Page, toy: WalkPage) -> None:
    view = WalkView.open(page, toy.url, step="masked", head=0)
    word(page, "15 of 36 cells").hover()
    assert view.marks() == {("masked", "region"), ("masked", "region-edge")}
    inside = """([name, cells]) => {
      const svg = deepFind('[data-attnviz-overlay]');
      const path = svg.querySelector(`[data-panel=${name}][data-shape=region][data-state=hovered]`);
      const { x, y } = deepFind('.attnviz-board').attnviz.panels().find((one) => one.name === name);
      return cells.map(([i, j]) => {
        const point = Object.assign(svg.createSVGPoint(), { x: x._offset + x.l2p(j), y: y._offset + y.l2p(i) });
        return path.isPointInFill(point);
      });
    }"""
    cells = [[i, j] for i in range(6) for j in range(6)]
    assert page.evaluate(inside, ["masked", cells]) == [j > i for i, j in cells]
    page.evaluate("walk.view.inspector.name({ row: null, column: null, matrix: '', part: 'diagonal', head: null })")
    frames(page)
    assert page.evaluate(inside, ["masked", cells]) == [j == i for i, j in cells]
    view.step("Concat")
    page.wait_for_function("() => !deepFind('.attnviz-board').attnviz.changing")
    word(page, "head 0").hover()
    frames(page)
    columns = [[2, j] for j in range(16)]
    assert page.evaluate(inside, ["concat", columns]) == [j < 8 for _, j in columns]


def test_tokens_with_markup_are_text_and_named_by_their_position(page: Page, toy: WalkPage) -> None:
    view = WalkView.open(page, toy.url, step="weights")
    weights = torch.from_numpy(view.matrix("weights")).nan_to_num(0).fill_diagonal_(-1)
    q, k = divmod(int(weights.argmax()), 6)
    word(page, f"row {q}, “{PIECES[q]}”").hover()
    assert middles(view, "weights", "row")[0][1] == pytest.approx(view.at("weights", q, 0)[1], abs=1)
    expect(word(page, f"column {k}, “{PIECES[k]}”")).to_be_visible()
    assert page.locator(".notice b").count() == 0


def test_a_walk_that_is_not_the_whole_page_hears_its_own_words_only(page: Page, bert: WalkPage) -> None:
    view = WalkView.open(page, bert.url, step="weights", head=1, alone=1)
    page.evaluate("""() => {
      const other = document.querySelector('.notice .marked').cloneNode(true);
      other.textContent = 'elsewhere';
      document.body.prepend(other);
    }""")
    page.get_by_role("button", name="elsewhere").hover()
    assert view.marks() == set()
    word(page, "row 11, “it”").hover()
    assert ("weights", "row") in view.marks()
    word(page, "row 11, “it”").click()
    view.pinned(11, None, 1)


def test_a_tap_pins_and_brings_the_picture_into_view(one_touch_page: Page, bert: WalkPage) -> None:
    page = one_touch_page
    page.set_viewport_size({"width": 390, "height": 500})
    view = WalkView.open(page, bert.url, step="weights", head=1)
    word(page, "97 %").scroll_into_view_if_needed()
    word(page, "97 %").tap()
    view.pinned(11, 5, 1)
    assert ("weights", "cell") in view.marks("pinned")
    cell = page.locator("[data-panel=weights][data-shape=cell][data-state=pinned]")
    assert in_the_end(page, lambda: 0 < (cell.bounding_box() or {"y": -1})["y"] < 480, bool)
    expect(page.locator(".inspector:popover-open")).to_have_count(0)
    word(page, "sums to 1").scroll_into_view_if_needed()
    word(page, "sums to 1").tap()
    assert ("row_sum", "region") in view.marks()
    word(page, "sums to 1").scroll_into_view_if_needed()
    word(page, "sums to 1").tap()
    assert ("row_sum", "region") not in view.marks()
