"""Step by step far from the server: what one explores is painted without an answer, and little is sent."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any
from urllib.parse import urlencode

import numpy as np
import pytest
from playwright.sync_api import Page, Route, expect

from attnviz.links.link import DEFAULT_TEXT
from attnviz.links.pages import OPENING
from attnviz.serving.arrays import PATH as ARRAYS
from attnviz.steps import STEPS
from tests.browser.apps.inspector_page import InspectorPage
from tests.browser.board import BOARD, matrix
from tests.browser.line import Line
from tests.browser.settings import surprise, type_text
from tests.browser.settle import in_the_end, settled, settled_at, settled_once_at
from tests.loaded import built_in_model

pytestmark = pytest.mark.page("one_page")

AFTER_TWO_FRAMES = """async () => {
  const inside = document.querySelector('.st-key-walk .attnviz-isolated').shadowRoot;
  const board = deepFind('.attnviz-board').attnviz;
  const press = (key) => document.body.dispatchEvent(new KeyboardEvent('keydown', { key, bubbles: true }));
  const named = (role, name) => [...inside.querySelectorAll(role)]
    .find((one) => (one.getAttribute('aria-label') ?? one.textContent).trim() === name);
  const frame = () => new Promise((next) => requestAnimationFrame(next));
  ACT;
  await frame();
  await frame();
  return READ;
}"""
"""Does something, and reads two frames later what the page shows."""

SHOWN = "[board.element.dataset.step, board.element.dataset.head, board.changing]"
COVERED = "board.covers?.('weights')?.(0, 0) ?? false"
PINNED = """[inside.querySelector('.badge').textContent, inside.querySelector('[data-line=weights] [data-result]')
  .dataset.value, inside.querySelectorAll(
  '[data-panel=weights][data-state=pinned][data-shape=cell]').length]"""
CHART = "[document.querySelector('.js-plotly-plot')?.checkVisibility() ?? false, board.element.checkVisibility()]"


def after_two_frames(page: Page, act: str, read: str) -> Any:
    return page.evaluate(AFTER_TWO_FRAMES.replace("ACT", act).replace("READ", read))


def attentions(layer: int) -> np.ndarray:
    return built_in_model().trace(DEFAULT_TEXT).attentions(layer).numpy()


VIEW = "() => document.querySelector('.st-key-walk .attnviz-isolated').shadowRoot.querySelector('.walk .inspector')"
"""Whether what shows matrices is here"""


def test_what_shows_matrices_is_fetched_while_the_sentence_is_read(page: Page, app_url: str) -> None:
    page.goto("about:blank")  # for a document of its own, in which no module has run
    fetched: list[str] = []
    page.on("requestfinished", lambda request: fetched.append(re.sub(r".*/(?=\w+\.js$)", "", request.url)))
    settled_at(page, app_url)
    assert in_the_end(page, lambda: "drawing.js" in fetched, bool)
    document = next(n for n, address in enumerate(fetched) if ARRAYS in address)
    assert fetched.index("drawing.js") > document > fetched.index("walk.js")
    page.wait_for_function(VIEW)
    expect(page.locator(".walk .inspector")).to_be_hidden()  # the sentence has no cells
    page.route("**/*", lambda route: route.abort())
    page.get_by_role("radio", name="Scores", exact=True).click()
    scores = built_in_model().trace(OPENING["text"]).head(layer=3, head=1).scores
    np.testing.assert_allclose(matrix(page, "scores"), scores.numpy(), rtol=0, atol=1e-5)


def test_what_one_explores_is_painted_within_two_frames_and_without_the_server(line: Line, app_url: str) -> None:
    line.page.emulate_media(reduced_motion="reduce")
    page = line.hold_at(f"{app_url}/?source=pretrained&step=masked&head=2")

    def do(act: str, read: str) -> Any:
        return after_two_frames(page, act, read)

    assert do("press('ArrowRight')", SHOWN) == ["weights", "2", False]
    assert do("named('button', 'head 7').click()", SHOWN) == ["weights", "7", False]
    np.testing.assert_allclose(matrix(page, "weights"), attentions(0)[7], rtol=0, atol=1e-6)
    badge, weight, outlined = do("press('f')", PINNED)
    assert (badge, outlined) == ("pinned", 1)
    assert float(weight) == pytest.approx(float(attentions(0)[7][0, 0]), abs=1e-6)
    assert do("named('[role=switch]', 'Guess a row').click()", COVERED) is True
    assert do("named('[role=switch]', 'Guess a row').click()", COVERED) is False
    assert do("named('[role=radio]', 'Head outputs').click()", SHOWN) == ["head_outputs", "7", False]
    line.release()
    chart, stage = "named('[role=radio]', 'Plotly').click()", "named('[role=radio]', 'Animated').click()"
    after_two_frames(page, chart, CHART)  # plotly.js is fetched once
    expect(page.locator(".js-plotly-plot .heatmaplayer image").first).to_be_visible()
    settled(page)
    line.hold()
    assert do(stage, CHART) == [False, True]
    assert do(chart, CHART) == [True, False]
    line.release()
    settled_once_at(page, re.compile("drawing=chart"))
    assert line.updates() == []
    page.locator(".chosen-settings").click()
    settled(page)
    assert line.updates() == [{"step": "head_outputs", "head": 7, "q": 0, "k": 0, "predict": False, "drawing": "chart"}]


def test_a_text_is_sent_with_what_was_chosen_by_keyboard_and_by_a_click_elsewhere(line: Line, app_url: str) -> None:
    page = line.page
    settled_at(page, f"{app_url}/?source=pretrained&step=tokens")
    field = page.get_by_label("Text", exact=True)
    ways = (
        (lambda: field.press("Control+Enter"), "Masked", 4, "one two three four five six seven eight"),
        (page.locator(".chosen-settings").click, "Weights", 2, "nine ten eleven"),
    )
    for send, title, head, text in ways:
        page.get_by_role("radio", name=title).click()
        page.get_by_role("button", name=f"head {head}", exact=True).click()
        step = title.lower()
        page.wait_for_url(re.compile(f"step={step}&head={head}"))
        asked, said = len(line.sent), len(line.updates())
        field.click()
        field.fill(text)
        settled(page)
        assert len(line.sent) == asked, "nothing is sent before the text"
        send()
        settled_once_at(page, f"**text={text.replace(' ', '+')}&**")
        assert page.url.endswith(f"/?text={text.replace(' ', '+')}&source=pretrained&step={step}&head={head}")
        assert line.updates()[said:] == [{"step": step, "head": head}]
        assert len(line.sent) == asked + 1, "one message, so one run of a part of the page"
        words = len(text.split()) + 2
        assert matrix(page, step).shape == (words, words)
        expect(field).to_have_value(text)


def test_what_the_page_says_of_a_text_ends_with_it(line: Line, app_url: str) -> None:
    """The text is a part of the page by itself; a note on the link, and the reason of a surprise, are not."""
    page = line.page
    settled_at(page, f"{app_url}/?source=pretrained&head=99&text=the+cat+sat+because+it+was+tired")
    notes = page.get_by_test_id("stAlert")
    expect(notes).to_have_count(1)
    field = page.get_by_label("Text", exact=True)
    for number, say in enumerate((notes, page.locator(".said"))):
        if number:
            surprise(page)
            settled(page)
            expect(say).to_have_count(1)
        text = " ".join(["another"] * (number + 2))
        field.fill(text)
        field.press("Control+Enter")
        settled_once_at(page, re.compile(f"text={text.replace(' ', '.')}&"))
        expect(say).to_have_count(0)
        expect(field).to_have_value(text)
        assert matrix(page, "scores").shape == (number + 4, number + 4)


def test_everything_of_a_layer_is_explored_after_the_connection_was_lost(line: Line, app_url: str) -> None:
    line.page.emulate_media(reduced_motion="reduce")
    text = "a text of which nothing is here yet"
    page = line.hold_at(f"{app_url}/?{urlencode({'source': 'pretrained', 'step': 'scores', 'text': text})}")
    page.route(f"**{ARRAYS}**", lambda route: route.abort())
    layer = built_in_model().trace(text).layer(0)
    for head in (0, 5, 11):
        page.get_by_role("button", name=f"head {head}", exact=True).click()
        for name in ("scores", "scaled", "weights", "head_outputs"):
            page.get_by_role("radio", name=STEPS[name].title, exact=True).click()
            page.wait_for_function(
                "([step, head]) => { const { dataset: d } = deepFind('.attnviz-board');"
                " return d.step === step && d.head === head }",
                arg=[name, str(head)],
            )
            expected = getattr(layer.head(head), name).numpy()
            np.testing.assert_allclose(matrix(page, name), expected, rtol=1e-5, atol=1e-5)
    line.release()


TEN_PRESSES = """() => {
  for (let i = 0; i < 10; i += 1) {
    const key = i % 5 === 3 ? 'ArrowLeft' : 'ArrowRight';
    document.body.dispatchEvent(new KeyboardEvent('keydown', { key, bubbles: true }));
  }
}"""
"""Eight steps on and two back."""

TYPED = """(numbers) => {
  const input = deepFind('.fields input');
  for (const value of numbers) {
    input.value = value;
    input.dispatchEvent(new Event('input', { bubbles: true }));
  }
}"""


def test_the_server_hears_of_what_was_chosen_before_anything_else(line: Line, app_url: str) -> None:
    page = line.go(f"{app_url}/?step=tokens")
    asked, entries = len(line.sent), page.evaluate("history.length")
    page.evaluate(TEN_PRESSES)
    step = list(STEPS)[6]
    page.wait_for_url(re.compile(f"step={step}$"))
    page.evaluate(TYPED, list(range(10)))
    settled_once_at(page, re.compile(f"step={step}&q=9$"))
    assert len(line.sent) == asked, "the address tells all"
    assert page.evaluate("history.length") <= entries + 2, "a burst is one entry"
    page.locator(".chosen-settings").click()
    settled(page)
    assert line.updates()[-1] == {"step": step, "q": 9}
    assert len(line.sent) == asked + 1
    assert page.url.endswith(f"/?step={step}&q=9")


def test_the_next_page_the_way_back_and_a_reload_show_what_was_chosen(page: Page, app_url: str) -> None:
    settled_at(page, f"{app_url}/?source=pretrained&step=weights")
    page.get_by_role("combobox", name="Layer").select_option("layer 3")
    page.get_by_role("button", name="head 4", exact=True).click()
    page.wait_for_url(re.compile("layer=3&head=4"))
    page.get_by_role("navigation").get_by_role("link", name="Heads", exact=True).click()
    settled_once_at(page, "**/heads?*")
    assert "layer=3&head=4" in page.url
    page.go_back()
    settled_once_at(page, re.compile(r"/\?source=pretrained.*layer=3"))
    np.testing.assert_allclose(matrix(page, "weights"), attentions(3)[4], rtol=0, atol=1e-6)
    page.get_by_role("button", name="head 5", exact=True).click()
    page.wait_for_url(re.compile("layer=3&head=5"))
    page.reload()  # before the server hears of it
    settled(page)
    np.testing.assert_allclose(matrix(page, "weights"), attentions(3)[5], rtol=0, atol=1e-6)
    page.get_by_role("button", name="head 6", exact=True).click()
    page.get_by_role("navigation").get_by_role("link", name="Heads", exact=True).press("Enter")
    settled_once_at(page, "**/heads?*")
    assert "layer=3&head=6" in page.url


class Forgetful:
    """A server that no longer has what it is asked for: each address is answered with 404 once."""

    def __init__(self, page: Page) -> None:
        self.refused: list[str] = []
        page.route(f"**{ARRAYS}**", self._answer)

    def _answer(self, route: Route) -> None:
        url = route.request.url
        if url in self.refused:
            route.continue_()
            return
        self.refused.append(url)
        route.fulfill(status=404)


@pytest.mark.parametrize("step", ["weights", "qkv"])
def test_arrays_that_the_server_has_no_more_are_offered_again(line: Line, app_url: str, step: str) -> None:
    page = line.page
    forgetful = Forgetful(page)
    line.go(f"{app_url}/?source=pretrained&layer=2&step={step}&text=offered+again+{step}")
    trace = built_in_model().trace(f"offered again {step}")
    layer = trace.layer(2)
    known = {"weights": layer.attentions()[0], "qkv": layer.query[0]}[step].numpy()
    np.testing.assert_allclose(matrix(page, {"qkv": "query"}.get(step, step)), known, rtol=0, atol=1e-6)
    assert {} in line.updates(), "the page has asked for an offer"
    parts = [url for url in forgetful.refused if "~" in url]
    assert bool(parts) == (step == "qkv"), "the projections are fetched apart"
    page.get_by_role("combobox", name="Layer").select_option("layer 5")
    settled_once_at(page, re.compile("layer=5"))
    if step == "weights":
        np.testing.assert_allclose(matrix(page, "weights"), trace.attentions(5)[0].numpy(), rtol=0, atol=1e-6)
    expect(page.locator(".walk .note")).to_have_text("")
    expect(page.get_by_test_id("stAlert")).to_have_count(0)


def test_the_servers_reason_is_one_sentence(page: Page, app_url: str) -> None:
    reason = "The text has 5,000 tokens; a document has at most 4,096."
    settled_at(page, f"{app_url}/?source=pretrained&step=weights")
    page.route(f"**{ARRAYS}**", lambda route: route.fulfill(status=422, content_type="text/plain", body=reason))
    type_text(page, "another text")
    note = page.locator(".walk .note")
    expect(note).to_have_text(f"This text can't be shown: {reason}")
    expect(page.locator(BOARD)).to_be_hidden()
    expect(page.locator(".walk .notice")).to_be_hidden()
    page.unroute(f"**{ARRAYS}**")
    type_text(page, "and one more")
    expect(note).to_have_text("")
    settled(page)
    assert matrix(page, "weights").shape == (5, 5)


AWAY_UNTIL_A_CLICK = """(path) => {
  const { fetch } = window;
  let isBack = false;
  window.fetch = (address, ...more) =>
    !isBack && String(address).includes(path) ? Promise.reject(new TypeError("away")) : fetch(address, ...more);
  document.addEventListener("click", () => (isBack = true), { capture: true, once: true });
}"""
"""The server answers from the next click on: were it back before, what failed might be asked for again by itself."""


def test_nothing_of_the_text_before_is_shown_while_the_server_is_away(page: Page, app_url: str) -> None:
    settled_at(page, f"{app_url}/?source=pretrained&step=scaled&text=the+text+before")
    page.route(f"**{ARRAYS}**", lambda route: route.abort())
    type_text(page, "one new sentence of seven words, here")
    note = page.locator(".walk .note")
    expect(note).to_contain_text("This text can't be shown: the server does not answer. It is asked for again.")
    page.locator(".st-key-text textarea").blur()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    page.wait_for_url(re.compile("step=weights"))
    for css in (BOARD, ".walk .notice", ".walk .walk-formula", ".walk .inspector", ".walk .strip canvas"):
        assert not any(one.is_visible() for one in page.locator(css).all()), css
    page.unroute(f"**{ARRAYS}**")  # and nobody presses anything
    expect(note).to_have_text("", timeout=15_000)
    settled(page)
    trace = built_in_model().trace("one new sentence of seven words, here")
    np.testing.assert_allclose(matrix(page, "weights"), trace.attentions(0)[0].numpy(), rtol=0, atol=1e-6)
    page.evaluate(AWAY_UNTIL_A_CLICK, ARRAYS)
    page.get_by_role("combobox", name="Layer").select_option("layer 4")
    expect(note).to_contain_text("Layer 4 can't be shown: the server does not answer.")
    expect(page.locator(BOARD)).to_be_hidden()
    note.get_by_role("button", name="Try again").click()
    settled(page)
    np.testing.assert_allclose(matrix(page, "weights"), trace.attentions(4)[0].numpy(), rtol=0, atol=1e-6)


def test_back_forward_and_a_copied_link_open_the_same_view(page: Page, app_url: str) -> None:
    settled_at(page, f"{app_url}/?source=pretrained&step=weights&layer=1")
    acts: list[tuple[Callable[[], Any], str]] = [
        (lambda: page.get_by_role("button", name="head 4", exact=True).click(), "head=4"),
        (lambda: InspectorPage(page).click("weights", 3, 2), "q=3&k=2"),
        (lambda: page.get_by_role("combobox", name="Layer").select_option("layer 3"), "layer=3"),
        (lambda: page.get_by_role("radio", name="Masked").click(), "step=masked"),
    ]
    views = [view_of(page)]
    for act, link in acts:
        act()
        page.wait_for_url(re.compile(re.escape(link)))
        views.append(view_of(page))
    for view in views[-2::-1]:
        page.go_back()
        check_view(page, view)
    for view in views[1:]:
        page.go_forward()
        check_view(page, view)
    copied = page.url
    settled_at(page, f"{app_url}/?source=toy&step=qkv&text=another")
    page.goto(copied)
    check_view(page, views[-1])


View = tuple[str, list[str], np.ndarray, list[str]]
READ = """() => {
  const { step, layer, head } = deepFind('.attnviz-board').dataset;
  return [step, layer, head, ...[...deepFind('.fields').querySelectorAll('input')].map(({ value }) => value)];
}"""


def view_of(page: Page) -> View:
    """Return a page's address, what is chosen on it, its numbers and its arithmetic."""
    settled(page)
    page.mouse.move(2, 2)
    shown = page.evaluate(READ)
    panel = page.get_by_role("region", name="Arithmetic of one cell")
    arithmetic = panel.locator("h2, .hint:visible, .line:visible").all_inner_texts()
    return page.url, shown, matrix(page, shown[0]), arithmetic


def check_view(page: Page, expected: View) -> None:
    page.wait_for_url(expected[0])
    found = in_the_end(page, lambda: view_of(page), lambda view: view[1] == expected[1], seconds=20)
    assert found[1] == expected[1]
    np.testing.assert_array_equal(found[2], expected[2])
    assert found[3] == expected[3]
