"""Step by step on a phone: a tap opens the arithmetic of a cell, the result comes first, the drawer closes."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from functools import partial
from statistics import median

import pytest
from playwright.sync_api import Page, expect

from attnviz.steps import WALK
from attnviz.tokens import WordTokenizer
from attnviz.toy.config import ToyConfig
from tests.browser.apps.inspector_page import InspectorPage
from tests.browser.settings import surprise
from tests.browser.settle import in_the_end, settled, settled_at, settled_once_at
from tests.toy import run_block

Window = Callable[[int, int], Page]
TEXT = "The animal didn't cross the street because it was too tired."
PHONE = (390, 844)


@pytest.fixture
def window(one_page: Page) -> Window:
    """Return the page in a window of some pixels across and down."""
    return partial(sized, one_page)


@pytest.fixture
def touch(one_touch_page: Page) -> Window:
    """Return the page on a touch screen of some pixels across and down."""
    return partial(sized, one_touch_page)


def sized(page: Page, width: int, height: int) -> Page:
    page.set_viewport_size({"width": width, "height": height})
    return page


PANEL = """([name, zooms]) => {
  const element = deepFind('.attnviz-board');
  for (let n = 0; n < zooms; n += 1) element.attnviz.zoomBy(1 / 1.6);
  return new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(() => {
    const { x, y } = element.attnviz.panels().find((one) => one.name === name);
    const { top, height } = element.getBoundingClientRect();
    drawn({ board: height, top: top + y._offset, width: x._length, height: y._length });
  })));
}"""
"""The place of a matrix, after some presses of +"""


def test_a_tap_opens_the_arithmetic_in_a_sheet(app_url: str, touch: Window) -> None:
    layer = run_block(WordTokenizer().tokenize(TEXT).ids, ToyConfig()).layer(0)
    page = touch(*PHONE)
    inspector = InspectorPage.open(page, app_url, step="weights", predict=1)
    sheet = page.locator(".inspector:popover-open")
    expect(page.get_by_text(re.compile("Row 0, “The”, is covered"))).to_be_in_viewport()
    page.locator(".menu summary").tap()
    page.get_by_role("switch", name="Guess a row").tap()
    settled(page)
    expect(page.get_by_role("button", name="Play this step")).to_be_in_viewport()  # though its picture ends below
    whole = page.evaluate(PANEL, ["weights", 0])
    assert whole["top"] < page.evaluate(PANEL, ["masked", 0])["top"]
    assert whole["top"] + whole["height"] <= 844

    expect(sheet).to_have_count(0)
    page.touchscreen.tap(*inspector.at("weights", 6, 3))
    expect(sheet).to_be_in_viewport()
    assert inspector.result("weights") == pytest.approx(float(layer.head(0).weights[6, 3]), rel=1e-5)
    covered = "(e) => e.getBoundingClientRect().top"
    assert in_the_end(page, lambda: inspector.at("weights", 6, 3)[1] < sheet.evaluate(covered), bool)
    page.get_by_role("button", name="Close").tap()
    expect(sheet).to_have_count(0)

    page.touchscreen.tap(*inspector.at("weights", 6, 3))
    expect(sheet).to_be_in_viewport()
    page.locator(".st-key-share button").first.tap()  # what opens is not covered, and the cell stays pinned
    expect(page.get_by_role("textbox", name="Address of this view")).to_be_visible()
    expect(sheet).to_have_count(0)
    assert "q=6&k=3" in page.url
    page.locator(".st-key-share button").first.tap()

    zoomed = page.evaluate(PANEL, ["weights", 3])
    assert zoomed["board"] >= 0.4 * 844
    assert zoomed["width"] == pytest.approx(whole["width"])
    assert zoomed["height"] >= whole["height"] - 1

    page.get_by_role("radio", name="Q, K, V").tap()
    settled(page)
    page.touchscreen.tap(*inspector.at("query", 5, 5))
    expect(sheet).to_be_in_viewport()
    assert inspector.result("product") == pytest.approx(float(layer.query[0, 5, 5]), rel=1e-4)


SMALL = """() => {
  const found = [];
  for (const node of deepAll()) {
    const { width, height } = node.getBoundingClientRect();
    if (!node.checkVisibility({ opacityProperty: true, visibilityProperty: true }) || width < 2) continue;
    const isField = node.matches('input:not([type=range], [type=checkbox], [type=radio]), textarea, select');
    const { fontSize } = getComputedStyle(node);
    if (isField && parseFloat(fontSize) < 16) found.push(['field', node.outerHTML.slice(0, 99)]);
    const isSmall = node.matches('.focus-buttons button') && Math.min(width, height) < 24;
    if (isSmall) found.push(['button', width, height, node.title]);
  }
  return found;
}"""
"""Fields into which a phone zooms, as their type has less than 16 px, and buttons on the picture of less than 24 px"""

LABELS = """() => {
  const board = deepFind('.attnviz-board');
  const { left, top } = board.getBoundingClientRect();
  const [first] = board.attnviz.panels().filter(({ cols }) => cols === 'key');
  const under = top + first.y._offset + first.y._length;
  const beneath = [6, 20, 36].map((down) => under + down);  // the labels, which are turned
  return beneath.flatMap((y) => [0.1, 0.5, 0.9].map((part) => {
    let found = document.elementFromPoint(left + first.x._offset + part * first.x._length, y);
    while (found?.shadowRoot) {
      const inside = found.shadowRoot.elementFromPoint(left + first.x._offset + part * first.x._length, y);
      if (!inside || inside === found) break;
      found = inside;
    }
    return found !== null && found.closest('.attnviz-board') === board;
  }));
}"""
"""Whether what one sees at places under the first matrix is the board, which draws its column labels there"""


def go_to_step(page: Page, step: str) -> None:
    """Choose a step of the open walk, and scroll up."""
    page.get_by_role("radio", name=WALK[step].title, exact=True).tap()
    expect(page.locator(".walk .attnviz-board")).to_have_attribute("data-step", step)
    settled(page).evaluate("document.querySelector('[data-testid=stMain]').scrollTop = 0")


def test_the_bar_that_plays_a_step_covers_no_labels_of_the_columns(app_url: str, touch: Window) -> None:
    page = touch(*PHONE)
    settled_at(page, f"{app_url}/?source=pretrained&step=weights")
    assert page.locator("textarea:visible").count() == 1
    for step in ("weights", "scores"):
        go_to_step(page, step)
        expect(page.get_by_role("button", name="Play this step")).to_be_in_viewport()
        assert page.evaluate(LABELS) == [True] * 9, "before anything is scrolled"
        assert page.locator(".focus-buttons button:visible").count() > 1
        assert page.evaluate(SMALL) == []
        page.locator(".attnviz-board").first.evaluate("(board) => board.scrollIntoView({ block: 'start' })")
        settled(page)
        expect(page.get_by_role("button", name="Play this step")).to_be_in_viewport()
        assert page.evaluate(LABELS) == [True] * 9


def test_no_formula_is_cut_on_a_phone(app_url: str, touch: Window) -> None:
    page = touch(*PHONE)
    root = "deepFind('.walk-formula')"
    beyond, place = f"{root}.scrollWidth - {root}.clientWidth", f"{root}.querySelector('mrow').getBoundingClientRect()"
    settled_at(page, f"{app_url}/?source=toy&positions=rotary&qk_norm=1&cap=5&sink=0&step=weights")
    for step in ("qkv", "normed", "rotated", "capped", "masked"):
        go_to_step(page, step)
        assert in_the_end(page, lambda: page.evaluate(beyond), lambda over: over == 0) == 0, step
        box = page.evaluate(f"(({{ left, right }}) => [left, right])({place})")
        assert 0 <= box[0] < box[1] <= PHONE[0], step
        size = page.evaluate(f"parseFloat(getComputedStyle({root}.firstElementChild).fontSize)")
        assert size >= 11, f"{step}: readable"
        page.evaluate("deepFind('.attnviz-board').attnviz.pointer.reset()")  # an earlier test may have zoomed in
        buttons = "deepFind('.attnviz-zoom').getBoundingClientRect()"
        foot = page.evaluate(f"{buttons}.bottom - deepFind('.attnviz-board').getBoundingClientRect().top")
        assert foot <= 88, f"{step}: the numbers of the colour bar begin there"


def test_what_a_surprise_says_is_seen(app_url: str, touch: Window) -> None:
    page = touch(*PHONE)
    page.emulate_media(color_scheme="dark")
    settled_at(page, app_url)
    surprise(page)
    expect(page.locator(".said")).to_be_in_viewport()
    settled(page)
    chosen = page.locator(".strip [aria-pressed=true]")
    expect(chosen).to_be_in_viewport()
    page.locator(".strip button").last.click()
    settled(page)
    expect(chosen).to_have_text("11")
    page.reload()
    settled(page)
    expect(chosen).to_have_text("11")
    expect(chosen).to_be_in_viewport()
    page.evaluate("document.querySelector('[data-testid=stMain]').scrollTo(0, 300)")
    behind = page.locator("[data-testid=stHeader]")  # what scrolls below the name and the toolbar is not seen there
    assert behind.evaluate("header => getComputedStyle(header).backgroundColor").startswith("rgb(")  # not transparent
    assert page.evaluate("document.elementFromPoint(30, 28)?.textContent") == "attnviz"
    assert page.evaluate("document.elementFromPoint(195, 56)?.closest('[data-testid=stHeader]') !== null")


def test_the_tabs_of_the_first_page_stand_in_one_line(app_url: str, touch: Window) -> None:
    page = touch(*PHONE)
    settled_at(page, f"{app_url}/lessons")
    assert page.get_by_role("tablist").evaluate("(list) => list.scrollWidth - list.clientWidth") == 0


def test_the_drawer_closes_by_its_button_after_a_choice_and_by_a_tap_beside_it(app_url: str, touch: Window) -> None:
    page = touch(*PHONE)
    page.goto(f"{app_url}/?step=weights")  # of the toy: the address alone opens BERT
    settled(page)
    side_bar = page.get_by_test_id("stSidebar")
    ends: list[Callable[[], None]] = [
        lambda: page.get_by_test_id("stSidebarCollapseButton").get_by_role("button").tap(),
        lambda: page.touchscreen.tap(370, 560),
        lambda: side_bar.get_by_text("Real BERT").tap(),
    ]
    for end in ends:
        page.get_by_role("button", name="Settings", exact=True).tap()
        expect(side_bar).to_have_attribute("data-collapsed", "false")
        expect(page.get_by_role("button", name="Lecture", exact=True)).to_be_hidden()  # so that no key gets under it
        end()
        expect(side_bar).to_have_attribute("data-collapsed", "true")
    page.wait_for_url(re.compile("source=pretrained"))


def test_a_sentence_is_typed_above_the_picture_and_applied(app_url: str, touch: Window) -> None:
    page = touch(*PHONE)
    settled_at(page, f"{app_url}/?source=pretrained&step=tokens")
    field, finding = page.get_by_label("Text", exact=True), page.locator(".finding")
    apply = page.get_by_role("button", name="Apply", exact=True)
    for shown in (field, apply, finding, page.locator(".sentence .word").first):
        expect(shown).to_be_in_viewport()
    field.tap()
    field.fill("one")
    page.keyboard.press("Shift+Enter")
    page.keyboard.type("two")
    apply.tap()
    settled_once_at(page, "**text=one%0Atwo**")
    expect(field).not_to_be_focused()  # so the keyboard of a phone goes away
    words = page.get_by_role("region", name="Sentence").get_by_role("button", name=re.compile("^(one|two): "))
    expect(words).to_have_count(2)


BEYOND = """() => {
  const { scrollHeight, clientHeight } = document.querySelector('[data-testid=stMain]');
  return scrollHeight - clientHeight;
}"""
"""Pixels of a page that lie below the window"""


def test_a_lesson_leaves_room_for_its_picture_on_a_phone_on_its_side(app_url: str, touch: Window) -> None:
    page = touch(844, 390)
    link = "text=the+cat+saw+the+dog+run&head_size=4&seed=1&q=1&k=4&lesson=attention&scene=6&lecture=1"
    settled_at(page, f"{app_url}/?{link}")
    assert page.locator(".attnviz-board").evaluate("(e) => e.clientHeight") >= 0.6 * 390
    assert page.locator(".lesson-says").bounding_box()["height"] <= 0.2 * 390  # type: ignore[index]


@pytest.mark.parametrize(
    ("link", "picture", "word"),
    [
        ("?lesson=why&scene=1", ".attnviz-board", None),
        ("compare?lesson=heads&scene=6", ".attnviz-board", "less"),
        ("heads?lesson=heads&scene=1", ".explorer canvas", "[CLS]"),
        ("transformer?lesson=mistakes&scene=1", ".mistake", None),
        ("train?lesson=forming&scene=4", ".all-heads", None),
        ("train?lesson=ladder&scene=5", ".heads-shown", None),
    ],
)
def test_a_scene_on_a_phone_has_its_picture_below_the_sentence_whose_words_scroll_to_what_they_light(
    link: str, picture: str, word: str | None, app_url: str, touch: Window
) -> None:
    """Leaving the lesson brings back the field or the controls that it hid."""
    page = touch(*PHONE)
    settled_at(page, f"{app_url}/{link}")
    sentence, shown = page.locator(".st-key-lesson_bar"), page.locator(f"{picture}:visible").first
    expect(shown).to_be_visible()
    says, at = sentence.bounding_box(), shown.bounding_box()
    assert says is not None and at is not None
    assert at["y"] - says["y"] - says["height"] < 0.12 * 844
    if word:
        page.locator(".lesson-says .marked", has_text=word).first.tap()
        expect(page.locator('[data-shape][data-state="pinned"]').first).to_be_in_viewport()
    set_here = page.locator(".st-key-text_place textarea, .training .main").first
    expect(set_here).to_be_hidden()
    page.get_by_role("button", name="Leave the lesson").tap()
    expect(set_here).to_be_visible()


def test_a_tap_on_a_word_of_a_scene_scrolls_to_what_it_names(app_url: str, touch: Window) -> None:
    page = touch(*PHONE)
    settled_at(page, f"{app_url}/bert?lesson=explanation&scene=2")
    number = page.locator(".lesson-says .marked", has_text="0.9953")
    expect(page.locator(".st-key-off_right").get_by_text("0.9953")).not_to_be_in_viewport()
    number.tap()
    expect(page.locator("[data-lit-item]", has_text="0.9953")).to_be_in_viewport()


CHANGES = """() => {
  for (let n = 0; n < 6; n += 1) {
    const text = document.body.appendChild(document.createElement('div'));
    text.textContent = 'measured';
    text.getBoundingClientRect();
    text.remove();
  }
}"""
"""Changes of one element, as those of charts that measure their labels one by one"""


def styled(page: Page) -> float:
    """Return of how many elements the browser works out the style anew for such a change."""
    browser = page.context.browser
    assert browser is not None
    browser.start_tracing(page=page, categories=["devtools.timeline"])
    page.evaluate(CHANGES)
    events = json.loads(browser.stop_tracing())["traceEvents"]
    counts = [event["args"]["elementCount"] for event in events if "elementCount" in event.get("args", {})]
    return float(median(counts))


STYLED = (
    ("/transformer?check=token&q=3", [PHONE]),
    ("/?lecture=1&lesson=attention&scene=3", [PHONE, (1280, 720)]),
)


def test_a_change_of_one_element_does_not_style_the_whole_page_anew(app_url: str, window: Window) -> None:
    """Each view in a document of its own: what Chromium has noted of an element for a rule of another view stays."""
    for link, sizes in STYLED:
        page = window(*sizes[0])
        page.goto("about:blank")
        settled_at(page, app_url + link)
        for size in sizes:
            settled(sized(page, *size))
            assert styled(page) < 20, (link, size)  # of some 180


LOW = [(844, 390), (640, 360)]
"""Windows: a phone held sideways, and 1280 x 720 px at 200 %"""

FIRST_MATRIX = """() => {
  const board = deepFind('.attnviz-board');
  const [{ x, y }] = board.attnviz.panels();
  const { left, top } = board.getBoundingClientRect();
  return { left: left + x._offset, top: top + y._offset, width: x._length, height: y._length };
}"""


def test_a_low_window_shows_the_sentence_and_all_heads_unscrolled(app_url: str, window: Window) -> None:
    page = window(853, 480)  # 1280 x 720 at 150 %, with the opening's words above the walk
    settled_at(page, app_url)
    expect(page.get_by_role("link", name="Start a lesson")).to_be_visible()
    first = page.locator(".sentence .word").first.bounding_box()
    assert first is not None
    assert first["y"] + first["height"] <= 480
    for size in LOW:
        settled(sized(page, *size))
        expect(page.get_by_text("97 % of its attention")).to_be_in_viewport(ratio=1)
        for word in ("My", "bicycle", "work"):
            expect(page.get_by_role("button", name=re.compile(f"^{word}:"))).to_be_in_viewport(ratio=1)
    page.goto(f"{app_url}/heads")
    grid = page.locator(".explorer .grid-room").first
    expect(grid).to_be_visible()
    for size in LOW:
        settled(sized(page, *size))
        expect(grid).to_be_in_viewport(ratio=1)
        expect(page.get_by_text("A weight says where a head looks")).to_be_in_viewport()


SAYS = {"/compare": ".sentences", "/train": ".training .transport .state"}
"""What is said of the picture, by the view"""


WALKS = ("/?step=weights", "/averages")


@pytest.mark.parametrize("link", [*WALKS, "/compare", "/transformer", "/train"])
def test_a_low_window_shows_a_whole_matrix_below_the_text_field_and_a_walk_ends_with_any_window(
    link: str, app_url: str, window: Window
) -> None:
    page = window(*LOW[0])
    settled_at(page, app_url + link)
    page.wait_for_function("() => deepFind('.attnviz-board')?.attnviz?.panels().length")
    for size in LOW:
        settled(sized(page, *size))
        matrix = page.evaluate(FIRST_MATRIX)
        assert matrix["width"] > 60, size
        assert matrix["height"] > 30, size
        assert matrix["left"] >= 0, size
        assert matrix["left"] + matrix["width"] <= size[0]
        assert matrix["top"] + matrix["height"] <= size[1], "it ends below the window"
        if link in SAYS:
            expect(page.locator(SAYS[link]).first).to_be_in_viewport(ratio=0.9)
        if link != "/train":
            field, chapters = (
                page.locator(css).bounding_box() for css in (".st-key-text_field", ".st-key-chapter_list")
            )
            assert field
            assert chapters
            assert field["x"] >= chapters["x"] + chapters["width"]
            assert field["y"] + field["height"] <= matrix["top"]
    for size in ((1280, 720), (1024, 768), (768, 1024)) if link in WALKS else ():
        assert settled(sized(page, *size)).evaluate(BEYOND) == 0, size


IS_CUT_OR_COVERED = """(words) => {
  const { left, top, right, bottom } = words.getBoundingClientRect();
  const rests = ['.st-key-place_list > *', '.st-key-chapter_list', '.st-key-toolbar'];
  const others = rests.flatMap((rest) => [...document.querySelectorAll(rest)]).filter((e) => !e.contains(words));
  const isOver = others.map((other) => other.getBoundingClientRect()).some((box) =>
    box.width && box.left < right && box.right > left && box.top < bottom && box.bottom > top);
  return [words.scrollWidth > words.clientWidth || words.scrollHeight > words.clientHeight + 1,
    top < 0 || left < 0 || right > innerWidth || isOver];
}"""


def test_what_the_settings_choose_is_read_whole(app_url: str, touch: Window) -> None:
    page = touch(*PHONE)
    page.goto(f"{app_url}/?source=pretrained&text=It+was+warm.&pair=It+was+cold.")
    words = page.locator(".chosen-settings")
    for size in (PHONE, (320, 640)):
        settled(sized(page, *size))
        expect(words).to_have_text("MiniLM (a small BERT) · a second sentence")
        assert words.evaluate(IS_CUT_OR_COVERED) == [False, False], size


@pytest.mark.parametrize(("link", "parts"), [("/", ".door"), ("/bert", ".sizes.words td")])
def test_nothing_is_cut_at_320_px_which_is_a_window_of_1280_px_at_400_percent(
    app_url: str, touch: Window, link: str, parts: str
) -> None:
    page = touch(320, 640)
    page.goto(app_url + link)
    expect(settled(page).locator(parts).first).to_be_visible()
    right = page.locator(parts).evaluate_all("(parts) => parts.map((e) => e.getBoundingClientRect().right)")
    assert max(right) <= 320
