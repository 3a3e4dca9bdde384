"""Web pages of their own, opened from the disk in a browser without a network, as whoever gets the file does."""

from __future__ import annotations

from html import escape
from pathlib import Path

import numpy as np
import pytest
from playwright.sync_api import Page, expect

from attnviz.export.web import iframe
from attnviz.figures.style import AXIS_TITLE
from tests.browser.board import cells, matrix, painted
from tests.browser.contexts import Contexts
from tests.browser.web_pages import exported, opened
from tests.loaded import built_in_model

pytestmark = pytest.mark.page("offline_page")

TEXT = "My sister bought a bicycle because she wanted to ride it to work."
HOSTILE = "</script><img src=x onerror=alert(1)> <!-- \u2028 <b>é</b> 🙂"
WALK = ".walk .attnviz-board"
COMPARE = ".compare .attnviz-board"


def names_its_axes(page: Page, board: str, panel: str) -> None:
    """A page says what the rows and the columns of its matrix are."""
    assert {AXIS_TITLE["query"], AXIS_TITLE["key"]} <= set(painted(page, panel, board)["all"])


def test_a_comparison_opens_from_the_disk_with_the_numbers_of_the_model(page: Page, tmp_path: Path) -> None:
    link = f"http://localhost/compare?text={TEXT}&source=pretrained&head=2&b_layer=3&b_head=1&q=11&k=5"
    file = exported(tmp_path, link)
    assert file.stat().st_size < 200_000
    assert opened(page, file) == [file.as_uri()]
    names_its_axes(page, COMPARE, "a")
    trace = built_in_model().trace(TEXT)
    a, b = trace.attentions(0)[2].numpy(), trace.attentions(3)[1].numpy()
    for name, wanted in (("a", a), ("b", b), ("difference", a - b)):
        np.testing.assert_allclose(matrix(page, name, COMPARE), wanted, rtol=0, atol=1e-6)
    expect(page.locator(".line")).to_contain_text("11 it")
    assert f"{b[11, 5]:.4f}" in page.locator(".line").inner_text()
    assert "Source Sans" in page.locator(COMPARE).evaluate("(board) => board.attnviz.font")
    assert page.evaluate("document.fonts.check('1em \"Source Sans\"')")
    page.locator(COMPARE).press("Escape")
    expect(page.locator(".line")).to_contain_text("Point at a cell")


def test_a_walk_goes_through_all_steps_and_heads_of_its_layer_without_a_network(page: Page, tmp_path: Path) -> None:
    link = f"http://localhost/?text={TEXT}&source=pretrained&layer=3&head=1&step=weights&q=11&k=5"
    file = exported(tmp_path, link)
    assert opened(page, file) == [file.as_uri()]
    names_its_axes(page, WALK, "weights")
    attentions = built_in_model().trace(TEXT).attentions(3).numpy()
    np.testing.assert_allclose(matrix(page, "weights", WALK), attentions[1], rtol=0, atol=1e-6)
    expect(page.get_by_role("region", name="Arithmetic of one cell")).to_contain_text(f"{attentions[1, 11, 5]:.4f}")
    page.get_by_role("button", name="head 7", exact=True).click()
    page.wait_for_selector("[data-painted][data-head='7']")
    np.testing.assert_allclose(matrix(page, "weights", WALK), attentions[7], rtol=0, atol=1e-6)
    page.keyboard.press("ArrowRight")
    page.wait_for_selector("[data-painted][data-step=head_outputs]")
    page.wait_for_url(lambda url: "head=7" in url and "step=head_outputs" in url)
    page.get_by_role("radio", name="Q, K, V").click()
    expect(page.locator(".note")).to_contain_text("this page holds the projections of head 1 only")

    page.goto(f"{file.as_uri()}#step=scores&head=2&q=&k=&lecture=1")
    page.reload()
    page.wait_for_selector("[data-painted][data-step=scores][data-head='2']")
    assert page.locator("html").get_attribute("class") == "lecture"


def test_a_walk_says_what_its_pinned_score_is_made_of_without_a_network(page: Page, tmp_path: Path) -> None:
    link = f"http://localhost/?text={TEXT}&source=pretrained&layer=3&head=1&step=scores&q=11&k=5&why=1"
    file = exported(tmp_path, link)
    assert opened(page, file) == [file.as_uri()]
    why = page.locator(".why-score")
    cells = why.locator(".pairs td[data-value]")
    expect(cells).to_have_count(36)
    total = sum(cells.evaluate_all("all => all.map((one) => +one.dataset.value)"))
    assert total == pytest.approx(float(built_in_model().trace(TEXT).head(3, 1).scores[11, 5]), abs=1e-4)
    page.get_by_label("key column").fill("2")
    expect(why).to_contain_text("this page holds only those of the cell that was pinned when it was made.")


