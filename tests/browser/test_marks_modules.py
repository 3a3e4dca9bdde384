"""Words that name parts of a picture, without a picture: what they name, what lights them, and what a press does."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.browser.modules import Run

PANELS = """
  const none = { row: null, column: null, matrix: "", part: "", layer: null, head: null, item: "", step: null };
  const target = (own) => ({ ...none, ...own });
  const numbers = given.numbers.map((row) => row.map((x) => x ?? NaN));
  const panel = (name, own = {}) => ({
    name, rows: "query", cols: "key", z: numbers, height: numbers.length, width: numbers[0].length, ...own,
  });
  const cells = ({ rows: [top, bottom], columns: [left, right], isInside = () => true }) => {
    const found = [];
    for (let i = top; i <= bottom; i += 1) for (let j = left; j <= right; j += 1) found.push([i, j]);
    return found.filter(([i, j]) => isInside(i, j));
  };
"""
NUMBERS = [[0.25, None, None, None], [0.5, -2.0, None, None], [-0.75, 3.0, 1.0, None]]


def test_a_word_names_cells_of_the_matrices_that_have_them(run: Run) -> None:
    body = """
      const panels = [panel("weights"), panel("scores"), panel("output", { cols: "dim", parts: 2,
        width: 4, z: Array(3).fill([9, 9, 9, 9]) })];
      const covered = [panel("weights", { covered: (i) => i === 2 })];
      const named = (own, of = panels) => {
        const { kinds, regions } = m.namedIn(target(own), of);
        return [kinds.query, kinds.key, Object.fromEntries(regions.map((one) => [one.panel.name, cells(one)]))];
      };
      const shown = (own, of = panels) => m.isShown(target(own), of);
      return {
        places: [named({ row: 1 }), named({ row: 1, column: 2 }), named({ row: 2, column: 0 }, covered),
          named({ row: 1, column: 0 }, covered)],
        ends: [["largest"], ["smallest"], ["largest", 1], ["smallest", 1], ["largest", 7]].map(([part, row = null]) =>
          named({ part, row, matrix: "weights" })[2].weights ?? null),
        hidden: [named({ part: "largest", row: 2 }, covered)[2], named({ part: "largest" }, covered)[2],
          named({ part: "largest", row: 1 }, covered)[2]],
        parts: ["diagonal", "hidden"].map((part) => named({ part })[2]),
        chart: named({ part: "hidden" }, [panel("weights", { z: [[1, null]], height: 1, width: 2 })])[2],
        head: named({ head: 1 })[2], whole: named({ matrix: "scores" })[2],
        shown: [shown({ matrix: "none" }), shown({ matrix: "output", part: "largest" }), shown({ part: "diagonal" }),
          shown({ head: 1 }), shown({ matrix: "scores", head: 1 }), shown({ matrix: "none" }, [])],
        heads: [{ layer: 2, head: 0 }, { layer: 0, head: 3 }, { layer: 2 }, { head: 3 }].map((own) =>
          m.headOf(target(own))),
      };
    """
    found = run("marks/named.ts", PANELS + body, {"numbers": NUMBERS})
    assert found["places"] == [[1, None, {}], [1, 2, {}], [2, None, {}], [1, 0, {}]]
    array = np.array(NUMBERS, float)

    def at(index: Any, row: int | None = None) -> list[list[int]]:
        return [[row, int(index)]] if row is not None else [[int(n) for n in np.unravel_index(index, array.shape)]]

    assert found["ends"] == [
        at(np.nanargmax(array)), at(np.nanargmin(array)), at(np.nanargmax(array[1]), 1),
        at(np.nanargmin(array[1]), 1), None,
    ]  # fmt: skip
    assert found["hidden"] == [{}, {}, {"weights": at(np.nanargmax(array[1]), 1)}]
    diagonal, hidden = [[n, n] for n in range(3)], np.argwhere(np.isnan(array)).tolist()
    assert found["parts"] == [{"weights": cells, "scores": cells} for cells in (diagonal, hidden)]
    assert found["chart"] == {"weights": [[0, 1]]}
    assert found["head"] == {"output": [[i, j] for i in range(3) for j in (2, 3)]}
    assert found["whole"] == {"scores": np.argwhere(np.ones(array.shape)).tolist()}
    assert found["shown"] == [False, False, True, True, False, True]
    assert found["heads"] == [[2, 0], [0, 3], None, None]


def test_a_word_is_lit_by_what_is_pointed_at_and_by_what_is_pinned(run: Run) -> None:
    body = """
      const panels = [panel("weights"), panel("scores")];
      const unpinned = { query: null, key: null };
      const words = {
        row: { row: 1 }, column: { column: 0 }, cell: { row: 1, column: 0, matrix: "weights" },
        largest: { part: "largest" }, of_a_row: { part: "largest", row: 1 }, hidden: { part: "hidden" },
        head: { layer: 2, head: 3 }, namesake: { layer: 0, head: 3 },
        earlier: { row: 1, column: 0, step: 200 }, of_a_head: { row: 1, column: 0, layer: 2, head: 3 },
        item: { item: "loss" },
      };
      const lit = (own) => {
        const now = { panels, hovered: null, pinned: unpinned, ...own };
        return Object.fromEntries(Object.entries(words).flatMap(([name, one]) => {
          const by = m.litBy(target(one), now);
          return by ? [[name, by]] : [];
        }));
      };
      const at = (name, i, j) => ({ panel: name, rows: "query", cols: "key", i, j });
      const covered = [panel("weights", { covered: (i) => i === 1 })];
      return [
        lit({}), lit({ hovered: at("weights", 1, 0) }), lit({ hovered: at("scores", 1, 0) }),
        lit({ hovered: at("weights", 2, 1) }), lit({ hovered: at("scores", 0, 2) }),
        lit({ hovered: at("weights", null, 0) }), lit({ pinned: { query: 1, key: 0 } }),
        lit({ pinned: { query: 1, key: null } }), lit({ head: [2, 3] }), lit({ chosen: [2, 3] }),
        lit({ hovered: at("weights", 1, 0), panels: covered }),
        lit({ hovered: at("weights", 1, 0), pinned: { query: 1, key: 0 }, chosen: [2, 3] }),
      ];
    """
    found = run("marks/named.ts", PANELS + body, {"numbers": NUMBERS})
    assert found == [
        {},
        {"row": "pointer", "column": "pointer", "cell": "pointer", "of_a_row": "pointer"},
        {"row": "pointer", "column": "pointer", "of_a_row": "pointer"},
        {"largest": "pointer"},
        {"hidden": "pointer"},
        {"column": "pointer"},
        {"row": "pin", "column": "pin", "cell": "pin"},
        {"row": "pin"},
        {"head": "pointer"},
        {"head": "pin"},
        {"row": "pointer", "column": "pointer"},  # of a covered row no cell
        {
            "row": "pointer",
            "column": "pointer",
            "cell": "pointer",
            "of_a_row": "pointer",
            "head": "pin",
            "of_a_head": "pointer",
        },
    ]


def test_a_text_is_cut_at_its_marks_by_characters_and_stays_text(run: Run) -> None:
    body = """
      const nodes = m.nodesOf(given);
      const [first, second] = nodes.filter((one) => typeof one !== "string");
      const odd = m.marked(document.createElement("a"), { row: 0, column: null, matrix: "", layer: 2 });
      const hostile = document.createElement("span");
      Object.assign(hostile.dataset, { row: "1e3", column: "-1", layer: "7", head: "" });
      return { texts: nodes.map((one) => one.textContent ?? one), targets: [first, second, hostile].map(m.targetOf),
        odd: [odd.tabIndex, odd.getAttribute("role"), { ...odd.dataset }], plain: [m.nodesOf(""), m.nodesOf("a<b>")],
        said: [m.plain("a"), m.plain(given)], markup: first.querySelector("i") === null };
    """
    none = {"row": None, "column": None, "matrix": "", "part": "", "layer": None, "head": None}
    marks = [
        {**none, "from": 2, "to": 9, "row": 0, "column": 3, "matrix": "weights"},
        {**none, "from": 10, "to": 12, "part": "largest", "layer": 1, "head": 0},
    ]
    text = "👩x<i>a</i>🙂 it."
    found = run("marks/text.ts", body, {"text": text, "marks": marks})
    assert found["texts"] == [text[:2], text[2:9], text[9:10], text[10:12], text[12:]]
    page = {**none, "item": "", "step": None}
    assert found["targets"] == [
        {**page, "row": 0, "column": 3, "matrix": "weights"}, {**page, "part": "largest", "layer": 1, "head": 0},
        {**page, "layer": 7},
    ]  # fmt: skip
    assert found["odd"] == [0, "button", {"row": "0", "layer": "2"}]
    assert found["plain"] == [[], ["a<b>"]]
    assert found["said"] == ["a", text]
    assert found["markup"]


MARKS = """
  const { marked } = await import("/frontend/marks/text.ts");
  const calls = [];
  const note = (name) => (target) => calls.push([name, target && (target.join?.() ??
    `${target.row},${target.column}${target.part}`)]);
  const word = (own, text = "word") => {
    const made = marked(document.createElement("span"), own);
    made.append(text);
    document.body.append(made);
    return made;
  };
  const words = { row: word({ row: 1 }), cell: word({ row: 1, column: 2 }), part: word({ part: "largest" }),
    head: word({ layer: 2, head: 3 }) };
  const marks = new m.Marks([document], { onName: note("names"), onPin: note("pins"), onHead: note("head") });
  const send = (on, kind, own = {}) => {
    const Kind = kind.startsWith("pointer") ? PointerEvent : kind.startsWith("key") ? KeyboardEvent
      : kind.startsWith("focus") ? FocusEvent : MouseEvent;
    const event = new Kind(kind, { bubbles: true, cancelable: true, ...own });
    on.dispatchEvent(event);
    const found = calls.splice(0);
    return event.defaultPrevented ? [...found, "prevented"] : found;
  };
  const frame = () => new Promise((done) => requestAnimationFrame(() => setTimeout(done)));
  const looks = async () => {
    await frame();
    return Object.fromEntries(Object.entries(words).map(([name, one]) => [name,
      [one.dataset.lit ?? "", one.getAttribute("aria-pressed"), one.ariaDisabled, one.tabIndex].join(" ")]));
  };
  const panel = { name: "weights", rows: "query", cols: "key", z: [[1]], width: 1, height: 1 };
  const lit = (own = {}) => ({ panels: [panel], hovered: null, pinned: { query: null, key: null }, ...own });
