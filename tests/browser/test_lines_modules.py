"""The modules of the lines, one at a time: sentences, keys, labels and what is lit, by cases worked out by hand."""

from __future__ import annotations

from typing import Any

import pytest

from tests.browser.modules import Run

LINES = """
  const head = (name, rows) => ({
    name, colour: name === "first" ? "#ff0000" : "#0000ff", rows: rows.length, cols: rows[0].length,
    at: Float32Array.from(rows.flat()),
  });
  const first = head("first", [[0.5, 0.25, 0.25, 0], [0.00004, 0.7, 0.1, 0.1], [NaN, NaN, NaN, NaN]]);
  const second = head("second", [[0.1, 0.25, 0.6, 0.05], [0.2, NaN, 0.3, 0.5], [NaN, NaN, NaN, 1]]);
  const rules = { low: 0, high: 1, threshold: 0, strongest: 0 };
  const long = "a".repeat(20) + "b" + "c".repeat(20);
  const labels = { queryLabels: ["the", "cat", long], keyLabels: ["k0", "k1", "k2", "a".repeat(40)] };
"""


def test_a_token_s_strongest_partners_and_a_pin_are_said(run: Run) -> None:
    body = """
      const { Choice } = await import("/frontend/lines/choice.ts");
      const one = { choice: new Choice([first], rules), ...labels };
      const two = { choice: new Choice([first, second], rules), ...labels };
      const plain = (text) => text.replaceAll("\\u2068", "").replaceAll("\\u2069", "");
      return [
        m.tokenSentence({ q: 0 }, one), m.tokenSentence({ q: 1 }, one), m.tokenSentence({ q: 2 }, one),
        m.tokenSentence({ k: 1 }, one), m.tokenSentence({ k: 3 }, one), m.tokenSentence({ q: 0 }, two),
        m.pinSentence({ q: null, k: null }, one), m.pinSentence({ q: 1, k: 0 }, one), m.pinSentence({ q: 2, k: 1 },
          two),
        m.pinSentence({ q: 0, k: 1 }, two), m.pinSentence({ q: null, k: 2 }, two),
      ].map(plain);
    """
    found = run("lines/sentences.ts", LINES + body)
    long, forty = "a" * 20 + "…" + "c" * 20, "a" * 40
    assert found[0] == "Query 0 “the” attends most to key 0 “k0” 0.5000, key 1 “k1” 0.2500, key 2 “k2” 0.2500."
    assert found[1].startswith("Query 1 “cat” attends most to key 1 “k1” 0.7000, key 2 “k2” 0.1000, key 3")
    assert found[2] == f"Query 2 “{long}”: all its weights are hidden."
    assert found[3] == "Key 1 “k1” is attended to most by query 1 “cat” 0.7000, query 0 “the” 0.2500."
    assert found[4] == f"Key 3 “{forty}” is attended to most by query 1 “cat” 0.1000, query 0 “the” 0.0000."
    assert found[5] == (
        "Query 0 “the” attends most to key 2 “k2” 0.6000 in second, key 0 “k0” 0.5000 in first, "
        "key 1 “k1” 0.2500 in first."
    )
    assert found[6] == ""
    assert found[7].endswith("Query 1 on key 0: < 0.0001.")
    assert found[7].startswith("Pinned: Query 1 “cat” attends most to")
    assert "Key 0 “k0” is attended to most by query 0 “the” 0.5000, query 1 “cat” < 0.0001." in found[7]
    assert found[8].endswith("Query 2 does not see key 1.")
    assert found[9].endswith("Query 0 on key 1: 0.2500, the largest, in first.")  # of equal ones the first
    assert found[10].startswith("Pinned: Key 2 “k2” is attended to most by query 0 “the” 0.6000 in second, ")
    assert " on key " not in found[10]


