"""Step by step as its users use it: type, step, hover, pin, copy the link; every number read is compared with torch."""

from __future__ import annotations

import re
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

import numpy as np
import pytest
import torch
from playwright.sync_api import Page, expect
from torch.nn import functional as F

from attnviz.figures.style import DARK, LIGHT
from attnviz.links.link import DEFAULT_TEXT
from attnviz.steps import STEPS
from attnviz.tokens import WordTokenizer
from attnviz.toy.config import ToyConfig
from tests.browser.apps.inspector_page import InspectorPage
from tests.browser.board import BOARD, cells, matrix, painted
from tests.browser.settings import open_settings, type_text
from tests.browser.settle import frames, settled, settled_at, settled_once_at
from tests.loaded import built_in_model
from tests.toy import run_block

PHONE = {"width": 390, "height": 844}


pytestmark = pytest.mark.page("one_page")


def go(page: Page, url: str, **link: str | int) -> Page:
    """Open the page by a link; without one, on the toy with all defaults."""
    return settled_at(page, f"{url}/?{urlencode(link or {'source': 'toy'})}")


def query(page: Page) -> dict[str, str]:
    return {name: values[0] for name, values in parse_qs(urlsplit(page.url).query).items()}


def toy(text: str, **config: Any) -> Any:
    return run_block(WordTokenizer().tokenize(text).ids, ToyConfig(**config)).layer(0)


def open_step(page: Page, name: str) -> None:
    """Choose a step as one does: in the row of steps."""
    page.get_by_role("radio", name=STEPS[name].title, exact=True).click()
    page.wait_for_function(SHOWS, arg=name)
    settled(page)


SHOWS = "(step) => (new URL(location).searchParams.get('step') ?? 'scores') === step"


def test_each_change_of_page_is_one_step_of_the_back_button(page: Page, app_url: str) -> None:
    """The first test of this file: the browser counts 50 entries at most."""
    settled_at(page, f"{app_url}/averages?text=one+two&seed=5&way=data")
    before = page.evaluate("history.length")
    for number, name in enumerate(("Heads", "Step by step"), 1):
        page.get_by_role("navigation").get_by_role("link", name=name).click()
        settled_once_at(page, lambda url, name=name: name == "Step by step" or name.lower() in url)
        assert page.evaluate("history.length") == before + number
    for there in ("/heads?text=one+two", "/averages?text=one+two&seed=5&way=data"):
        page.go_back()
        settled(page)
        assert page.url == f"{app_url}{there}"
        expect(page.locator(".st-key-text textarea")).to_have_value("one two")
    # Back to a bare address: what was changed on that page comes back with its entry, and goes with the one before.
    settled_at(page, f"{app_url}/averages")
    page.get_by_role("radio", name="A softmax").click()
    page.wait_for_url(re.compile("way=softmax"))
    changed = page.url
    page.get_by_role("navigation").get_by_role("link", name="Heads").click()
    settled_once_at(page, re.compile("/heads"))
    page.go_back()
    settled(page)
    assert page.url == changed
    assert matrix(page, "softmax_weights").shape == matrix(page, "masked_zeros").shape == (13, 13)
    page.go_back()
    settled_once_at(page, f"{app_url}/averages")
    assert matrix(page, "by_loop").shape == (13, 16)
    expect(page.get_by_role("radio", name="A softmax")).not_to_be_checked()


def test_typed_sentences_and_the_numbers_in_the_cells(page: Page, app_url: str) -> None:
    go(page, app_url)
    it_fits_is_described_and_gets_dark(page)
    type_text(page, "one two three four")
    settled(page)
    layer = toy("one two three four")
    expected = (layer.query[0] @ layer.key[0].T).flatten()
    np.testing.assert_allclose(cells(page, "scores"), expected.numpy(), atol=0.00501)
    open_step(page, "weights")
    q, k = layer.query[None], layer.key[None]
    weights = F.scaled_dot_product_attention(q, k, torch.eye(4)[None, None])[0, 0]
    np.testing.assert_allclose(cells(page, "weights"), weights.flatten().numpy(), atol=0.00501)
    np.testing.assert_allclose(matrix(page, "weights"), weights.numpy(), rtol=1e-5, atol=1e-6)
    type_text(page, "  ")
    settled(page)
    expect(page.get_by_text("Type a sentence above")).to_be_visible()
    type_text(page, "back again")
    settled(page)
    assert matrix(page, "weights").shape == (2, 2)


