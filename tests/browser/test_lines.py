"""Attention as lines: which are drawn, what pointing and pinning say, and that all of it can be reached."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from playwright.sync_api import Error, Page, expect

from tests.browser.apps.lines_sight import LinesSight, heads_of, kept, softmax_rows
from tests.browser.apps.operands import HOSTILE
from tests.browser.contexts import Contexts

See = Callable[..., LinesSight]

FRONT = "[...lines.element.querySelectorAll('canvas')].at(-1)"
"""The canvas of the tokens, over those of the lines."""


@pytest.fixture
def see(page: Page, served: str) -> See:
    """Draw weights (heads, rows, cols): `see(weights, queries=..., size=..., threshold=...)`."""

    def draw(weights: np.ndarray, **given: Any) -> LinesSight:
        named = {name: given.pop(name) for name in ("queries", "keys", "size") if name in given}
        return LinesSight(page, weights, **named, state=given).open(served)

    return draw


# ---- which lines


def test_the_view_counts_what_it_draws(see: See) -> None:
    weights = softmax_rows(2, 2, 12, 12, causal=True)
    sight = see(weights)
    assert sight.drawn == {"shown": 156, "total": 156}
    for threshold, strongest in [(0.1, 0), (0, 3), (0.2, 1), (2, 0)]:
        sight.update(threshold=threshold, strongest=strongest)
        assert sight.drawn == {"shown": int(kept(weights, threshold, strongest).sum()), "total": 156}
        assert sight.root.get_attribute("data-painted") == str(sight.drawn["shown"])


def test_beyond_twenty_thousand_lines_the_view_says_how_many(see: See) -> None:
    sight = see(softmax_rows(2, 1, 160, 160))
    assert sight.drawn == {"shown": 20_000, "total": 25_600}


INKED = """() => [...lines.element.querySelectorAll('canvas')].slice(0, 2).map((canvas) => {
  const { data } = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
  return data.filter((channel, i) => i % 4 === 3 && channel > 0).length;
}).reduce((a, b) => a + b)"""
"""How many pixels of the lines are not transparent."""


def test_hidden_weights_leave_no_trace(see: See) -> None:
    weights = np.full((1, 8, 8), np.nan, np.float32)
    sight = see(weights)
    assert (sight.drawn, sight.page.evaluate(INKED)) == ({"shown": 0, "total": 0}, 0)
    weights[0, 2, 5] = 0.5
    sight.update(heads=heads_of(weights))
    assert sight.drawn == {"shown": 1, "total": 1}
    assert sight.page.evaluate(INKED) > 300
    sight.hover("query", 2)
    assert sight.lit == 1
    assert [text["text"] for text in sight.texts if text["text"].startswith("0.")] == ["0.5000"]
    sight.hover("query", 3)
    assert sight.lit == 0


# ---- pointing and pinning


@pytest.mark.parametrize("direction", ["vertical", "horizontal"])
@pytest.mark.parametrize(("side", "index"), [("query", 3), ("key", 7)])
def test_the_pointed_token_shows_its_weights(see: See, direction: str, side: str, index: int) -> None:
    weights = softmax_rows(4, 2, 10, 12)
    sight = see(weights, direction=direction, threshold=0.02)
    lines = sight.page.evaluate_handle("() => lines.strokes")
    sight.hover(side, index)
    own = weights[:, index] if side == "query" else weights[:, :, index]
    assert sight.heard("pointed") == [{"q": index, "k": None} if side == "query" else {"q": None, "k": index}]
    assert sight.lit == (own >= 0.02).sum()
    assert [text["text"] for text in sight.texts if re.fullmatch(r"\d\.\d{4}", text["text"])] == [
        f"{x:.4f}" for x in own.max(0)
    ]
    assert sight.page.evaluate("(before) => before === lines.strokes", lines), "all lines were drawn anew"
    sight.page.mouse.move(500, 690)
    sight.painted()
    assert sight.heard("pointed")[-1] is None
    assert sight.lit == 0


def test_a_pinned_token_stays_lit_while_another_is_pointed_at(see: See) -> None:
    weights = softmax_rows(4, 1, 9, 9)
    sight = see(weights, pinned={"q": 2, "k": None})
    assert sight.lit == 9
    sight.hover("query", 5)
    assert sight.lit == 18
    sight.hover("key", 2)
    assert sight.lit == 17  # the line between the two counts once


def test_a_click_pins_and_the_sentence_says_the_three_strongest(see: See) -> None:
    weights = softmax_rows(6, 3, 8, 11)
    sight = see(weights, keys=["the"] * 11)
    sight.click("query", 5)
    assert sight.heard("pins") == [{"q": 5, "k": None}]
    assert sight.said == ""  # its owner decides what is pinned
    sight.update(pinned={"q": 5, "k": None})
    order = np.argsort(-weights[:, 5].ravel())[:3]
    strongest = [(h, k, weights[h, 5, k]) for h, k in zip(*np.unravel_index(order, (3, 11)), strict=True)]
    parts = ", ".join(f"key {k} “the” {value:.4f} in layer 1 · head {h}" for h, k, value in strongest)
    assert sight.said == f"Pinned: Query 5 “from5” attends most to {parts}."
    sight.update(pinned={"q": 5, "k": 3})
    assert sight.said.endswith(
        f"Query 5 on key 3: {weights[:, 5, 3].max():.4f}, the largest, in layer 1 · head {weights[:, 5, 3].argmax()}."
    )
    by_key = np.sort(weights[:, :, 3].ravel())[::-1][:3]
    assert re.findall(r"\d\.\d{4}", sight.said.split("Key 3")[1])[:3] == [f"{x:.4f}" for x in by_key]


@pytest.mark.parametrize(
    ("direction", "onwards", "across"),
    [("vertical", "ArrowDown", "ArrowRight"), ("horizontal", "ArrowRight", "ArrowDown")],
)
def test_the_keyboard_reaches_every_token(see: See, direction: str, onwards: str, across: str) -> None:
    weights = softmax_rows(7, 1, 30, 40)
    sight = see(weights, direction=direction, size=(500, 300))
    sight.page.keyboard.press("Tab")
    expect(sight.root).to_be_focused()
    for key in (onwards, onwards, onwards):
        sight.page.keyboard.press(key)
    assert sight.heard("pointed")[-1] == {"q": 2, "k": None}
    expect(sight.page.get_by_role("status")).to_contain_text(f"{weights[0, 2].max():.4f}")
    sight.page.keyboard.press(across)
    sight.page.keyboard.press("End")
    sight.painted()
    assert sight.heard("pointed")[-1] == {"q": None, "k": 39}
    x, y = sight.place("key", 39)
    assert 0 < x < 500 and 0 < y < 300, "the token is not in view"
    sight.page.keyboard.press("Enter")
    assert sight.heard("pins") == [{"q": None, "k": 39}]
    sight.page.keyboard.press("Escape")
    assert sight.heard("pointed")[-1] is None


def test_a_finger_taps_and_scrolls(new_context: Contexts, served: str) -> None:
    page = new_context(has_touch=True, viewport={"width": 390, "height": 700}).new_page()
    sight = LinesSight(page, softmax_rows(8, 1, 60, 60), size=(390, 500)).open(served)
    page.touchscreen.tap(*sight.place("key", 4))
    assert sight.heard("pointed") == sight.heard("pins") == [{"q": None, "k": 4}]
    drag = page.context.new_cdp_session(page)
    drag.send("Input.dispatchTouchEvent", {"type": "touchStart", "touchPoints": [{"x": 190, "y": 400}]})
    for y in range(380, 180, -20):
        drag.send("Input.dispatchTouchEvent", {"type": "touchMove", "touchPoints": [{"x": 190, "y": y}]})
    drag.send("Input.dispatchTouchEvent", {"type": "touchEnd", "touchPoints": []})
    page.wait_for_function("() => lines.element.scrollTop > 100")
    assert len(sight.heard("pins")) == 1


# ---- more tokens than fit


def test_five_hundred_and_twelve_tokens_scroll(see: See) -> None:
    weights = softmax_rows(9, 1, 512, 512)
    sight = see(weights, strongest=3)
    assert sight.drawn["shown"] == 1536
    painted = int(sight.root.get_attribute("data-painted") or 0)
    assert 0 < painted < 600, "lines are drawn of which no end is in view"
    sight.page.mouse.move(500, 300)
    sight.page.mouse.wheel(0, 4000)
    sight.page.wait_for_function("() => lines.element.scrollTop >= 4000")
    first, last = sight.page.evaluate("() => lines.layout.visible(0)")
    assert first > 150 and last - first < 40
    sight.hover("query", first + 5)
    assert sight.heard("pointed")[-1] == {"q": first + 5, "k": None}
    numbers = {text["text"] for text in sight.texts if re.fullmatch(r"\d\.\d{4}", text["text"])}
    shown = weights[0, first + 5, first : last + 1]
    assert numbers >= {f"{x:.4f}" for x in shown[2:-2] if x >= 0.00005}


def test_the_wheel_scrolls_a_horizontal_picture_and_both_ends_meet(see: See) -> None:
    sight = see(softmax_rows(9, 1, 100, 300), direction="horizontal")
    sight.page.mouse.move(500, 300)
    sight.page.mouse.wheel(0, 100_000)
    sight.page.wait_for_function("() => lines.element.scrollLeft > 1000")
    sight.painted()
    assert sight.page.evaluate("() => [lines.layout.visible(0)[1], lines.layout.visible(1)[1]]") == [100, 300]


@pytest.mark.parametrize("direction", ["vertical", "horizontal"])
@pytest.mark.parametrize("size", [(1000, 600), (360, 420)])
def test_no_type_is_smaller_than_eleven_pixels(see: See, direction: str, size: tuple[int, int]) -> None:
    sight = see(softmax_rows(9, 4, 70, 70), direction=direction, size=size)
    sight.hover("query", 3)
    found = [float(size) for text in sight.texts for size in re.findall(r"([\d.]+)px", text["font"])]
    assert len(found) > 20
    assert min(found) >= 11


# ---- any text, any state


def test_tokens_of_all_kinds_are_drawn_as_they_are(see: See) -> None:
    tokens = ["the", HOSTILE, "العربية", "👩‍👩‍👧", "\u202etfel", "the", "x" * 200, "中文", "", "</script>", "the"]
    sight = see(softmax_rows(1, 1, 11, 11), queries=tokens, keys=tokens)
    sight.forget()
    drawn = [text["text"] for text in sight.update(theme="dark").texts]
    for token in ("the", HOSTILE, "العربية", "👩‍👩‍👧", "\u202etfel", "中文", "</script>"):
        assert drawn.count(token) == 2 * tokens.count(token), token
    assert sum("…" in text for text in drawn) == 2
    assert sight.root.locator("img, script").count() == 0
    sight.hover("query", 6)
    expect(sight.root.get_by_text("x" * 200, exact=True)).to_be_visible()
    sight.hover("query", 1)
    expect(sight.root.get_by_text("x" * 200, exact=True)).to_be_hidden()
    sight.update(pinned={"q": 1, "k": None})
    assert f"Query 1 “{HOSTILE}” attends most to" in sight.said


def test_a_theme_repaints_and_a_size_is_followed(see: See) -> None:
    sight = see(softmax_rows(1, 1, 6, 6))
    colours = f"""() => {{
      const front = {FRONT};
      return front.getContext('2d').getImageData(0, 0, front.width, 24).data.reduce((a, b) => a + b);
    }}"""
    light = sight.page.evaluate(colours)
    sight.update(theme="dark")
    assert sight.page.evaluate(colours) != light
    sight.page.evaluate("() => { box.style.width = '420px' }")
    sight.page.wait_for_function(f"() => {FRONT}.width === 420")
    sight.painted()
    assert sight.place("key", 0)[0] < 420


def test_a_dense_screen_gets_its_pixels(new_context: Contexts, served: str) -> None:
    page = new_context(device_scale_factor=2).new_page()
    LinesSight(page, softmax_rows(1, 1, 6, 6)).open(served)
    assert page.evaluate(f"() => [{FRONT}.width, {FRONT}.height]") == [2000, 1200]


def test_nonsense_is_no_error(see: See) -> None:
    sight = see(softmax_rows(1, 1, 6, 7))
    for cell in ({"q": 99, "k": -1}, {"q": 1.5, "k": "x"}, None, {}):
        sight.update(hovered=cell, pinned=cell)
        assert (sight.lit, sight.said) == (0, "")
    sight.update(heads=[], queryLabels=[], keyLabels=[])
    assert sight.drawn == {"shown": 0, "total": 0}
    sight.root.focus()
    sight.page.keyboard.press("ArrowDown")
    sight.page.keyboard.press("Enter")
    assert sight.heard("pins") == []
    wrong = {"name": "wrong", "colour": "#000000", "rows": 2, "cols": 2, "bytes": "AAAAAAAAAAA="}
    with pytest.raises(Error, match="RangeError: wrong: 2 values are not 2 × 2"):
        sight.update(heads=[wrong], queryLabels=["a", "b"], keyLabels=["a", "b"])


def test_another_text_forgets_the_token_of_the_last(see: See) -> None:
    sight = see(softmax_rows(1, 1, 9, 9))
    sight.root.focus()
    for key in ("ArrowDown", "End"):
        sight.page.keyboard.press(key)
    sight.painted()
    assert sight.said.startswith("Query 8")
    sight.update(heads=heads_of(softmax_rows(2, 1, 3, 3)), queryLabels=list("abc"), keyLabels=list("abc"))
    assert sight.said == ""
    assert sight.lit == 0


def test_what_changed_while_it_was_hidden_is_drawn_when_it_is_shown(see: See) -> None:
    sight = see(softmax_rows(1, 1, 6, 7))
    sight.page.evaluate("() => { box.style.display = 'none' }")
    sight.page.wait_for_function("() => lines.layout === null")
    sight.page.evaluate("() => { delete lines.element.dataset.finished }")
    sight.page.evaluate("() => lines.update({ threshold: 0.2, pinned: { q: 1, k: null } })")
    sight.page.evaluate("() => { box.style.display = '' }")
    sight.painted()
    shown = kept(sight.weights, 0.2)
    assert (sight.root.get_attribute("data-painted"), sight.lit) == (str(shown.sum()), shown[:, 1].sum())


def test_nothing_is_left_behind(see: See) -> None:
    sight = see(softmax_rows(1, 1, 6, 7))
    sight.page.evaluate("() => lines.destroy()")
    assert sight.page.evaluate("() => box.childNodes.length") == 0
