"""Compare's modules, one at a time: what a click pins, what the line says, and how the matrices stand."""

from __future__ import annotations

import numpy as np
import pytest

from attnviz.compare.matrices import encode
from tests.browser.modules import Run

COMPARE = """
  const style = document.documentElement.style;
  document.body.style.width = "1200px";
  const sent = [];
  const say = (name, value) => sent.push([name, value]);
  const compare = new m.default(document.body, { say, send: (message) => say("updates", message) });
  const labels = { query: ["the", "cat"], key: ["a", "b", "c"] };
  const side = { query: [0, 1], key: [0, 1, 2] };
  const panel = (name) => ({ name, title: name, role: null, scale: name === "difference" ? "signed" : "weights",
    low: 0, high: 1 });
  const packed = (data, ...shape) => ({ data: Float32Array.from(data), shape });
  const arrays = {
    a: packed([0.5, 0.25, 0.25, NaN, 1, 0], 2, 3), b: packed([0.25, 0.25, 0.5, 0, 0.5, 0.5], 2, 3),
    difference: packed([0.25, 0, -0.25, NaN, 0.5, -0.75], 2, 3), divergence: packed([0.125, NaN], 2, 1),
  };
  const header = (own = {}) => ({
    trace: "one", focus: "", quantity: "weights", panels: Object.keys(arrays).map(panel), labels, own: { a: side,
      b: side },
    hidden: null, alt: "", ranges: {}, acknowledged: Infinity, q: null, k: null, ...own,
  });
  const take = (own) => compare.take({ header: header(own), arrays });
  const shown = [];
  const original = compare.board.show;
  compare.board.show = (picture) => shown.push(picture);
  const pin = () => [compare.pin.q, compare.pin.k];
  const line = () => [...compare.line.children].map((one) => one.textContent);
  const at = (panel, i, j) => ({ panel, rows: "query", cols: "key", i, j });
"""


def test_a_masked_cell_says_why_it_is_masked(run: Run) -> None:
    body = """
      const { write } = await import("/frontend/core/template.ts");
      const own = { query: ["a", "b", "c"], key: ["a", "b", "c"] };
      const header = { own: { a: own, b: own }, labels: own, hidden: "−∞ (masked)", ranges: {},
        mask_reasons: { b: { causal: true, window: [0, 0], padding: [] } } };
      const before = { ...header, hidden: "outside of the window: no bias is shown" };
      return [[header, 0, 2], [header, 2, 0], [before, 2, 0]].map(([header, i, j]) => {
        const room = document.createElement("p");
        write(room, ...m.parts(header, { i, j }, { a: NaN, b: NaN, difference: NaN, divergence: NaN }));
        return room.children[1].textContent;
      });
    """
    assert run("compare/line.ts", body) == [
        "A −∞ (masked) · B −∞ (masked: future)", "A −∞ (masked) · B −∞ (masked: outside of the window)",
        "A outside of the window: no bias is shown · B outside of the window: no bias is shown",
    ]  # fmt: skip


def test_a_click_a_word_and_keys_pin_a_cell_and_its_numbers_are_read(run: Run) -> None:
    body = """
      take();
      compare.draw();
      const hint = line();
      const click = (...where) => (compare.click(at(...where)), [...pin(), compare.announcement.textContent]);
      const clicks = [click("b", 1, 0), click("b", 1, 0), click("divergence", 0, 0), click("divergence", 1, 0)];
      const name = (row, column) => (compare.pinNamed({ row, column }), pin());
      const named = [name(0, null), name(null, 1), name(0, 1), name(null, 2), name(null, 2)];
      compare.setPin({ q: 0, k: 2 }, 0);
      const look = (hovered) => (compare.point(hovered), line());
      const lines = [look(null), look(at("a", 1, 1)), look(at("divergence", 0, 0)), look(at("divergence", 1, 0)),
        look(null)];
      const said = compare.line.attnvizPinned();
      compare.point(at("a", 1, 1));
      compare.key(new KeyboardEvent("keydown", { key: "ArrowUp" }));
      const led = compare.hovered;
      compare.key(new KeyboardEvent("keydown", { key: "Escape" }));
      const left = [...pin(), compare.line.attnvizPinned()];
      const outside = [[2, 0], [0, 3]].map(([q, k]) => {
        take({ trace: `${q}`, q, k });
        compare.draw();
        return line();
      });
      compare.setPin({ q: 1, k: 0 }, 0);
      return { hint, clicks, named, lines, said, led, left, outside, column: name(null, 2) };
    """
    found = run("compare/compare.ts", COMPARE + body)
    hint = ["Point at a cell to read both numbers and their difference; a click or a tap pins it."]
    assert found["hint"] == hint
    assert [one[:2] for one in found["clicks"]] == [[1, 0], [None, None], [0, 0], [1, 2]]
    assert found["clicks"][0][2].startswith("Pinned. 1 cat → 0 aA no number · B 0.0000")
    assert found["clicks"][1][2] == "Nothing is pinned."
    # A word that names a row takes the pinned column, and without one the largest difference, the first of equal ones.
    assert found["named"] == [[0, 2], [0, 1], [None, None], [0, 2], [None, None]]
    apart = "the two rows: 0.1250 bits apart"
    pinned = ["0 the → 2 c", "A 0.2500 − B 0.5000 = −0.2500", apart]
    assert found["lines"] == [
        pinned, ["1 cat → 1 b", "A 1.0000 − B 0.5000 = 0.5000"],
        ["0 the", "Jensen-Shannon divergence of A's row and B's: 0.1250 bits"],
        ["1 cat", "A and B do not both have weights here"], pinned,
    ]  # fmt: skip
    assert found["said"] == " · ".join(pinned)
    assert found["led"] is None  # the keys lead, not a resting pointer
    assert found["left"] == [None, None, ""]
    assert found["outside"] == [hint, hint]
    assert found["column"] == [1, 2]  # a word that names a column keeps the pinned row


