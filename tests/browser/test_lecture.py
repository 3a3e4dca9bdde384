"""Lecture mode as a lecturer uses it: by keys alone, and read from the last row; numbers are compared with torch."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any
from urllib.parse import parse_qs, urlsplit

import numpy as np
import pytest
from playwright.sync_api import Page, expect

from attnviz.links.link import DEFAULT_TEXT
from tests.browser.axe import serious
from tests.browser.board import BOARD, matrix
from tests.browser.contexts import LAPTOP, Contexts
from tests.browser.hall import CONTROLS
from tests.browser.modules import imported
from tests.browser.settings import open_settings
from tests.browser.settle import frames, in_the_end, settled, settled_at
from tests.loaded import built_in_model

LEAST = 18
RUN = b"\x5a"
"""How a message begins that asks for a run of the page"""

WRITTEN = """() => {
  const small = [];
  const unseen = (node) => {
    for (let at = node; at; at = at.parentElement ?? at.getRootNode().host) {
      if (getComputedStyle(at).clipPath === 'inset(50%)') return true;
    }
    return false;
  };
  const walk = (root) => {
    for (const node of root.querySelectorAll('*')) {
      if (node.shadowRoot) walk(node.shadowRoot);
      const words = [...node.childNodes].filter((own) => own.nodeType === 3 && /[^\\s\\u200b]/.test(own.textContent));
      const shown = node.checkVisibility({ opacityProperty: true, visibilityProperty: true });
      if (!words.length || !shown || node.closest('style, .katex-mathml') || unseen(node)) continue;
      const { width, height, bottom } = node.getBoundingClientRect();
      if (width < 2 || height < 2 || bottom < 0) continue;
      small.push([parseFloat(getComputedStyle(node).fontSize), words.map((own) => own.textContent).join(' ')]);
    }
  };
  walk(document);
  return small;
}"""
"""Every text that is on the screen, with the size of its type in px."""

RECORD = """(() => {
  if (window.written) return;
  const pen = CanvasRenderingContext2D.prototype;
  const [fill, clear] = [pen.fillText, pen.clearRect];
  window.written = new Map();
  pen.clearRect = function (x, y, width, height) {
    if (width >= this.canvas.clientWidth) window.written.delete(this.canvas);
    return clear.call(this, x, y, width, height);
  };
  pen.fillText = function (text, ...rest) {
    const { a, b } = this.getTransform();
    const px = Math.hypot(a, b) / devicePixelRatio * parseFloat(this.font.match(/([\\d.]+)px/)[1]);
    if (!window.written.has(this.canvas)) window.written.set(this.canvas, []);
    window.written.get(this.canvas).push([px, text]);
    return fill.call(this, text, ...rest);
  };
})()"""
"""Notes what each canvas of the page writes since it was wiped; evaluated again, it does nothing."""

BEYOND = """() => {
  const main = document.querySelector('[data-testid=stMain]');
  return [main.scrollWidth - main.clientWidth, main.scrollHeight - main.clientHeight];
}"""
"""How many pixels lie beyond the screen, to the right and below."""

PAINTED = "() => [...window.written].flatMap(([canvas, texts]) => (canvas.checkVisibility() ? texts : []))"


HIGH = """(section) => [
  section.style.getPropertyValue('--height'),
  section.getBoundingClientRect().top + document.querySelector('[data-testid=stMain]').scrollTop,
]"""
"""How high the explorer of heads makes itself, and where it begins."""

pytestmark = pytest.mark.page("one_page")


def link(page: Page) -> dict[str, str]:
    return {name: values[0] for name, values in parse_qs(urlsplit(page.url).query).items()}


def open_link(page: Page, url: str, path: str) -> Page:
    return settled_at(page, url + path)


def press(page: Page, key: str, until: Callable[[dict[str, str]], bool] | None = None) -> dict[str, str]:
    """Press a key, and wait until the page has answered; return the link that it then has."""
    page.keyboard.press(key)
    if until:
        page.wait_for_url(lambda url: until({k: v[0] for k, v in parse_qs(urlsplit(url).query).items()}))
    settled(page)
    return link(page)


def test_the_list_of_keys_holds_the_keys_and_a_lecture_is_given_by_keys_alone(
    new_context: Contexts, app_url: str
) -> None:
    """From the page to lecture mode, to a head, to a cell and its number, to a covered row, to the dark, and out."""
    page, sent = new_context().new_page(), list[Any]()  # the dark and the open side bar would be seen by other tests
    page.on("websocket", lambda socket: socket.on("framesent", lambda frame: sent.append(frame)))  # noqa: PLW0108
    open_link(page, app_url, "/?step=weights&lecture=1")
    assert [frame[:1] for frame in sent] == [RUN]  # mounting asks for nothing
    the_list_holds_the_keys_and_the_fields_keep_theirs(page)

    open_link(page, app_url, "/?source=pretrained&step=masked")
    press(page, "l", until=lambda at: at.get("lecture") == "1")
    for chrome in ("stHeader", "stSidebar"):
        expect(page.get_by_test_id(chrome)).not_to_be_visible()
    press(page, "PageDown", until=lambda at: at["step"] == "weights")
    press(page, "h", until=lambda at: at.get("head") == "1")
    press(page, "h", until=lambda at: at.get("head") == "2")
    press(page, "y", until=lambda at: at.get("layer") == "1")
    trace = built_in_model().trace(DEFAULT_TEXT)
    np.testing.assert_allclose(matrix(page, "weights"), trace.attentions(1)[2].numpy(), rtol=0, atol=1e-6)
    press(page, "Shift+H", until=lambda at: at.get("head") == "1")
    expect(page.get_by_text("layer 1 · head 1")).to_be_visible()

    for key, pin in (
        ("f", ("0", "0")),
        ("ArrowDown", ("1", "0")),
        ("ArrowRight", ("1", "1")),
        ("ArrowRight", ("1", "2")),
    ):
        press(page, key, until=lambda at, pin=pin: (at.get("q"), at.get("k")) == pin)
    expected = float(trace.attentions(1)[1][1, 2])
    arithmetic = page.get_by_role("region", name="Arithmetic of one cell")
    weight = arithmetic.locator("[data-line=weights]:visible [data-result]")
    frames(page)
    assert float(weight.get_attribute("data-value") or "nan") == pytest.approx(expected, rel=1e-4)
    press(page, "p", until=lambda at: at.get("predict") == "1")
    covered = f"() => deepFind('{BOARD}').attnviz.covers?.('weights')(1, 2) ?? false"
    assert page.evaluate(covered)
    press(page, "r")
    assert not page.evaluate(covered)

    press(page, "Escape", until=lambda at: "q" not in at)
    page.keyboard.press("c")
    expect(page.locator(".walk .listing code")).to_be_in_viewport(ratio=0.99)
    page.keyboard.press("c")
    assert link(page)["lecture"] == "1"
    before = press(page, "PageUp", until=lambda at: at["step"] == "masked")
    with page.expect_navigation():
        page.keyboard.press("t")
    settled(page)
    assert link(page) == before
    after = press(page, "PageDown", until=lambda at: at["step"] == "weights")
    assert after == {**before, "step": "weights"}
    ground = "(e) => getComputedStyle(e).backgroundColor"
    assert page.locator(".stApp").evaluate(ground) == "rgb(20, 20, 27)"
    lecture_mode_is_left_after_a_question(page)


def lecture_mode_is_left_after_a_question(page: Page) -> None:
    page.keyboard.press("Escape")  # which many press for other reasons: it asks
    question = page.get_by_role("dialog", name="Leave lecture mode?")
    expect(question).to_be_visible()
    page.keyboard.press("Escape")
    expect(question).to_be_hidden()
    assert link(page)["lecture"] == "1"
    page.keyboard.press("Escape")
    expect(question).to_be_visible()
    press(page, "Enter", until=lambda at: "lecture" not in at)
    assert link(page)["step"] == "weights"
    open_settings(page)
    expect(page.get_by_test_id("stSidebar")).to_be_visible()


LINKS = (
    "/?step=tokens&source=pretrained",
    "/?step=qkv",
    "/?source=pretrained&step=weights&layer=3&head=5&q=3&k=2&predict=1",
    "/?step=weights&drawing=chart",
    "/averages?way=data",
    "/heads?q=3",
    "/heads?sort=entropy&show=lines&chosen=0.0_1.2_2.3",
    "/compare?q=3&k=3",
    "/tokens?tokenizer=bert",
    "/bert?bert_part=language",
    "/bert?bert_part=without",
)


def test_nothing_is_too_small_for_the_last_row_or_beyond_the_screen_of_a_phone(page: Page, app_url: str) -> None:
    open_link(page, app_url, "/?lecture=1")
    expect(page.get_by_role("button", name="Play the walk")).to_be_visible()
    assert page.evaluate("parseFloat(getComputedStyle(deepFind('.sentence .words')).fontSize)") >= 36
    page.evaluate(RECORD)
    for path in LINKS:
        open_link(page, app_url, f"{path}{'&' if '?' in path else '?'}lecture=1")
        written: list[Any] = [*page.evaluate(WRITTEN), *page.evaluate(PAINTED)]
        assert len(written) > 20, path
        assert [one for one in written if one[0] < LEAST] == [], path
        across, down = page.evaluate(BEYOND)
        assert across == 0, path
        longer = ("/tokens", "/bert?bert_part=language")  # whose lower part is another idea; the link to Train
        assert down == 0 or path.startswith(longer), path
        if path in ("/?step=qkv", "/heads?q=3", "/compare?q=3&k=3"):
            page.set_viewport_size({"width": 390, "height": 800})
            assert settled(page).evaluate(BEYOND)[0] <= 0, path
            expect(page.get_by_role("button", name="Leave lecture mode")).to_be_visible()
            page.set_viewport_size(LAPTOP)


def the_list_holds_the_keys_and_the_fields_keep_theirs(page: Page) -> None:
    """Look at the list of keys of the first view, and leave lecture mode."""
    page.keyboard.press("?")
    dialog = page.get_by_role("dialog", name="Keys")
    expect(dialog).to_be_visible()
    expect(dialog).to_contain_text("next, previous head")
    expect(dialog).not_to_contain_text("heatmap")  # a key of another page
    expect(dialog).not_to_contain_text("layer")  # the toy has one
    assert serious(page, {"exclude": [[".stCode"]]}) == []
    for key in ("Tab", "Tab", "ArrowRight", "PageDown", "h"):
        page.keyboard.press(key)
    inside = "() => document.activeElement.shadowRoot?.activeElement?.closest('dialog') !== null"
    assert page.evaluate(inside)
    page.keyboard.press("Escape")
    expect(dialog).to_be_hidden()
    assert link(settled(page)) == {"step": "weights", "lecture": "1"}
    assert serious(page) == []

    page.get_by_role("button", name="Leave lecture mode").click()
    page.wait_for_url(lambda url: "lecture" not in url)
    area = settled(page).locator(".st-key-text textarea")
    area.click()
    for key in ("Control+End", "h", "l", "?", "PageDown"):
        page.keyboard.press(key)
    page.keyboard.press("Control+l")
    assert area.input_value().endswith("tired.hl?")
    settled(page)
    assert {name: link(page).get(name) for name in ("step", "head", "lecture")} == {
        "step": "weights", "head": None, "lecture": None,
    }  # fmt: skip


def test_escape_lets_go_of_a_pin_that_the_link_does_not_have_yet(page: Page, app_url: str) -> None:
    open_link(page, app_url, "/?step=weights&lecture=1")
    page.evaluate("""() => {
      const press = (key) => document.body.dispatchEvent(
        new KeyboardEvent('keydown', { key, bubbles: true, cancelable: true, composed: true }));
      ['f', 'Escape'].forEach(press);
    }""")
    expect(page.get_by_role("region", name="Arithmetic of one cell")).to_contain_text("Point at a cell")
    assert link(settled(page)) == {"step": "weights", "lecture": "1"}
    page.keyboard.press("Escape")
    page.get_by_role("button", name="Stay").click()
    press(page, "l", until=lambda at: "lecture" not in at)


def test_the_keys_of_the_other_pages(page: Page, app_url: str) -> None:
    open_link(page, app_url, "/heads?lecture=1&layer=0&head=0")
    expect(page.locator(".explorer .how")).to_be_hidden()
    press(page, "m", until=lambda at: at.get("show") == "lines")
    press(page, "m", until=lambda at: at.get("show") == "heatmap")
    press(page, "s", until=lambda at: at.get("stretch") == "1")
    press(page, "h", until=lambda at: at.get("head") == "1")
    press(page, "y", until=lambda at: at.get("layer") == "1")
    explorer = page.locator(".st-key-explorer .explorer")
    expect(explorer).to_have_attribute("data-chosen", "1.1")
    press(page, "f", until=lambda at: (at.get("q"), at.get("k")) == ("0", "0"))
    press(page, "ArrowDown", until=lambda at: (at.get("q"), at.get("k")) == ("1", "0"))
    before = explorer.get_attribute("style") or ""
    press(page, "l", until=lambda at: "lecture" not in at)  # and the picture is measured again
    expect(explorer).not_to_have_attribute("style", before)

    def heights() -> tuple[float, float]:
        high, top = explorer.evaluate(HIGH)
        return float(high.removesuffix("px")), pytest.approx(max(520, 720 - min(top, 260) - 64), abs=1)

    high, expected = in_the_end(page, heights, lambda found: found[0] == found[1])
    assert high == expected

    open_link(page, app_url, "/averages?lecture=1")
    press(page, "PageDown", until=lambda at: at.get("way") == "matrix")
    press(page, "ArrowRight", until=lambda at: at.get("way") == "softmax")
    press(page, "PageUp", until=lambda at: at.get("way") == "matrix")
    press(page, "d", until=lambda at: at.get("drawing") == "chart")

    open_link(page, app_url, "/averages?lesson=attention&scene=2&way=matrix&lecture=1")
    press(page, "PageDown", until=lambda at: at.get("scene") == "3")  # with a lesson open a clicker goes through it
    press(page, "ArrowLeft", until=lambda at: at.get("scene") == "2")  # and so do the arrows
    assert link(page)["lecture"] == "1"
    black, timer = page.get_by_role("img", name="Black screen"), page.get_by_role("timer")
    page.keyboard.press("b")
    expect(black).to_be_visible()
    page.keyboard.press("ArrowRight")  # any key: the picture comes back, and nothing else is done
    expect(black).to_be_hidden()
    assert link(page)["scene"] == "2"
    expect(timer).to_be_hidden()
    page.keyboard.press("Shift+T")
    expect(timer).to_have_text(re.compile(r"^\d+:\d\d$"))

    open_link(page, app_url, "/tokens?lecture=1")
    strip = page.locator(".tv-scroll").first
    assert strip.evaluate("(strip) => strip.scrollHeight - strip.clientHeight") == 0, "all characters are shown"
    foot = page.locator(".stColumn:has(.tv-strip)").first.evaluate("(card) => card.getBoundingClientRect().bottom")
    assert 700 <= foot <= 730, "the cards fill the window: what is below them is not half seen"
    # No steps: a clicker shows what lies below.
    for key, below in (("PageDown", True), ("PageUp", False)):
        page.keyboard.press(key)
        page.wait_for_function(
            "(below) => (document.querySelector('[data-testid=stMain]').scrollTop > 200) === below", arg=below
        )


def test_numbers_go_rather_than_shrink_and_rooms_grow_with_type(plain_page: Page, served: str) -> None:
    body = """
      const { numbering } = await import("./board/numbers.ts".replace("./", given.base));
      const type = m.typeFor(given.least);
      const sizes = [];
      for (let width = 4; width < 90; width += 1) {
        const signed = { largest: 13.4, low: -13.4, scale: "signed" };
        for (const panel of [{ largest: 0.9, low: 0, scale: "weights" }, signed]) {
          sizes.push([width, numbering(panel, { width, height: width / 1.5 }, type)?.type ?? null]);
        }
      }
      return [sizes, type, m.typeFor(0)];
    """
    given = {"least": 18, "base": "/frontend/"}
    sizes, type_, plain = imported(plain_page, served, "core/type.ts", body, given)
    assert {size >= 18 for _, size in sizes if size is not None} == {True}
    assert any(size is None for _, size in sizes)
    assert (type_["label"], type_["fine"], type_["unit"]) == (18, 18, 1.5)
    assert (plain["label"], plain["fine"], plain["unit"]) == (12, 11, 1)


def test_a_press_is_named_whatever_caps_lock_says(plain_page: Page, served: str) -> None:
    pressed = [["h", False], ["H", True], ["H", False], ["?", True], ["PageDown", False], ["ä", False]]
    body = "return given.map(([key, shiftKey]) => m.pressed({ key, shiftKey }))"
    assert imported(plain_page, served, "core/keys.ts", body, pressed) == ["h", "Shift+h", "h", "?", "PageDown", "ä"]


def test_a_scene_of_train_has_curves_that_can_be_read_and_no_controls(page: Page, app_url: str) -> None:
    open_link(page, app_url, "/train?run=recorded&lesson=forming&lecture=1")
    rooms = page.locator(".chart-room")
    expect(rooms.first).to_be_visible()
    heights = rooms.evaluate_all(
        "(rooms) => rooms.filter((one) => one.checkVisibility()).map((one) => one.clientHeight)"
    )
    assert min(heights) >= 80
    controls = page.locator(CONTROLS)
    assert controls.count() > 4
    expect(controls.filter(visible=True)).to_have_count(0)
    expect(page.get_by_role("button", name="Play")).to_be_visible()


def test_a_scene_of_train_names_the_step_of_its_curves_where_that_is_not_the_shown_one(
    page: Page, app_url: str
) -> None:
    open_link(page, app_url, "/train?lesson=forming&scene=5&lecture=1")
    expect(page.locator(".training .curve h2").filter(visible=True)).to_have_text(
        [
            "What it has learned, at step 280",
            "Loss, in nats; held out at step 280",
        ]
    )


def test_small_pictures_of_a_training_grow_with_the_type_of_a_hall(page: Page, app_url: str) -> None:
    page.set_viewport_size({"width": 1920, "height": 1080})
    sides = []
    for lecture in (0, 1):
        open_link(page, app_url, f"/train?lecture={lecture}")
        ring = page.locator(".training .small .ring.chosen")
        expect(ring).to_be_visible()
        sides.append(ring.evaluate("(ring) => ring.clientWidth"))
    assert sides[1] > 1.3 * sides[0], sides
