"""Compare as its users use it: choose, point, pin, copy the link; what the page says is compared with torch."""

from __future__ import annotations

import re
from urllib.parse import parse_qs, urlencode, urlsplit

import numpy as np
import pytest
from playwright.sync_api import Locator, Page, expect

from attnviz.links.link import DEFAULT_TEXT
from attnviz.tokens import WordTokenizer
from attnviz.toy.config import ToyConfig
from tests.browser.apps.inspector_page import marks_on
from tests.browser.evaluate import evaluate
from tests.browser.settings import open_settings
from tests.browser.settle import frames, settled
from tests.loaded import built_in_model
from tests.toy import run_block

POINT = """(board, [panel, i, j]) => {
  const at = board.attnviz.panels().find(({ name }) => name === panel);
  const { left, top } = board.getBoundingClientRect();
  return [left + at.x._offset + at.x.l2p(j), top + at.y._offset + at.y.l2p(i)];
}"""
"""Where the middle of a cell is, in the window."""

MATRIX = "(board, name) => Array.from(board.attnviz.panels().find((one) => one.name === name).z, (row) => [...row])"

BOXES = (
    """(board) => board.attnviz.panels().map(({ name, x, y }) => [name, x._offset, y._offset, x._length, y._length])"""
)

pytestmark = pytest.mark.page("one_page")


class Compare:
    """The page as its user meets it."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.board = page.locator(".compare .attnviz-board")
        self.line = page.locator(".compare .line")

    def go(self, url: str, **link: str | int) -> Compare:
        self.page.goto(f"{url}/compare?{urlencode(link)}")
        return self.settle()

    def settle(self) -> Compare:
        expect(self.page.locator(".compare")).to_have_attribute("data-painted", re.compile(r"\d+"))
        settled(self.page)
        return self

    def press(self, preset: str) -> Compare:
        self.page.locator(".st-key-compare_preset").get_by_text(preset, exact=True).click()
        return self.settle()

    def open(self, pane: str) -> Locator:
        """Open a pane's settings; return the button."""
        button = self.page.locator(f".st-key-pane_{pane} button[aria-expanded]")
        if button.get_attribute("aria-expanded") == "false":
            button.click()
        return button

    def at(self, panel: str, i: int, j: int) -> tuple[float, float]:
        x, y = self.board.evaluate(POINT, [panel, i, j])
        return x, y

    def hover(self, panel: str, i: int, j: int) -> None:
        self.page.mouse.move(*self.at(panel, i, j))
        frames(self.page)

    def value(self, name: str) -> float:
        return float(self.line.locator(f"[data-of={name}]").get_attribute("data-value") or "")

    def matrix(self, name: str) -> np.ndarray:
        return np.array(evaluate(self.board, MATRIX, name), dtype=float)

    def query(self) -> dict[str, str]:
        return {name: values[0] for name, values in parse_qs(urlsplit(self.page.url).query).items()}


@pytest.fixture
def compare(page: Page) -> Compare:
    return Compare(page)


def weights(layer: int, head: int, text: str = DEFAULT_TEXT) -> np.ndarray:
    found: np.ndarray = built_in_model().trace(text).attentions(layer)[head].numpy()
    return found


def test_what_the_pointer_shows_is_lit_in_all_three_and_torchs(compare: Compare, app_url: str) -> None:
    compare.go(app_url, source="pretrained", layer=3, head=2, b_head=5)
    described = compare.board.get_attribute("aria-label") or ""
    assert described.startswith("A · head 2: weights, 16 rows: query (from), 16 columns: key (to), numbers from 0.")
    assert "A − B: weights, 16 rows: query (from), 16 columns: key (to), numbers from −" in described
    a, b = weights(3, 2), weights(3, 5)
    for panel, i, j in (("a", 9, 4), ("difference", 15, 0), ("b", 9, 4)):
        compare.hover(panel, i, j)
        expect(compare.line).to_contain_text(f"{i} ")
        assert compare.value("a") == a[i, j]
        assert compare.value("b") == b[i, j]
        assert compare.value("difference") == np.float32(a[i, j]) - np.float32(b[i, j])
    lit = {(panel, shape) for panel in ("a", "b", "difference") for shape in ("row", "column")}
    assert marks_on(compare.page) == {*lit, ("b", "cell"), ("divergence", "row")}
    np.testing.assert_array_equal(compare.matrix("difference"), (a - b).astype(float))
    compare.hover("divergence", 9, 0)
    p, q = a[9].astype(float), b[9].astype(float)
    middle = (p + q) / 2
    bits = (np.sum(p * np.log2(p / middle)) + np.sum(q * np.log2(q / middle))) / 2
    assert compare.value("divergence") == pytest.approx(bits, abs=1e-6)
    expect(compare.line).to_contain_text("Jensen-Shannon divergence of A's row and B's")
    for theme in ("dark", "light"):
        compare.page.emulate_media(color_scheme=theme)  # type: ignore[arg-type]
        expect(compare.page.locator(".compare")).to_have_attribute("data-theme", theme)
        frames(compare.page)
        assert compare.board.evaluate("(board) => board.attnviz.theme") == theme


