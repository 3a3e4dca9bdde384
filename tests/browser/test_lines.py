"""Attention as lines: which are drawn, what pointing and pinning say, and that all of it can be reached."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from playwright.sync_api import Error, Page, expect

from tests.browser.apps.lines_page import LinesPage, heads_of, kept, softmax_rows
from tests.browser.apps.operands import HOSTILE
from tests.browser.contexts import Contexts

See = Callable[..., LinesPage]

FRONT = "[...lines.element.querySelectorAll('canvas')].at(-1)"
"""The canvas of the tokens, over those of the lines."""


@pytest.fixture
def see(one_page: Page, served: str) -> See:
    """Draw weights (heads, rows, cols): `see(weights, queries=..., size=..., threshold=...)`."""

    def draw(weights: np.ndarray, **given: Any) -> LinesPage:
        named = {name: given.pop(name) for name in ("queries", "keys", "size") if name in given}
        return LinesPage(one_page, weights, **named, state=given).open(served)

    return draw


# ---- which lines


def test_the_view_counts_what_it_draws(see: See) -> None:
    weights = softmax_rows(2, 2, 12, 12, causal=True)
    lines_page = see(weights)
    assert lines_page.drawn == {"shown": 156, "total": 156}
    for threshold, strongest in [(0.1, 0), (0, 3), (0.2, 1), (2, 0)]:
        lines_page.update(threshold=threshold, strongest=strongest)
        assert lines_page.drawn == {"shown": int(kept(weights, threshold, strongest).sum()), "total": 156}
        assert lines_page.root.get_attribute("data-painted") == str(lines_page.drawn["shown"])


def test_beyond_twenty_thousand_lines_the_view_says_how_many(see: See) -> None:
    lines_page = see(softmax_rows(2, 1, 160, 160))
    assert lines_page.drawn == {"shown": 20_000, "total": 25_600}


INKED = """() => [...lines.element.querySelectorAll('canvas')].slice(0, 2).map((canvas) => {
  const { data } = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
  return data.filter((channel, i) => i % 4 === 3 && channel > 0).length;
}).reduce((a, b) => a + b)"""
"""How many pixels of the lines are not transparent."""


def test_hidden_weights_leave_no_trace(see: See) -> None:
    weights = np.full((1, 8, 8), np.nan, np.float32)
    lines_page = see(weights)
    assert (lines_page.drawn, lines_page.page.evaluate(INKED)) == ({"shown": 0, "total": 0}, 0)
    weights[0, 2, 5] = 0.5
    lines_page.update(heads=heads_of(weights))
    assert lines_page.drawn == {"shown": 1, "total": 1}
    assert lines_page.page.evaluate(INKED) > 300
    lines_page.hover("query", 2)
    assert lines_page.lit == 1
    assert [text["text"] for text in lines_page.texts if text["text"].startswith("0.")] == ["0.5000"]
    lines_page.hover("query", 3)
    assert lines_page.lit == 0


# ---- pointing and pinning


@pytest.mark.parametrize("direction", ["vertical", "horizontal"])
@pytest.mark.parametrize(("side", "index"), [("query", 3), ("key", 7)])
def test_the_pointed_token_shows_its_weights(see: See, direction: str, side: str, index: int) -> None:
    weights = softmax_rows(4, 2, 10, 12)
    lines_page = see(weights, direction=direction, threshold=0.02)
    lines = lines_page.page.evaluate_handle("() => lines.strokes")
    lines_page.hover(side, index)
    own = weights[:, index] if side == "query" else weights[:, :, index]
    assert lines_page.events("pointed") == [{"q": index, "k": None} if side == "query" else {"q": None, "k": index}]
    assert lines_page.lit == (own >= 0.02).sum()
    assert [text["text"] for text in lines_page.texts if re.fullmatch(r"\d\.\d{4}", text["text"])] == [
        f"{x:.4f}" for x in own.max(0)
    ]
    assert lines_page.page.evaluate("(before) => before === lines.strokes", lines), "all lines were drawn anew"
    lines_page.page.mouse.move(500, 690)
    lines_page.painted()
    assert lines_page.events("pointed")[-1] is None
    assert lines_page.lit == 0


def test_a_pinned_token_stays_lit_while_another_is_pointed_at(see: See) -> None:
    weights = softmax_rows(4, 1, 9, 9)
    lines_page = see(weights, pinned={"q": 2, "k": None})
    assert lines_page.lit == 9
    lines_page.hover("query", 5)
    assert lines_page.lit == 18
    lines_page.hover("key", 2)
    assert lines_page.lit == 17  # the line between the two counts once


def test_a_click_pins_and_the_sentence_says_the_three_strongest(see: See) -> None:
    weights = softmax_rows(6, 3, 8, 11)
    lines_page = see(weights, keys=["the"] * 11)
    lines_page.click("query", 5)
    assert lines_page.events("pins") == [{"q": 5, "k": None}]
    assert lines_page.status == ""  # its owner decides what is pinned
    lines_page.update(pinned={"q": 5, "k": None})
    order = np.argsort(-weights[:, 5].ravel())[:3]
    strongest = [(h, k, weights[h, 5, k]) for h, k in zip(*np.unravel_index(order, (3, 11)), strict=True)]
    parts = ", ".join(f"key {k} “the” {value:.4f} in layer 1 · head {h}" for h, k, value in strongest)
    assert lines_page.status == f"Pinned: Query 5 “from5” attends most to {parts}."
    lines_page.update(pinned={"q": 5, "k": 3})
    assert lines_page.status.endswith(
        f"Query 5 on key 3: {weights[:, 5, 3].max():.4f}, the largest, in layer 1 · head {weights[:, 5, 3].argmax()}."
    )
    by_key = np.sort(weights[:, :, 3].ravel())[::-1][:3]
    assert re.findall(r"\d\.\d{4}", lines_page.status.split("Key 3")[1])[:3] == [f"{x:.4f}" for x in by_key]


@pytest.mark.parametrize(
    ("direction", "onwards", "across"),
    [("vertical", "ArrowDown", "ArrowRight"), ("horizontal", "ArrowRight", "ArrowDown")],
)
def test_the_keyboard_reaches_every_token(see: See, direction: str, onwards: str, across: str) -> None:
    weights = softmax_rows(7, 1, 30, 40)
    lines_page = see(weights, direction=direction, size=(500, 300))
    lines_page.page.keyboard.press("Tab")
    expect(lines_page.root).to_be_focused()
    for key in (onwards, onwards, onwards):
        lines_page.page.keyboard.press(key)
    assert lines_page.events("pointed")[-1] == {"q": 2, "k": None}
    expect(lines_page.page.get_by_role("status")).to_contain_text(f"{weights[0, 2].max():.4f}")
    lines_page.page.keyboard.press(across)
    lines_page.page.keyboard.press("End")
    lines_page.painted()
    assert lines_page.events("pointed")[-1] == {"q": None, "k": 39}
    x, y = lines_page.place("key", 39)
    assert 0 < x < 500 and 0 < y < 300, "the token is not in view"
    lines_page.page.keyboard.press("Enter")
    assert lines_page.events("pins") == [{"q": None, "k": 39}]
    lines_page.page.keyboard.press("Escape")
    assert lines_page.events("pointed")[-1] is None


def test_a_finger_taps_and_scrolls(one_touch_page: Page, served: str) -> None:
    page = one_touch_page
    page.set_viewport_size({"width": 390, "height": 700})
    lines_page = LinesPage(page, softmax_rows(8, 1, 60, 60), size=(390, 500)).open(served)
    page.touchscreen.tap(*lines_page.place("key", 4))
    assert lines_page.events("pointed") == lines_page.events("pins") == [{"q": None, "k": 4}]
    drag = page.context.new_cdp_session(page)
    drag.send("Input.dispatchTouchEvent", {"type": "touchStart", "touchPoints": [{"x": 190, "y": 400}]})
    for y in range(380, 180, -20):
        drag.send("Input.dispatchTouchEvent", {"type": "touchMove", "touchPoints": [{"x": 190, "y": y}]})
    drag.send("Input.dispatchTouchEvent", {"type": "touchEnd", "touchPoints": []})
    page.wait_for_function("() => lines.element.scrollTop > 100")
    assert len(lines_page.events("pins")) == 1


# ---- more tokens than fit


def test_five_hundred_and_twelve_tokens_scroll(see: See) -> None:
    weights = softmax_rows(9, 1, 512, 512)
    lines_page = see(weights, strongest=3)
    assert lines_page.drawn["shown"] == 1536
    painted = int(lines_page.root.get_attribute("data-painted") or 0)
    assert 0 < painted < 600, "lines are drawn of which no end is in view"
    lines_page.page.mouse.move(500, 300)
    lines_page.page.mouse.wheel(0, 4000)
    lines_page.page.wait_for_function("() => lines.element.scrollTop >= 4000")
    first, last = lines_page.page.evaluate("() => lines.layout.visible(0)")
    assert first > 150 and last - first < 40
    lines_page.hover("query", first + 5)
    assert lines_page.events("pointed")[-1] == {"q": first + 5, "k": None}
    numbers = {text["text"] for text in lines_page.texts if re.fullmatch(r"\d\.\d{4}", text["text"])}
    shown = weights[0, first + 5, first : last + 1]
    assert numbers >= {f"{x:.4f}" for x in shown[2:-2] if x >= 0.00005}


def test_the_wheel_scrolls_a_horizontal_picture_and_both_ends_meet(see: See) -> None:
    lines_page = see(softmax_rows(9, 1, 100, 300), direction="horizontal")
    lines_page.page.mouse.move(500, 300)
    lines_page.page.mouse.wheel(0, 100_000)
    lines_page.page.wait_for_function("() => lines.element.scrollLeft > 1000")
    lines_page.painted()
    assert lines_page.page.evaluate("() => [lines.layout.visible(0)[1], lines.layout.visible(1)[1]]") == [100, 300]


@pytest.mark.parametrize("direction", ["vertical", "horizontal"])
@pytest.mark.parametrize("size", [(1000, 600), (360, 420)])
def test_no_type_is_smaller_than_eleven_pixels(see: See, direction: str, size: tuple[int, int]) -> None:
    lines_page = see(softmax_rows(9, 4, 70, 70), direction=direction, size=size)
    lines_page.hover("query", 3)
    found = [float(size) for text in lines_page.texts for size in re.findall(r"([\d.]+)px", text["font"])]
    assert len(found) > 20
    assert min(found) >= 11


# ---- any text, any state


def test_tokens_of_all_kinds_are_drawn_as_they_are(see: See) -> None:
    tokens = ["the", HOSTILE, "العربية", "👩‍👩‍👧", "\u202etfel", "the", "x" * 200, "中文", "", "</script>", "the"]
    lines_page = see(softmax_rows(1, 1, 11, 11), queries=tokens, keys=tokens)
    lines_page.forget()
    drawn = [text["text"] for text in lines_page.update(theme="dark").texts]
    for token in ("the", HOSTILE, "العربية", "👩‍👩‍👧", "\u202etfel", "中文", "</script>"):
        assert drawn.count(token) == 2 * tokens.count(token), token
    assert sum("…" in text for text in drawn) == 2
    assert lines_page.root.locator("img, script").count() == 0
    lines_page.hover("query", 6)
    expect(lines_page.root.get_by_text("x" * 200, exact=True)).to_be_visible()
    lines_page.hover("query", 1)
    expect(lines_page.root.get_by_text("x" * 200, exact=True)).to_be_hidden()
    lines_page.update(pinned={"q": 1, "k": None})
    assert f"Query 1 “{HOSTILE}” attends most to" in lines_page.status


def test_a_theme_repaints_and_a_size_is_followed(see: See) -> None:
    lines_page = see(softmax_rows(1, 1, 6, 6))
    colours = f"""() => {{
      const front = {FRONT};
      return front.getContext('2d').getImageData(0, 0, front.width, 24).data.reduce((a, b) => a + b);
    }}"""
    light = lines_page.page.evaluate(colours)
    lines_page.update(theme="dark")
    assert lines_page.page.evaluate(colours) != light
    lines_page.page.evaluate("() => { box.style.width = '420px' }")
    lines_page.page.wait_for_function(f"() => {FRONT}.width === 420")
    lines_page.painted()
    assert lines_page.place("key", 0)[0] < 420


def test_a_dense_screen_gets_its_pixels(new_context: Contexts, served: str) -> None:
    page = new_context(device_scale_factor=2).new_page()
    LinesPage(page, softmax_rows(1, 1, 6, 6)).open(served)
    assert page.evaluate(f"() => [{FRONT}.width, {FRONT}.height]") == [2000, 1200]


def test_nonsense_is_no_error(see: See) -> None:
    lines_page = see(softmax_rows(1, 1, 6, 7))
    for cell in ({"q": 99, "k": -1}, {"q": 1.5, "k": "x"}, None, {}):
        lines_page.update(hovered=cell, pinned=cell)
        assert (lines_page.lit, lines_page.status) == (0, "")
    lines_page.update(heads=[], queryLabels=[], keyLabels=[])
    assert lines_page.drawn == {"shown": 0, "total": 0}
    lines_page.root.focus()
    lines_page.page.keyboard.press("ArrowDown")
    lines_page.page.keyboard.press("Enter")
    assert lines_page.events("pins") == []
    wrong = {"name": "wrong", "colour": "#000000", "rows": 2, "cols": 2, "bytes": "AAAAAAAAAAA="}
    with pytest.raises(Error, match="RangeError: wrong: 2 values are not 2 × 2"):
        lines_page.update(heads=[wrong], queryLabels=["a", "b"], keyLabels=["a", "b"])


def test_another_text_forgets_the_token_of_the_last(see: See) -> None:
    lines_page = see(softmax_rows(1, 1, 9, 9))
    lines_page.root.focus()
    for key in ("ArrowDown", "End"):
        lines_page.page.keyboard.press(key)
    lines_page.painted()
    assert lines_page.status.startswith("Query 8")
    lines_page.update(heads=heads_of(softmax_rows(2, 1, 3, 3)), queryLabels=list("abc"), keyLabels=list("abc"))
    assert lines_page.status == ""
    assert lines_page.lit == 0


def test_what_changed_while_it_was_hidden_is_drawn_when_it_is_shown(see: See) -> None:
    lines_page = see(softmax_rows(1, 1, 6, 7))
    lines_page.page.evaluate("() => { box.style.display = 'none' }")
    lines_page.page.wait_for_function("() => lines.layout === null")
    lines_page.page.evaluate("() => { delete lines.element.dataset.finished }")
    lines_page.page.evaluate("() => lines.update({ threshold: 0.2, pinned: { q: 1, k: null } })")
    lines_page.page.evaluate("() => { box.style.display = '' }")
    lines_page.painted()
    shown = kept(lines_page.weights, 0.2)
    assert (lines_page.root.get_attribute("data-painted"), lines_page.lit) == (str(shown.sum()), shown[:, 1].sum())


def test_nothing_is_left_behind(see: See) -> None:
    lines_page = see(softmax_rows(1, 1, 6, 7))
    lines_page.page.evaluate("() => { lines.destroy(); delete window.lines; }")
    assert lines_page.page.evaluate("() => box.childNodes.length") == 0