PIXEL = """(css) => {
  const board = deepFind(css).attnviz;
  const { x, y } = board.panels()[1];
  const [left, top] = [x._offset + x.l2p(0), y._offset + y.l2p(-0.4)].map((at) => at * devicePixelRatio);
  return [...board.canvas.getContext('2d').getImageData(left, top, 1, 1).data];
}"""
"""The colour of a cell"""


def it_fits_is_described_and_gets_dark(page: Page) -> None:
    assert_fits(page)
    scores = toy(DEFAULT_TEXT).head(0).scores
    described = page.locator(BOARD).get_attribute("aria-label")
    size = "11 rows: query (from), 11 columns: key (to)"
    assert f"scores, {size}, numbers from −{abs(float(scores.min())):.2f}" in described
    light = page.evaluate(PIXEL, BOARD)
    page.emulate_media(color_scheme="dark")
    expect(page.locator(".stApp")).to_have_css("background-color", "rgb(20, 20, 27)")
    page.wait_for_function("(css) => deepFind(css).attnviz.theme === 'dark'", arg=BOARD)
    settled(page)
    assert page.evaluate(PIXEL, BOARD) != light
    # The canvas is transparent, what is written on it is light, and so are no cells of a small score.
    corner = "(e) => [...e.getContext('2d').getImageData(2, 2, 1, 1).data]"
    assert page.locator(f"{BOARD} > canvas").evaluate(corner) == [0, 0, 0, 0]


def assert_fits(page: Page) -> None:
    """Check that controls, steps and matrix fit a laptop without scrolling."""
    bottom = page.locator(".st-key-walk .picture").bounding_box()
    assert bottom is not None
    assert bottom["y"] + bottom["height"] <= 720
    side = open_settings(page).get_by_test_id("stSidebarContent")
    assert side.evaluate("(e) => e.scrollHeight - e.clientHeight") <= 0


def test_a_link_says_why_a_score_of_the_built_in_model_is_high(page: Page, app_url: str) -> None:
    text = "My sister bought a bicycle because she wanted to ride it to work."
    link = {"text": text, "source": "pretrained", "layer": 3, "head": 1, "q": 11, "k": 5, "step": "scores"}
    go(page, app_url, **link, why=1)
    why = page.locator(".why-score")
    pairs = why.locator(".pairs td[data-value]")
    expect(pairs).to_have_count(36)
    scores = built_in_model().trace(text).head(3, 1).scores
    total = sum(pairs.evaluate_all("all => all.map((one) => +one.dataset.value)"))
    assert total == pytest.approx(float(scores[11, 5]), abs=1e-4)
    expect(why.locator("summary").first).to_have_text("Why is this score high?")
    why.locator("summary").first.click()
    page.wait_for_url(lambda address: "why" not in address)
    expect(why.locator("table")).to_have_count(0)


def test_a_real_head_is_followed_chosen_and_drawn(page: Page, app_url: str) -> None:
    """Hover a cell of layer 3, head 5 of MiniLM and follow it from the dot product to the head's output."""
    go(page, app_url, source="pretrained", layer=3, head=5, step="weights")
    assert_fits(page)
    inspector = InspectorPage(page)
    inspector.hover("weights", 9, 10)
    steps = built_in_model().trace(DEFAULT_TEXT).head(3, 5)
    assert inspector.result("scores") == pytest.approx(float(steps.scores[9, 10]), rel=1e-4)
    assert inspector.result("scaled") == pytest.approx(float(steps.scaled[9, 10]), rel=1e-4)
    assert inspector.result("weights") == pytest.approx(float(steps.weights[9, 10]), rel=1e-4)
    expect(inspector.panel).to_contain_text("because")
    inspector.leave()
    others_are_chosen_beside_the_heads(page)