def test_hidden_and_missing_cells_say_what_they_are(compare: Compare, app_url: str) -> None:
    compare.go(app_url, text="it was good", b_text="it was not good", mask="none", b_mask="causal")
    compare.hover("b", 0, 1)
    expect(compare.line).to_contain_text("B 0 (masked)")
    layer = run_block(WordTokenizer().tokenize("it was good").ids, ToyConfig()).layer(0)
    assert compare.value("difference") == float(layer.attentions()[0, 0, 1])
    compare.hover("a", 1, 2)
    expect(compare.line).to_contain_text("A has no such column · B")
    compare.hover("a", 2, 1)
    expect(compare.line).to_contain_text("A has no such row")


def test_a_pin_is_in_the_link_and_opens_the_same_elsewhere(compare: Compare, app_url: str) -> None:
    compare.go(app_url, seed=1).press("Two heads")
    compare.page.mouse.click(*compare.at("a", 3, 1))
    compare.page.wait_for_url(re.compile("q=3"))
    compare.settle()
    assert compare.query() == {"seed": "1", "b_head": "1", "q": "3", "k": "1"}
    compare.page.mouse.move(5, 5)
    frames(compare.page)
    here = compare.matrix("difference"), compare.line.inner_text()
    link = compare.page.url
    compare.go(app_url, text="another view")
    expect(compare.line).not_to_have_text(here[1])
    compare.page.goto(link)
    compare.settle()
    np.testing.assert_array_equal(compare.matrix("difference"), here[0])
    assert compare.line.inner_text() == here[1]
    assert marks_on(compare.page, "pinned") >= {("a", "row"), ("difference", "column"), ("b", "cell")}
    compare.page.mouse.click(*compare.at("difference", 3, 1))
    compare.page.wait_for_url(lambda url: "q=" not in url)


def test_the_keyboard_moves_the_pin_and_lets_it_go(compare: Compare, app_url: str) -> None:
    compare.go(app_url, seed=1)
    compare.board.focus()
    for key in ("Enter", "ArrowDown", "ArrowDown", "ArrowRight"):
        compare.page.keyboard.press(key)
    expect(compare.line).to_contain_text("2 didn't → 1 animal")
    compare.page.wait_for_url(re.compile("q=2&k=1|k=1&q=2"))
    expect(compare.page.locator(".compare [role=status]")).to_contain_text("Pinned. 2 didn't → 1 animal")
    compare.page.keyboard.press("Escape")
    compare.page.wait_for_url(lambda url: "q=" not in url)
    expect(compare.line).to_contain_text("Point at a cell")


def test_bs_choice_is_let_go_by_its_cross(compare: Compare, app_url: str) -> None:
    compare.go(app_url, b_head=1, b_scale="off")
    button = compare.open("B")
    expect(button).to_contain_text("B the toy · head 1 · no scale")
    assert button.locator("strong").all_inner_texts() == ["B", "head 1", "no scale"]  # what B has of its own
    box = compare.page.locator(".st-key-b_head")
    box.get_by_role("button", name="Clear value").click()
    compare.page.wait_for_url(lambda url: "b_head" not in url)
    compare.settle()
    assert compare.query() == {"b_scale": "off"}
    expect(box.locator("input")).to_have_attribute("placeholder", "= A: head 0")
    expect(button).to_contain_text("B the toy · head 0 · no scale")
    marked = compare.page.locator(".st-key-compare_preset [aria-checked=true], .st-key-compare_preset [kind$=Active]")
    expect(marked).to_have_text("Scale on · off")


