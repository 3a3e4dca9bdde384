"""The stage on a plain page as its users meet it: point, pin, move the pin, zoom, step, guess and reveal."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import ExitStack

import numpy as np
import pytest
import torch
from playwright.sync_api import Page, expect

from attnviz.document import document_of_layer, write
from attnviz.formatting import percent
from attnviz.tokens import WordTokenizer
from attnviz.toy.block import trace_toy
from attnviz.toy.config import ToyConfig
from tests.browser.apps.walk_page import WalkPage, WalkView, serving
from tests.browser.board import BOARD, TEXT_PEN, cells, dark_share, matrix, painted
from tests.browser.settle import frames, in_the_end
from tests.loaded import built_in_model
from tests.toy import run_block

TEXT = "The animal didn't cross the street because it was too tired."
LONG = " ".join(f"word{i}" for i in range(64))

OpenWalk = Callable[..., WalkView]

pytestmark = pytest.mark.page("one_page")


def toy_head(text: str = TEXT, **config: int) -> torch.Tensor:
    return run_block(WordTokenizer().tokenize(text).ids, ToyConfig(**config)).layer(0).head(0)


@pytest.fixture
def walk(page: Page) -> Iterator[OpenWalk]:
    """Open a layer of the toy, or of the built-in model: `walk(pretrained=True, layer=3, head=5, step="weights")`."""
    with ExitStack() as servers:

        def opened(text: str = TEXT, *, pretrained: bool = False, layer: int = 0, **link: str | int) -> WalkView:
            config = {"seed": link.pop("seed", 0), "causal": link.pop("mask", "") == "causal"}
            toy = trace_toy(WordTokenizer().tokenize(text), ToyConfig(**config))  # type: ignore[arg-type]
            trace = built_in_model().trace(text) if pretrained else toy
            shown = document_of_layer(trace.walk(layer, int(link.get("head", 0))))
            given = servers.enter_context(serving(WalkPage({layer: write(shown)})))
            return WalkView.open(page, given.url, layer=layer, **link)

        yield opened


def test_pointing_at_a_score_lights_its_operands(page: Page, walk: OpenWalk) -> None:
    inspector = walk(step="scores")
    inspector.hover("scores", 3, 5)
    expect(inspector.line("scores")).to_be_visible()
    lit = {("scores", "row"), ("scores", "column"), ("scores", "cell"), ("query", "row"), ("key_t", "column")}
    assert lit <= inspector.marks()
    names = page.locator("[data-attnviz-overlay] text[data-state=hovered]")
    assert set(names.all_text_contents()) == {"3 cross", "5 street"}
    assert inspector.result("scores") == pytest.approx(float(toy_head().scores[3, 5]), rel=1e-5)


def test_arrow_keys_move_the_pin_and_escape_gives_them_back_to_the_steps(page: Page, walk: OpenWalk) -> None:
    inspector = walk(step="weights")
    inspector.click("weights", 2, 2)
    inspector.pinned(2, 2, changes=1)
    for key in ("ArrowRight", "ArrowDown", "ArrowDown", "ArrowLeft", "ArrowLeft"):
        page.keyboard.press(key)
    inspector.pinned(4, 1, changes=6)
    inspector.leave()
    expect(inspector.panel.locator(".badge")).to_have_text("pinned")
    assert inspector.result("weights") == pytest.approx(float(toy_head().weights[4, 1]), rel=1e-5)
    page.keyboard.press("Escape")
    inspector.pinned(None, None, changes=7)
    page.locator(BOARD).focus()
    page.keyboard.press("Enter")
    page.keyboard.press("ArrowUp")  # stops at the edge
    inspector.pinned(0, 0, changes=8)
    assert inspector.result("weights") == pytest.approx(float(toy_head().weights[0, 0]), rel=1e-5)
    page.keyboard.press("Escape")
    page.keyboard.press("ArrowRight")
    inspector.page.wait_for_function("() => window.changes.length >= 10")
    assert inspector.changes[8:] == [{"q": None, "k": None}, {"step": "head_outputs"}]


def test_zooming_brings_numbers_that_equal_torch(page: Page, walk: OpenWalk) -> None:
    walk(pretrained=True, layer=3, head=5, step="weights", text=LONG, q=30, k=20)
    assert painted(page, "weights")["inside"] == []
    page.locator(BOARD).focus()
    for _ in range(5):
        page.keyboard.press("+")
    frames(page)
    shown = cells(page, "weights")
    assert shown.size >= 16
    weights = built_in_model().trace(LONG).attentions(3)[5].numpy()
    np.testing.assert_allclose(matrix(page, "weights"), weights, rtol=0, atol=1e-6)
    view = page.locator(BOARD).evaluate("(e) => ['query', 'key'].map((kind) => e.attnviz.views.views.get(kind))")
    rows, cols = (range(int(np.floor(v["from"])), int(np.ceil(v["to"]))) for v in view)
    assert 30 in rows
    assert 20 in cols
    known = np.round(weights[np.ix_(rows, cols)].astype(float), 2)
    assert set(np.round(shown, 2)) <= set(np.round(known.ravel(), 2))
    page.keyboard.press("0")
    frames(page)
    assert painted(page, "weights")["inside"] == []


def test_the_wheel_zooms_with_ctrl_and_a_drag_scrolls_without_pinning(page: Page, walk: OpenWalk) -> None:
    inspector = walk(pretrained=True, step="weights", text=LONG)
    where = "(e) => { const v = e.attnviz.views.views.get('key'); return v ? v.from : null }"
    inspector.hover("weights", 40, 40)
    page.keyboard.down("Control")
    page.mouse.wheel(0, -400)
    page.keyboard.up("Control")
    before = in_the_end(page, lambda: page.locator(BOARD).evaluate(where), lambda found: found is not None)
    assert before is not None
    frames(page)
    x, y = inspector.at("weights", 40, 40)
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move(x + 60, y + 40, steps=6)
    page.mouse.up()
    frames(page)
    assert page.locator(BOARD).evaluate(where) < before
    assert inspector.changes == []


def test_a_screen_reader_finds_each_matrix_in_rows_of_words_and_not_the_row_that_is_guessed(
    page: Page, walk: OpenWalk
) -> None:
    walk(step="weights", predict=1, q=2, seed=1)
    rows = page.get_by_role("list", name=re.compile("^weights.*, rows: query \\(from\\)$")).get_by_role("listitem")
    expect(rows).to_have_count(11)
    weights, words = toy_head(seed=1).weights, WordTokenizer().tokenize(TEXT).labels

    def said(row: int) -> str:
        most = int(weights[row].argmax())
        return f"row {row} “{words[row]}”: {most} “{words[most]}” {percent(float(weights[row, most]))}, "

    expect(rows.nth(2)).to_have_text("row 2 “didn't”: covered")
    for row in (1, 3, 10):
        expect(rows.nth(row)).to_contain_text(said(row))
    masked = page.get_by_role("list", name="masked, rows").get_by_role("listitem")
    expect(masked.nth(2)).to_have_text("row 2 “didn't”: covered")
    page.keyboard.press("r")
    expect(rows.nth(2)).to_contain_text(said(2))
    page.get_by_role("button", name="Focus on masked").press("Enter")
    expect(rows).to_have_count(0)
    expect(masked).to_have_count(11)
    assert page.evaluate("() => document.documentElement.scrollHeight <= innerHeight")
    page.get_by_role("button", name="Show all matrices").press("Enter")


def test_a_guess_is_covered_and_revealed_by_cells_and_rows_and_the_next_row_anew(page: Page, walk: OpenWalk) -> None:
    inspector = walk(step="weights", predict=1, q=2)
    texts = painted(page, "weights")["inside"]
    assert texts.count("?") == 11
    assert len(texts) == 121
    assert painted(page, "masked")["inside"].count("?") == 11, "it would give the row away"
    expect(inspector.panel).to_contain_text("Covered")
    expect(inspector.panel).not_to_contain_text("looks most")
    inspector.hover("weights", 2, 4)
    expect(inspector.panel).to_contain_text("Covered")
    expect(inspector.line("weights")).to_have_count(0)
    inspector.click("weights", 2, 4)
    frames(page)
    assert painted(page, "weights")["inside"].count("?") == 10
    assert inspector.changes == [], "revealing is not pinning"
    assert cells_of_row(page, 2)[4] == f"{float(toy_head().weights[2, 4]):.2f}"
    page.keyboard.press("r")
    frames(page)
    assert "?" not in painted(page, "weights")["inside"]
    page.mouse.move(1, 1)
    expect(inspector.panel).to_contain_text("looks most")
    expect(page.locator(".guess")).to_contain_text("Guesses: 1.")
    page.get_by_role("spinbutton", name="query row").fill("5")
    frames(page)
    assert cells_of_row(page, 5).count("?") == 11
    assert cells_of_row(page, 2).count("?") == 0
    best = int(toy_head().weights[5].argmax())
    page.locator(BOARD).focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowLeft")  # to column 0 of row 5
    for _ in range(best):
        page.keyboard.press("ArrowRight")
    expect(inspector.panel).to_contain_text("Covered")
    page.keyboard.press("Enter")
    expect(page.locator(".guess")).to_contain_text(re.compile(rf"Guess 1: column {best} .* the largest\. Right\."))
    assert "?" not in painted(page, "weights")["inside"]
    page.keyboard.press("ArrowDown")
    frames(page)
    assert cells_of_row(page, 6).count("?") == 11
    page.locator(BOARD).focus()  # in a field, letters are letters
    page.keyboard.press("a")
    frames(page)
    assert "?" not in painted(page, "weights")["inside"]


def cells_of_row(page: Page, row: int) -> list[str]:
    return painted(page, "weights")["inside"][row * 11 : row * 11 + 11]


def test_stepping_back_plays_the_morph_reversed(page: Page, walk: OpenWalk) -> None:
    inspector = walk(step="masked", mask="causal")
    page.evaluate(
        """(css) => {
      const { morph } = deepFind(css).attnviz;
      const advance = morph.advance;
      window.seen = [];
      const clock = performance.now.bind(performance);
      let began = null, drawn = 0, moment = null;
      performance.now = () => moment ?? clock();
      morph.advance = function () {  // each frame 20 ms after the one before, however long it takes
        drawn = this.began === began ? drawn + 1 : 0;
        began = this.began;
        moment = began + 20 * drawn;
        advance.call(this);
        moment = null;
        if (this.pairs) window.seen.push([this.backwards, this.moment, this.pairs.map(({ from, to }) =>
          [from?.panel.name ?? null, to?.panel.name ?? null].join(' > '))]);
      };
    }""",
        BOARD,
    )
    inspector.show("weights")
    forth = page.evaluate("() => window.seen.splice(0)")
    inspector.show("masked")
    back = page.evaluate("() => window.seen.splice(0)")
    assert forth
    assert back
    assert not forth[0][0]
    assert back[0][0]
    assert forth[0][2] == back[0][2], "the same pairs, played the other way"
    moments = [moment for _, moment, _ in forth]
    assert moments == sorted(moments)


def test_reduced_motion_has_no_transitions(page: Page, walk: OpenWalk) -> None:
    page.emulate_media(reduced_motion="reduce")
    inspector = walk(step="scores")
    page.evaluate("(css) => { deepFind(css).attnviz.morph.start = () => { window.moved = true } }", BOARD)
    inspector.show("scaled")
    assert page.evaluate("() => window.moved") is None
    assert matrix(page, "scaled").shape == (11, 11)


def test_a_word_of_200_letters_is_shortened_in_the_picture_and_whole_on_hover(page: Page, walk: OpenWalk) -> None:
    word = "pneumono" * 25
    inspector = walk(step="weights", text=f"a {word} b")
    texts = painted(page, "weights")["all"]
    assert word not in texts
    assert any("…" in text and text.startswith("pneu") for text in texts)
    inspector.hover("weights", 1, 0)
    assert word in (inspector.panel.get_by_role("heading").text_content() or "")


def test_512_tokens_are_drawn_and_followed(page: Page, walk: OpenWalk) -> None:
    text = " ".join(f"w{i}" for i in range(512))
    inspector = walk(step="weights", text=text, mask="causal", q=500, k=9)
    head = toy_head(text, causal=True)
    # In double precision: torch's own weights in single precision are up to 2e-6 off, by processor.
    scaled = head.query.double() @ head.key.double().T * head.scale
    weights = scaled.masked_fill(torch.ones(scaled.shape, dtype=torch.bool).triu(1), -torch.inf).softmax(dim=-1)
    np.testing.assert_allclose(np.nan_to_num(matrix(page, "weights"), nan=0.0), weights.numpy(), rtol=1e-6, atol=1e-9)
    assert inspector.result("weights") == pytest.approx(float(weights[500, 9]), rel=1e-4)
    end = np.quantile(head.weights.amax(-1).numpy(), 0.9, method="lower")
    page.locator(".menu summary").click()
    expect(page.get_by_role("switch", name=f"Colours end at {end:.2g}, not 1")).to_have_attribute(
        "aria-checked", "true"
    )
    assert dark_share(page, "weights") > 0.001
    names = page.locator("[data-attnviz-overlay] text[data-state=pinned]")
    assert {"500 w500", "9 w9"} <= set(names.all_text_contents())
    assert (
        page.locator("[data-attnviz-overlay] g rect:not([display=none])").count() >= 2
    )  # labels that they would touch


TYPE = """([css, name]) => {
  const { attnviz: board } = deepFind(css);
  let least = Infinity;
  board.paint((TEXT_PEN)((target, text) => {
    if (/^.?\\d*\\.\\d+$/.test(text)) least = Math.min(least, parseFloat(target.font.match(/[\\d.]+px/)[0]));
  }));
  return least;
}""".replace("TEXT_PEN", TEXT_PEN)
"""The size of the smallest number that is painted, in px"""


def test_one_matrix_takes_the_whole_stage_with_its_numbers(page: Page, walk: OpenWalk) -> None:
    inspector = walk(pretrained=True, step="qkv", layer=2, head=3)
    layer = built_in_model().trace(TEXT).layer(2)
    page.get_by_role("button", name="Focus on Q query").click()
    frames(page)
    np.testing.assert_allclose(cells(page, "query"), layer.query[3].flatten().numpy(), atol=0.0501)
    assert page.evaluate(TYPE, [BOARD, "query"]) >= 11
    inspector.click("query", 3, 4)
    expect(page.locator(".inspector:popover-open")).to_be_in_viewport()
    assert inspector.result("product") == pytest.approx(float(layer.query[3, 3, 4]), rel=1e-4)
    page.get_by_role("button", name="Close").click()
    page.get_by_role("button", name="Show all matrices").click()
    frames(page)
    assert matrix(page, "embeddings").shape == (16, 384)


PLACES = """(css) => Object.fromEntries(
  deepFind(css).attnviz.panels().map(({ name, x, y }) => [name, [x._offset, y._offset]])
)"""


def test_a_phone_stacks_the_matrices_with_their_numbers_and_a_wide_window_sets_them_side_by_side(
    page: Page, walk: OpenWalk
) -> None:
    page.set_viewport_size({"width": 390, "height": 844})
    walk(step="weights", q=3, k=1)
    for narrow, width in ((True, 390), (False, 1280), (True, 400), (False, 1920)):
        page.set_viewport_size({"width": width, "height": 844})
        frames(page)
        places = page.evaluate(PLACES, BOARD)
        (left, top), (right, below), (beside, _) = places["masked"], places["weights"], places["row_sum"]
        assert (left == right, below < top) == (narrow, narrow)  # the result comes first
        assert beside > right
        np.testing.assert_allclose(cells(page, "weights"), toy_head().weights.flatten().numpy(), atol=0.00501)
        picture = page.locator(".walk .picture").bounding_box()
        tools = page.locator(".walk .top").bounding_box()
        assert picture and tools
        assert tools["y"] + tools["height"] <= picture["y"]
        assert picture["x"] + picture["width"] <= width