def others_are_chosen_beside_the_heads(page: Page) -> None:
    """Choose another layer and head, a row to guess, and the other drawing."""
    page.get_by_role("combobox", name="Layer").select_option("layer 4")
    settled_once_at(page, re.compile("layer=4"))
    expected = built_in_model().trace(DEFAULT_TEXT).attentions(4)
    np.testing.assert_allclose(matrix(page, "weights"), expected[5].numpy(), rtol=0, atol=1e-6)
    page.get_by_role("button", name="head 7", exact=True).click()
    settled_once_at(page, re.compile("head=7"))
    np.testing.assert_allclose(matrix(page, "weights"), expected[7].numpy(), rtol=0, atol=1e-6)
    page.locator(".menu summary").press("Enter")
    expect(page.get_by_role("switch", name=re.compile("Darken"))).to_have_count(0)  # its largest weight is 0.9
    guess = page.get_by_role("switch", name="Guess a row")
    expect(guess).to_have_attribute("aria-checked", "false")
    for url in (lambda url: "predict=1" in url, lambda url: "predict" not in url):
        guess.press("Space")
        settled_once_at(page, url)
        expect(guess).to_be_focused()  # what one has pressed can be pressed again
    head = page.get_by_role("button", name="head 3", exact=True)
    head.press("Enter")
    settled_once_at(page, re.compile("head=3"))
    expect(head).to_be_focused()
    page.locator(".menu summary").click()
    page.get_by_role("radio", name="Plotly").click()
    settled_once_at(page, re.compile("drawing=chart"))
    expect(page.locator(".js-plotly-plot")).to_be_visible()
    page.locator(".menu summary").click()
    expect(guess).to_have_count(0)  # a chart covers nothing


def test_quick_presses_count_each_and_show_at_once(page: Page, app_url: str) -> None:
    go(page, app_url, step="embeddings")
    marked = """() => {
      const pressed = (key) => new KeyboardEvent('keydown', { key, bubbles: true, cancelable: true });
      const press = (key) => document.body.dispatchEvent(pressed(key));
      const inside = document.querySelector('.st-key-walk .attnviz-isolated').shadowRoot;
      const steps = [...inside.querySelectorAll('[aria-label=Step] [role=radio]')];
      return ['ArrowRight', 'ArrowRight', 'ArrowRight', 'ArrowLeft'].map((key) => {
        press(key);
        return steps.filter((one) => one.getAttribute('aria-checked') === 'true').map((one) => one.textContent).join();
      });
    }"""  # fmt: skip
    assert page.evaluate(marked) == [STEPS[name].title for name in ("qkv", "scores", "scaled", "scores")]
    settled_once_at(page, lambda url: "step" not in url)
    assert matrix(page, "scores").shape == (11, 11)


def test_the_picture_downloads_as_svg_without_the_network(page: Page, app_url: str) -> None:
    go(page, app_url, text="a small picture", drawing="chart")
    page.locator(".js-plotly-plot").hover()
    titles = page.locator(".modebar-btn").evaluate_all("all => all.map((one) => one.dataset.title)")
    assert [title for title in titles if "Share" in title or "Cloud" in title] == []
    with page.expect_download() as download:
        page.locator(".modebar-btn[data-title='Download as SVG']").click()
    svg = download.value.path().read_text()
    assert svg.startswith("<svg")
    assert "picture" in svg
    # A busy browser reads the file late: its address must not be freed with the click.
    page.evaluate("""() => {
      const { createObjectURL } = URL;
      window.saved = {};
      window.freed = [];
      URL.createObjectURL = (file) => (window.file = file, createObjectURL(file));
      URL.revokeObjectURL = (address) => window.freed.push(address);
      HTMLAnchorElement.prototype.click = function () { window.saved = { name: this.download, at: this.href }; };
    }""")
    for kind, begins in (("svg", "<svg"), ("png", "\ufffdPNG")):
        page.locator(f".modebar-btn[data-title='Download as {kind.upper()}']").click()
        page.wait_for_function("kind => window.saved.name === `attnviz.${kind}`", arg=kind)
        page.wait_for_timeout(100)
        begin, freed = page.evaluate("async () => [await window.file.text(), freed.includes(saved.at)]")
        assert begin.startswith(begins)
        assert not freed