def test_a_page_follows_the_theme_and_takes_the_width_that_it_is_given(page: Page, tmp_path: Path) -> None:
    file = exported(tmp_path, f"http://localhost/compare?text={TEXT}&source=pretrained&b_head=1")
    slides = tmp_path / "slides.html"
    slides.write_text(f"<!doctype html><div style='width: 500px'>{iframe(file.name, 'A & B')}</div>", encoding="utf-8")
    page.goto(slides.as_uri())
    inside = page.frame_locator("iframe[title='A & B']")
    inside.locator("[data-painted]").wait_for()
    assert inside.locator("html").evaluate("(html) => [html.scrollWidth, window.innerWidth]") == [500, 500]
    for scheme, ground in (("light", "rgb(255, 255, 255)"), ("dark", "rgb(20, 20, 27)")):
        page.emulate_media(color_scheme=scheme)
        expect(inside.locator("body")).to_have_css("background-color", ground)
        expect(inside.locator(".compare")).to_have_attribute("data-theme", scheme)


REFUSED = [
    "base-uri", "connect-src", "form-action", "frame-src", "img-src", "object-src", "script-src-elem", "style-src-elem",
]  # fmt: skip
ATTEMPTS = """async (kinds) => {
  const caught = [];
  addEventListener("securitypolicyviolation", ({ effectiveDirective }) => caught.push(effectiveDirective));
  const tried = (tag, properties) => document.body.append(Object.assign(document.createElement(tag), properties));
  tried("script", { textContent: "window.ran = true" });
  tried("script", { src: "data:text/javascript,window.ran = true" });
  tried("style", { textContent: "body { display: none }" });
  tried("img", { src: "http://127.0.0.1:9/a.png" });
  tried("iframe", { src: "https://example.org/" });
  tried("object", { data: "https://example.org/a.svg" });
  tried("base", { href: "https://example.org/" });
  tried("form", { action: "https://example.org/", method: "post" });
  document.forms[0].submit();
  await fetch("https://example.org/", { method: "POST", body: "all" }).catch(() => {});
  navigator.sendBeacon("https://example.org/", "all");
  try { new WebSocket("wss://example.org/"); } catch { /* refused */ }
  const rest = () => new Promise((done) => setTimeout(done, 50));
  for (let waited = 0; waited < 200 && new Set(caught).size < kinds; waited += 1) await rest();
  await rest();
  return [[...new Set(caught)].sort(), window.ran, getComputedStyle(document.body).display];
}"""


def test_the_page_lets_nothing_out_and_nothing_else_run(new_context: Contexts, tmp_path: Path) -> None:
    file = exported(tmp_path, f"http://localhost/heads?layer=3&head=1&text={TEXT}")
    page = new_context().new_page()
    opened(page, file)
    names_its_axes(page, ".explorer .attnviz-board", "layer 3 · head 1")
    asked: list[str] = []
    stopped: list[tuple[str, str | None]] = []
    page.on("request", lambda request: asked.append(request.url))
    page.on("requestfailed", lambda request: stopped.append((request.url, request.failure)))
    caught, ran, display = page.evaluate(ATTEMPTS, len(REFUSED))
    assert caught == REFUSED
    assert (ran, display) == (None, "flex")
    assert page.url == file.as_uri()
    assert [(url, "csp") for url in asked] == stopped


def test_hostile_texts_are_text(page: Page, tmp_path: Path) -> None:
    from urllib.parse import quote

    link = f"http://localhost/compare?text={quote(HOSTILE)}&b_text={quote(HOSTILE + 'a')}&tokenizer=word"
    page.once("dialog", lambda dialog: pytest.fail(dialog.message))
    file = exported(tmp_path, link)
    assert opened(page, file) == [file.as_uri()]
    assert page.locator("img").count() == 0
    about = page.locator(".attnviz-about").inner_text()
    assert " ".join(HOSTILE.split()) in " ".join(about.split())
    assert escape(HOSTILE.split(maxsplit=1)[0], quote=False) not in about
    assert np.isfinite(cells(page, "a", COMPARE)).all()