def test_which_lines_are_drawn_and_which_touch_a_token(run: Run) -> None:
    body = """
      const listed = (lines) => Array.from({ length: lines.length }, (_, n) => [lines.head[n], lines.query[n],
        lines.key[n]]);
      const choice = new m.Choice([first, second], { ...rules, strongest: 1 });
      const bounded = new m.Choice([first], { ...rules, threshold: 0.25 });
      const lowest = new m.Choice([first], { ...rules, low: 0.25 });
      return {
        all: listed(choice.lines()), total: [choice.total, choice.kept], touching: listed(choice.touching([0], [2, 3])),
        connects: [[0, 0], [0, 1], [0, 2], [2, 3]].map(([q, k]) => choice.connects(q, k)),
        bounded: listed(bounded.lines()), lowest: listed(lowest.lines()), none: bounded.largest(2, 0),
        both: choice.largest(1, 1), partners: choice.partners({ k: 3 }, 2),
        opacity: [-1, 0, 0.5, 1, 2, NaN].map((x) => m.opacity(x, { low: 0, high: 1 })),
      };
    """
    found = run("lines/choice.ts", LINES + body)
    first, second = [[0, 0, 0], [0, 1, 1]], [[1, 0, 2], [1, 1, 3], [1, 2, 3]]
    assert sorted(found["all"]) == first + second
    assert found["total"] == [8 + 8, 5]
    assert sorted(found["touching"]) == [[0, 0, 0], *second]
    assert found["connects"] == [True, False, True, True]
    assert sorted(found["bounded"]) == [[0, 0, 0], [0, 0, 1], [0, 0, 2], [0, 1, 1]]  # what is at the threshold, too
    assert sorted(found["lowest"]) == [[0, 0, 0], [0, 1, 1]]  # what is at the lower end has no colour
    assert found["none"] is None
    assert found["both"] == {"head": 0, "value": pytest.approx(0.7)}
    assert [(one["head"], one["partner"]) for one in found["partners"]] == [(1, 2), (1, 1)]
    assert found["opacity"] == [0, 0, pytest.approx(0.5**0.75), 1, 1, 0]


KEYS: list[tuple[str, list[int] | None, list[int] | None]] = [
    ("ArrowDown", [0, 0], [0, 1]), ("ArrowUp", [0, 1], [0, 0]), ("ArrowUp", [0, 0], [0, 0]), ("ArrowRight", [0, 2],
      [1, 2]),
    ("ArrowLeft", [1, 29], [0, 14]), ("ArrowRight", [1, 3], [1, 3]), ("PageDown", [0, 2], [0, 12]), ("PageDown", [0,
      8], [0, 14]),
    ("PageUp", [1, 12], [1, 2]), ("Home", [1, 12], [1, 0]), ("End", [1, 12], [1, 29]), ("End", [0, 0], [0, 14]),
    ("ArrowDown", None, [1, 4]), ("Escape", [0, 3], None), ("x", [0, 3], [0, 3]),
]  # fmt: skip
"""A key, the keyboard's token before, and after it: of a side 0 of 15 tokens and a side 1 of 30"""


@pytest.mark.parametrize("vertical", [True, False])
def test_each_key_moves_the_keyboard_s_token(run: Run, vertical: bool) -> None:
    turn = {"ArrowDown": "ArrowRight", "ArrowUp": "ArrowLeft", "ArrowRight": "ArrowDown", "ArrowLeft": "ArrowUp"}
    body = """
      const box = document.createElement("div");
      document.body.append(box);
      const picked = [];
      const input = new m.Input(box, {
        hit: () => null, start: () => ({ side: 1, index: 4 }), layout: () => ({ vertical: given.vertical,
          counts: [15, 30] }),
        point() {}, walk() {}, pick: (token) => picked.push([token.side, token.index]),
      });
      const press = (key, own = {}) => {
        const event = new KeyboardEvent("keydown", { key, cancelable: true, ...own });
        box.dispatchEvent(event);
        return [input.cursor && [input.cursor.side, input.cursor.index], event.defaultPrevented];
      };
      const moves = given.keys.map(([key, from]) => {
        input.cursor = from && { side: from[0], index: from[1] };
        return press(key);
      });
      input.cursor = { side: 0, index: 3 };
      const rest = [press("ArrowDown", { shiftKey: true }), press("Enter"), press(" ")];
      input.cursor = null;
      rest.push(press("Enter"), press("Escape"));
      return { moves, rest, picked };
    """
    keys = [(key if vertical else turn.get(key, key), before) for key, before, _ in KEYS]
    found = run("lines/input.ts", body, {"vertical": vertical, "keys": keys})
    assert [one[0] for one in found["moves"]] == [after for *_, after in KEYS]
    assert [one[1] for one in found["moves"]] == [key != "x" for key, *_ in KEYS]
    assert found["rest"] == [[[0, 3], False], [[0, 3], True], [[0, 3], True], [None, False], [None, False]]
    assert found["picked"] == [[0, 3], [0, 3]]