def test_no_formula_is_cut_and_on_a_phone_the_page_scrolls_as_a_whole_and_a_chart_sideways(
    page: Page, app_url: str
) -> None:
    page.emulate_media(reduced_motion="reduce")
    for source, steps in (({"qkv": "positions"}, ("qkv", "scores", "output")), ({"source": "pretrained"}, ("qkv",))):
        go(page, app_url, step="concat", **source)
        for size in ({"width": 1280, "height": 720}, PHONE):
            page.set_viewport_size(size)  # type: ignore[arg-type]
            for step in steps if size != PHONE or "qkv" in source else ("qkv", "tokens", "weights"):
                open_step(page, step)
                main = page.get_by_test_id("stMain")
                assert main.evaluate("(e) => e.scrollWidth - e.clientWidth") <= 0, (size, step)
                if step not in ("tokens", "weights"):
                    height = "(box) => [box.scrollHeight, box.clientHeight]"
                    needed, given = page.locator(".body > .walk-formula").evaluate(height)
                    assert 15 < needed <= given + 1, (step, source, size)
                if size == PHONE and step in ("tokens", "weights"):
                    inner = "(e) => [e.scrollHeight - e.clientHeight, e.scrollWidth - e.clientWidth]"
                    assert page.locator(".walk").evaluate(inner) == [0, 0], step
    box = page.get_by_role("radio", name="Weights").bounding_box()  # far along the row of steps
    assert box
    assert box["x"] >= 0
    assert box["x"] + box["width"] <= 390
    go(page, app_url, source="pretrained", step="weights", drawing="chart")
    place, graph = page.locator(".attnviz-chart-place"), page.locator(".js-plotly-plot")
    assert graph.evaluate("(e) => e.clientWidth") >= 35 * 16
    assert place.evaluate("(e) => e.clientWidth") < 390
    expect(graph.locator(".gtitle, .annotation-text").first).to_be_visible()


def test_settings_behind_a_closed_button_do_not_come_back_after_back(page: Page, app_url: str) -> None:
    page.goto(f"{app_url}/?source=toy&step=scores")
    open_settings(settled(page)).get_by_role("button", name="More").click()
    width = page.locator(".st-key-model_width input")
    width.fill("40")
    page.mouse.click(1000, 690)  # beside it, without Enter
    expect(width).to_be_hidden()
    page.wait_for_url("**model_width=40**")
    settled(page).go_back()
    page.wait_for_url(lambda url: "model_width" not in url)
    seed = settled(page).locator(".st-key-seed input")
    seed.fill("3")
    seed.press("Enter")
    page.wait_for_url("**seed=3**")
    assert "model_width" not in page.url


def test_hostile_text_is_text(page: Page, app_url: str) -> None:
    hostile = "<script>window.hacked=1</script> <img src=x onerror=window.hacked=2> <b>bold</b> ${7*7} %{x}"
    go(page, app_url, text=hostile, step="tokens", q=1, k=0)
    expect(page.locator(".walk .word bdi").nth(0)).to_contain_text("<script>")
    page.get_by_text("Tokens and their ids").click()
    for written in ("onerror=window.hacked=2>", "<b>bold</b>"):
        expect(page.locator(".walk td").filter(has_text=written).first).to_be_visible()
    for step in ("scores", "weights"):
        assert page.evaluate("() => window.hacked") is None
        open_step(page, step)
    assert page.evaluate("() => window.hacked") is None
    labels = painted(page, "weights")["all"]
    assert "src=x" in labels
    assert "<b>bold</b>" in labels
    assert page.locator(".st-key-walk img").count() == 0


COUNT = """() => {
  window.sent = 0;
  const { send } = WebSocket.prototype;
  WebSocket.prototype.send = function (...given) {
    window.sent += 1;
    return send.apply(this, given);
  };
}"""
"""Counts the messages that the page sends."""