def test_what_a_pane_shows_is_chosen_by_its_button_with_the_keyboard_alone(compare: Compare, app_url: str) -> None:
    page = compare.go(app_url, source="pretrained", layer=3, head=2, b_head=5).page
    button = page.locator(".st-key-pane_A button[aria-expanded]")
    expect(button).to_have_accessible_name(re.compile(r"^A MiniLM \(a small BERT\) · layer 3 · head 2"))
    button.press("Enter")
    expect(button).to_have_attribute("aria-expanded", "true")
    field = page.get_by_role("combobox", name="Head of A")
    field.fill("head 7")
    field.press("Enter")
    page.wait_for_url(re.compile("head=7"))
    compare.settle()
    np.testing.assert_array_equal(compare.matrix("a"), weights(3, 7).astype(float))
    expect(button).to_contain_text("A MiniLM (a small BERT) · layer 3 · head 7")
    page.keyboard.press("Escape")
    expect(field).to_be_hidden()
    compare.settle()  # the server knows that it is closed

    # What the closed button held of the view before is not sent with the next choice.
    compare.go(app_url, seed=1).open("B")
    page.get_by_role("combobox", name="Mask of B").fill("causal")
    page.keyboard.press("Enter")
    page.wait_for_url(re.compile("b_mask=causal"))
    compare.settle()
    assert compare.query()["seed"] == "1"
    assert "source" not in compare.query()
    expect(button).to_contain_text("A the toy · head 0")


def test_hostile_text_is_text(compare: Compare, app_url: str) -> None:
    hostile = "<img src=x onerror=window.hacked=1> <script>window.hacked=2</script> **b** مرحبا 👩‍👩‍👧‍👦 " + "w" * 200
    compare.go(app_url, text=hostile, b_text=f"{hostile} <b>more</b>", q=1, k=0)
    assert compare.page.evaluate("() => window.hacked") is None
    expect(compare.line).to_contain_text("1 src=x → 0 <img")
    assert compare.page.locator(".stMain img, .notice b, .figures img").count() == 0


def boxes(board: Locator) -> dict[str, tuple[float, float, float, float]]:
    found: list[tuple[str, float, float, float, float]] = board.evaluate(BOXES)
    return {name: (x, y, width, height) for name, x, y, width, height in found}


def test_it_fits_a_laptop_side_by_side_and_a_phone_one_below_the_other(compare: Compare, app_url: str) -> None:
    for link in ({}, {"source": "pretrained", "b_head": 1}):
        compare.go(app_url, **link)
        at = boxes(compare.board)
        assert at["a"][1] == at["b"][1] == at["difference"][1]
        assert at["a"][0] < at["b"][0] < at["difference"][0]
        for box in (compare.page.locator(".compare"), compare.page.locator(".figures").first):
            place = box.bounding_box()
            assert place is not None
            assert place["y"] + place["height"] <= 720
        side = open_settings(compare.page).get_by_test_id("stSidebarContent")
        assert side.evaluate("(e) => e.scrollHeight - e.clientHeight") <= 0
        compare.page.get_by_role("button", name="Settings", exact=True).click()
    compare.page.set_viewport_size({"width": 390, "height": 844})
    compare.settle()
    at = boxes(compare.board)
    assert at["a"][1] < at["b"][1] < at["difference"][1]
    assert at["a"][0] == at["b"][0] == at["difference"][0]
    assert min(width for _, _, width, _ in at.values()) > 200
    assert compare.page.get_by_test_id("stMain").evaluate("(e) => e.scrollWidth - e.clientWidth") <= 0


@pytest.mark.parametrize("sentences", [0, 3])
def test_in_lecture_mode_nothing_scrolls_however_long_the_texts_are(
    compare: Compare, app_url: str, sentences: int
) -> None:
    said = "The {} that the man from the shop on the corner gave to his sister was in the drawer of the old desk."
    given = {key: " ".join([said.format(word)] * sentences) for key, word in (("text", "key"), ("b_text", "box"))}
    compare.go(app_url, source="pretrained", b_head=1, lecture=1, q=2, k=1, **(given if sentences else {}))
    shown = compare.page.locator(".sentences")
    assert shown.count() == bool(sentences)
    over = "() => { const m = document.querySelector('[data-testid=stMain]'); return m.scrollHeight - m.clientHeight }"
    assert compare.page.evaluate(over) == 0
    assert compare.board.evaluate("(board) => board.clientHeight") > 250