"""


def test_words_are_pointed_at_and_pressed_by_pointer_finger_and_keyboard(run: Run) -> None:
    body = """
      marks.show(lit());
      await frame();
      const { row, cell, part, head } = words;
      const seen = {
        pointed: [send(row, "pointerover"), send(row, "pointerover"), send(row, "pointerout", { relatedTarget: cell }),
          send(cell, "pointerover"), send(document.body, "pointerout")],
        touch: send(row, "pointerover", { pointerType: "touch" }),
        clicks: [row, cell, head, part].map((one) => send(one, "click")),
      };
      seen.held = await looks();
      seen.let_go = [send(part, "click"), (await looks()).part];
      send(part, "click");
      const escape = () => send(document.body, "keydown", { key: "Escape" });
      seen.escape = [escape(), escape()];
      send(part, "click");
      document.addEventListener("keydown", (event) => event.preventDefault(), { capture: true, once: true });
      seen.answered = escape();
      send(part, "click");
      seen.keys = ["Enter", " ", "x"].map((key) => send(row, "keydown", { key }));
      send(part, "pointerover");
      seen.dark = [send(part, "click"), send(part, "click")];  // it goes dark under the pointer
      calls.splice(0);
      send(cell, "pointerover");
      seen.late = [send(row, "click"), (await looks()).cell];  // a click elsewhere comes late, as of a word just filled
      send(document.body, "pointerout");
      row.focus();
      seen.focus = [calls.splice(0), send(cell, "focusin"), send(cell, "focusout")];
      row.blur();
      seen.focus.push(calls.splice(0));
      return seen;
    """
    found = run("marks/marks.ts", MARKS + body)
    row, cell, none = ["names", "1,null"], ["names", "1,2"], ["names", None]
    assert found["pointed"] == [[row], [], [], [cell], [none]]
    assert found["touch"] == []
    part = ["names", "null,nulllargest"]
    assert found["clicks"] == [
        [["pins", "1,null"], none], [["pins", "1,2"], none],
        [["head", "2,3"], none], [part],
    ]  # fmt: skip
    assert found["held"]["part"] == "pointer true false 0"
    assert found["let_go"] == [[none], " false false 0"]
    assert found["escape"] == [[none, "prevented"], []]
    assert found["answered"] == ["prevented"], "what something else has answered is left"
    press = [["pins", "1,null"], none, "prevented"]
    assert found["keys"] == [press, press, []]
    assert found["dark"] == [[part], [none]]
    assert found["late"] == [[["pins", "1,null"], cell], "pointer false false 0"]
    assert found["focus"] == [[row], [], [], [none]]  # the focus of a click lights nothing: only that which is seen


def test_words_show_what_is_lit_and_what_the_picture_does_not_have(run: Run) -> None:
    body = """
      const { row, cell, part } = words;
      marks.show(lit({ pinned: { query: 1, key: null }, chosen: [2, 3] }));
      const seen = [await looks()];
      marks.show(lit({ pinned: { query: 1, key: 2 } }));
      seen.push(await looks());
      marks.show(lit({ panels: [{ ...panel, name: "output", cols: "dim" }] }));
      seen.push(await looks(), send(part, "click"));
      marks.show(lit());
      await frame();
      send(part, "click");
      part.remove();  // its sentence is gone
      marks.show(lit());
      seen.push(calls.splice(0));
      document.body.append(part);  // put anew, without a message
      seen.push((await looks()).part);
      marks.destroy();
      part.dataset.lit = "pin";
      document.body.append(document.createElement("p"));
      seen.push(send(row, "click"), (await looks()).part.split(" ")[0]);
      const bare = new m.Marks([document], { onName() {}, onPin() {} });
      bare.show(lit());
      seen.push((await looks()).head);
      return seen;
    """
    first, second, other, click, gone, back, after, kept, bare = run("marks/marks.ts", MARKS + body)
    assert first == {
        "row": "pin true false 0", "cell": " false false 0", "part": " false false 0", "head": "pin true false 0"
    }  # fmt: skip
    assert (second["row"], second["cell"]) == ("pin false false 0", "pin true false 0")
    assert (other["part"], click) == (" false true -1", [])
    assert gone == [["names", None]]
    assert back == " false false 0"
    assert (after, kept) == ([], "pin")
    assert bare == " false true -1"  # no heads are offered here


def test_a_text_says_a_number_with_the_same_digits_or_more_and_words_as_they_are(run: Run) -> None:
    body = "return given.map(([text, words]) => m.says(text, words))"
    yes = [
        ["held out 3.588", "3.59"], ["31.8 %", "31.8 %"], ["22,713,216 in all", "22,713,216"],
        ["movie 0.02 %", "movie"], ["−0.50", "−0.50"], ["491 of 491 times", "491"],
    ]  # fmt: skip
    no = [["3.588", "3.58"], ["131.8 %", "31.8 %"], ["films", "movie"], ["0.50", "−0.50"]]
    assert run("marks/items.ts", body, [*yes, *no]) == [True] * len(yes) + [False] * len(no)