PLOT = "document.querySelector('.attnviz-chart')"


def test_numbers_fit_their_cells_in_every_window_and_a_change_of_theme_asks_no_server(page: Page, app_url: str) -> None:
    settled_at(page, f"{app_url}/?drawing=chart&step=scores&text=one+two+three+four+five+six+seven&q=3&k=1")
    seen = f"""() => [...{PLOT}.querySelectorAll('.subplot')].map((subplot) => {{
      const texts = [...subplot.querySelectorAll('.heatmap-label text')];
      const box = subplot.querySelector('.heatmaplayer image').getBoundingClientRect();
      return [texts.length, texts.map((text) => text.getBoundingClientRect().width), box.width];
    }})"""
    for width, height in ((900, 720), (1600, 1000)):
        page.set_viewport_size({"width": width, "height": height})
        settled(page)
        frames(page)
        product = page.evaluate(seen)
        assert [count for count, *_ in product] == [7 * 8, 7 * 8, 7 * 7]
        for (_, widths, whole), columns in zip(product, (7, 8, 7), strict=True):
            assert 0 < max(widths) <= whole / columns
    page.get_by_role("radio", name="Weights", exact=True).click()
    settled_once_at(page, "**step=weights**")
    page.evaluate(COUNT)
    for scheme, palette in (("light", LIGHT), ("dark", DARK)):
        page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
        page.wait_for_function(f"(ink) => {PLOT}._fullLayout.font.color === ink", arg=palette.text)
        shapes, scale = page.evaluate(
            f"[{PLOT}._fullLayout.shapes.map(({{ line }}) => line.color), {PLOT}._fullData[1].colorscale]"
        )
        assert set(shapes) == {palette.ink.query, palette.ink.key}
        assert scale == palette.weights
    assert page.evaluate("window.sent") == 0
    settled_at(page, f"{app_url}/?step=scores&text=another")
    assert page.evaluate("window.sent") > 0  # what is sent is counted


def box(locator: Any) -> dict[str, float]:
    found = locator.bounding_box()
    assert found is not None
    return dict(found)


def test_warnings_take_one_line_and_are_read_whole_over_the_picture(page: Page, app_url: str) -> None:
    settled_at(page, f"{app_url}/?source=pretrained&step=weights&layer=77&head=99&q=400&stretch=3&predict=7")
    warning, board = page.get_by_test_id("stAlert"), page.locator(".attnviz-board").first
    expect(warning).to_have_count(1)
    text = warning.locator("p")
    expect(text).to_have_attribute("aria-expanded", "false")
    before = box(board)
    assert box(text)["height"] < 30
    assert before["y"] + before["height"] <= 720
    expect(page.get_by_role("button", name="Play this step")).to_be_in_viewport(ratio=1)
    text.focus()
    page.keyboard.press("Enter")
    expect(text).to_have_attribute("aria-expanded", "true")
    assert box(warning)["height"] > 40
    assert text.evaluate("(e) => [e.scrollWidth <= e.clientWidth, e.scrollHeight <= e.clientHeight + 1]") == [
        True,
        True,
    ]
    assert box(board) == before
    text.click()
    expect(text).to_have_attribute("aria-expanded", "false")


CUT = """() => [...document.querySelectorAll('[data-testid=stPopoverBody] *')]
  .filter((e) => e.scrollWidth > e.clientWidth + 1 && getComputedStyle(e).textOverflow === 'ellipsis')
  .map((e) => e.textContent)"""


@pytest.mark.parametrize("link", ["/?source=toy", "/transformer"])
def test_no_label_of_the_settings_under_more_is_cut(page: Page, app_url: str, link: str) -> None:
    settled_at(page, app_url + link)
    open_settings(page).get_by_role("button", name="More", exact=True).click()
    expect(page.get_by_test_id("stPopoverBody").get_by_text("Heads of keys")).to_be_visible()
    assert page.evaluate(CUT) == []
    page.keyboard.press("Escape")