def test_a_mouse_points_a_finger_taps_and_a_wheel_scrolls_what_lies_flat(run: Run) -> None:
    body = """
      const box = document.createElement("div");
      Object.assign(box.style, { position: "fixed", left: "10px", top: "20px", width: "100px", height: "50px",
        overflow: "auto", border: "3px solid" });
      const wide = document.createElement("div");
      Object.assign(wide.style, { width: "300px", height: "10px" });
      box.append(wide);
      document.body.append(box);
      const [hits, seen] = [[], []];
      let layout = { vertical: false };
      const input = new m.Input(box, {
        hit: (x, y) => (hits.push([x, y]), x > 50 ? null : { side: 0, index: x }), start: () => null,
          layout: () => layout,
        point: (token) => seen.push(["point", token && token.index]), walk() {}, pick: (token) => seen.push(["pick",
          token.index]),
      });
      const send = (kind, x, own = {}) => box.dispatchEvent(
        new PointerEvent(kind, { clientX: x + 13, clientY: 30, pointerType: "mouse", ...own }));
      const notes = () => seen.splice(0);
      const finger = { pointerType: "touch" };
      send("pointermove", 7);
      const over = [notes(), box.style.cursor];
      input.moved();
      const moved = notes();
      send("pointermove", 60);
      const beside = [notes(), box.style.cursor];
      send("pointerleave", 7);
      input.moved();
      const left = notes();
      send("pointermove", 7, finger); send("pointerleave", 7, finger);
      const scrolled = notes();
      send("click", 7); send("click", 60); send("click", 8, finger); send("click", 60, finger);
      const clicks = notes();
      const wheel = (own, shape = { vertical: false }) => {
        layout = shape;
        const before = box.scrollLeft;
        const event = new WheelEvent("wheel", { deltaY: 20, cancelable: true, ...own });
        box.dispatchEvent(event);
        return [box.scrollLeft - before, event.defaultPrevented];
      };
      const wheels = [wheel({}), wheel({ deltaY: 2, deltaMode: 1 }), wheel({ deltaX: 30 }), wheel({ ctrlKey: true }),
        wheel({}, { vertical: true }), wheel({}, null), wheel({ deltaY: 900 })[1], wheel({ deltaY: 900 })];
      return { hits: hits[0], over, moved, beside, left, scrolled, clicks, wheels };
    """
    found = run("lines/input.ts", body)
    assert found["hits"] == [7, 7]
    assert found["over"] == [[["point", 7]], "pointer"]
    assert found["moved"] == [["point", 7]]
    assert found["beside"] == [[["point", None]], ""]
    assert found["left"] == [["point", None]]
    assert found["scrolled"] == []  # a finger that moves scrolls
    assert found["clicks"] == [["pick", 7], ["point", 8], ["pick", 8], ["point", None]]
    still = [0, False]
    assert found["wheels"] == [[20, True], [32, True], still, still, still, still, True, still]


def test_labels_are_measured_and_shortened_to_their_room(run: Run) -> None:
    body = """
      let measured = 0;
      const widthOf = (text) => (measured += 1, text.length * 10);
      const all = [["a", "bbbb", "cc"], ["x".repeat(81), "y"]];
      const short = m.shortener([["the animal", "cat"], ["street"]], [45.2, 100], widthOf);
      const widest = [m.longestOf(all, widthOf, false), m.longestOf([["a"], ["x".repeat(80)]], widthOf, true)];
      const texts = [short(0, 0), short(0, 1), short(1, 0)];
      const before = measured;
      short(0, 0);
      return [widest.flat().map((one) => (one === Infinity ? "any" : one)), texts, measured - before];
    """
    widest, texts, again = run("lines/labels.ts", body)
    assert widest == [40, "any", len("query (from)") * 10 + 8, 800]
    assert texts[0] != "the animal"
    assert "…" in texts[0]
    assert len(texts[0]) * 10 <= 46
    assert texts[1:] == ["cat", "street"]
    assert again == 0


ROOM: dict[str, Any] = {"size": {"width": 800, "height": 500}, "counts": [10, 20], "longest": [60, 80]}