def test_matrices_stand_side_by_side_where_there_is_room(run: Run) -> None:
    body = """
      const look = (width, focus = "", panels = Object.keys(arrays)) => {
        compare.section.style.width = `${width}px`;
        compare.way = null;
        compare.take({ header: header({ trace: `${width} ${focus} ${panels}`, focus, panels: panels.map(panel) }),
          arrays });
        const { grid, widths, heights, panels: all } = shown.at(-1);
        return [grid, widths, heights, all.filter((one) => one.bar).map((one) => one.name), compare.frame.style.height];
      };
      const three = ["a", "b", "difference"];
      const looks = [look(1000), look(999), look(640, "", three), look(639, "", three), look(639, "b", three),
        look(1000, "x")];
      compare.take({ header: header({ trace: "focused", focus: "b" }), arrays });
      const focused = [compare.section.hasAttribute("data-focus")];
      compare.setFocus(null);
      focused.push(compare.section.hasAttribute("data-focus"), compare.updates.values.focus);
      const times = shown.length;
      compare.take({ header: header({ trace: "focused", q: 1, k: 1 }), arrays });
      return { looks, focused, again: shown.length - times, pin: pin(), kinds: compare.panels.map(({ cols }) => cols) };
    """
    found = run("compare/compare.ts", COMPARE + body)
    side_by_side = [[[0, 1, 2, 3]], [1, 1, 1, 0.12], [1]]
    stacked = [[[0], [1], [2]], [1], [1, 1, 1]]
    assert found["looks"] == [
        [*side_by_side, ["b", "difference"], ""],
        [*side_by_side, ["difference"], ""],
        [[[0, 1, 2]], [1, 1, 1], [1], ["difference"], ""],
        [*stacked, ["a", "b", "difference"], "calc(3 * min(330px, max(13rem, -9.4rem + 100vh)))"],
        [[[0]], [1], [1], ["b"], ""],
        [*side_by_side, ["b", "difference"], ""],
    ]
    assert found["focused"] == [True, False, ""]
    assert found["again"] == 0  # only the pin is another
    assert found["pin"] == [1, 1]
    assert found["kinds"] == ["key", "key", "key", ""]


def test_a_picture_that_never_came_is_asked_for_until_it_comes(run: Run) -> None:
    body = """
      const waits = [];
      window.setTimeout = (work, ms) => waits.push([work, ms]);
      compare.take({ header: header({ trace: "two", panels: undefined }), arrays: {} });
      const coming = [line(), compare.section.hasAttribute("data-coming"), sent.length];
      const [again, ms] = waits.at(-1);
      again();
      const asked = sent.slice();
      take({ trace: "two" });
      return { coming, ms, asked, came: [compare.section.hasAttribute("data-coming"), compare.panels.length] };
    """
    found = run("compare/compare.ts", COMPARE + body)
    assert found["coming"] == [["The numbers of this comparison are on their way …"], True, 1]
    assert found["ms"] == 5000
    assert found["asked"] == [["want", True]] * 2
    assert found["came"] == [False, 4]


def test_numbers_that_were_sent_in_16_bits_are_as_near_as_the_line_says(run: Run) -> None:
    sent = np.random.default_rng(0).uniform(-0.75, 0.5, (400, 400)).astype(np.float32)
    sent[0, :3] = -0.75, 0.5, np.nan
    levels, span = encode(sent)
    assert span is not None
    body = """
      const { parts } = await import("/frontend/compare/line.ts");
      const { write } = await import("/frontend/core/template.ts");
      const numbers = m.decode(Uint16Array.from(given.levels), given.range);
      const same = Float32Array.of(1);
      const side = { query: [0], key: [0] };
      const header = { own: { a: side, b: side }, labels: { query: ["q"], key: ["k"] }, hidden: null,
        ranges: { a: [0, 0.5], b: null, difference: given.range } };
      const line = (least) => {
        document.documentElement.style.setProperty("--least-type", least);
        const values = { a: 0.126, b: -0.5, difference: 0.626, divergence: 0.25 };
        const room = document.createElement("p");
        write(room, ...parts(header, { i: 0, j: 0 }, values));
        return Array.from(room.children, (one) => one.textContent);
      };
      return [[...numbers].map((x) => (Number.isNaN(x) ? null : x)), m.decode(same, null) === same, line("0"),
        line("1")];
    """
    given = {"levels": levels[:2, :3].ravel().tolist(), "range": span}
    numbers, is_same, line, hall = run("compare/compare.ts", body, given)
    assert numbers[2] is None
    found = np.array([np.nan if x is None else x for x in numbers]).reshape(2, 3)
    apart = (span[1] - span[0]) / 65534 / 2
    np.testing.assert_allclose(found, sent[:2, :3], atol=apart * 1.001)
    assert is_same
    assert line[1:3] == ["A 0.1260 − B (−0.5000) = 0.6260", "the two rows: 0.2500 bits apart"]
    digits = line[3].removeprefix("each to ±").replace("−", "-")
    assert float(digits) == pytest.approx((span[1] - span[0]) / 65534 / 2, rel=0.05)
    assert hall[1:3] == ["A 0.13 − B (−0.50) = 0.63", "the two rows: 0.25 bits apart"]