def test_tokens_lie_closer_only_where_then_all_are_in_sight(run: Run) -> None:
    body = """
      const look = (direction, own = {}, heads = 1) => {
        const { pitch, travel, within, square, squares, turned, window, ends, heads: names } =
          m.arrange({ direction, heads, ...given, ...own });
        return { pitch, travel, within, square, squares, turned, length: window.length, wide: ends[1] - ends[0],
          names };
      };
      const tokens = (n) => look("vertical", { counts: [n, 3] });
      return [tokens(10), tokens(24), tokens(29), tokens(31), look("vertical", { size: { width: 419, height: 500 } }),
        look("vertical", { size: { width: 420, height: 500 } }), look("vertical", {}, 12), look("vertical", {}, 200),
        look("vertical", { size: { width: 2000, height: 500 } })];
    """
    few, fair, least, many, phone, wide, heads, crowd, screen = run("lines/layout.ts", body, ROOM)
    assert few["length"] == 500 - 24 - 4
    assert few["pitch"] == 36
    assert fair["pitch"] == pytest.approx(472 / 24)
    assert least["pitch"] == pytest.approx(472 / 29)
    assert (few["travel"], least["travel"]) == (0, 0)
    assert many["pitch"] == 19  # 31 of 15.5 px do not fit
    assert many["travel"] == pytest.approx(31 * 19 - 472)
    assert (phone["within"], wide["within"]) == (True, False)
    assert (few["square"], few["squares"]) == (0, 0)
    assert (heads["square"], heads["squares"]) == (pytest.approx(80 / 12), 12)
    assert (crowd["square"], crowd["squares"]) == (0, 0)
    assert screen["wide"] == 620


def test_what_is_pinned_is_where_the_arrow_keys_begin(run: Run) -> None:
    body = """
      const box = document.createElement("div");
      Object.assign(box.style, { width: "600px", height: "300px" });
      document.body.append(box);
      const seen = [];
      const lines = new m.Lines(box, { onPoint: (at) => seen.push(at), onPin: (at) => seen.push(["pin", at]) });
      const state = { ...labels, heads: [first], low: 0, high: 1 };
      const text = () => lines.surface.status.textContent.replaceAll("\\u2068", "").replaceAll("\\u2069", "");
      const start = (pinned) => {
        lines.update({ ...state, pinned });
        lines.draw();
        return [lines.start(), text().slice(0, 20), lines.within(pinned)];
      };
      const starts = [start({ q: 1, k: 2 }), start({ q: null, k: 2 }), start({ q: null, k: null }), start({ q: 9,
        k: 1 })];
      const about = lines.element.ariaLabel;
      lines.update({ pinned: { q: null, k: null } });
      lines.walk({ side: 1, index: 1 });
      lines.input.cursor = { side: 1, index: 1 };
      lines.draw();
      const walked = [text(), seen.at(-1)];
      lines.walk({ side: 1, index: 1 });
      const once = seen.length;
      lines.update({ keyLabels: ["z", "k1", "k2", "k3"] });
      const forgotten = [lines.pointed, lines.input.cursor];
      lines.update({ heads: [first, second], threshold: 0.6 });
      const drawn = lines.drawn;
      const errors = [{ heads: [{ ...first, cols: 3 }] }, { queryLabels: ["a"] }, { heads: [{ ...first,
        at: new Float32Array(11) }] }]
        .map((own) => { try { lines.update({ ...state,
          ...own }); return null; } catch (error) { return error.message; } });
      return { starts, about, walked, once, forgotten, drawn, two: lines.element.ariaLabel, errors };
    """
    found = run("lines/lines.ts", LINES + body)
    assert [one[0] for one in found["starts"]] == [
        {"side": 0, "index": 1}, {"side": 1, "index": 2}, {"side": 0, "index": 0}, {"side": 1, "index": 1},
    ]  # fmt: skip
    assert [one[1] for one in found["starts"]] == [
        "Pinned: Query 1 “cat",
        "Pinned: Key 2 “k2” i",
        "",
        "Pinned: Key 1 “k1” i",
    ]
    assert found["starts"][3][2] == {"q": None, "k": 1}
    tokens = "Attention as lines: 3 query tokens, 4 key tokens"
    assert found["about"] == f"{tokens}, 1 head. Arrow keys move, Enter pins."
    assert found["two"] == f"{tokens}, 2 heads. Arrow keys move, Enter pins."
    assert found["walked"][0].startswith("Key 1 “k1” is attended to most by query 1 “cat” 0.7000")
    assert found["walked"][1] == {"q": None, "k": 1}
    assert found["once"] == 1
    assert found["forgotten"] == [None, None]
    assert found["drawn"] == {"shown": 3, "total": 16}
    wrong = "values are not {}, a query a row and a key a column"
    assert found["errors"] == [
        f"first: 12 {wrong.format('3 × 3')}", f"first: 12 {wrong.format('3 × 4')}",
        f"first: 11 {wrong.format('3 × 4')}",
    ]  # fmt: skip
