"""The modules of Heads, one at a time: sentences, fields, scene, readings and the grid, by cases worked out by hand."""

from __future__ import annotations

from typing import Any

import pytest

from attnviz.export.web.pages import HEADS_KEYS
from attnviz.links.link import KEYS
from attnviz.links.values import BadValueError
from attnviz.measures import NAMES as MEASURES
from tests.browser.modules import Run

SENTENCES: list[tuple[str, str]] = [
    ('headName([3, 5])', "layer 3 · head 5"),
    ('headName([3, -1])', "rollout up to layer 3"),
    ('specialNote({ special: "keep" })', ""),
    (
        'specialNote({ special: "hide" })',
        "Weights from and to special tokens are left out. The others stay as they are, so rows no longer sum to 1.",
    ),
    (
        'specialNote({ special: "renormalise" })',
        "Special tokens are left out, and each row is divided by what remains, so that it sums to 1 again. These are "
        "no longer the model’s own weights.",
    ),
    ('betweenNote({ between: "all" })', ""),
    (
        'betweenNote({ between: "ab" })',
        "Only weights from the first sentence (A) to the second (B), as they are. Special tokens belong to neither "
        "sentence.",
    ),
    (
        'betweenNote({ between: "bb" })',
        "Only weights within the second (B), as they are. Special tokens belong to neither sentence.",
    ),
    ('valuesNote({ values: "weights" })', ""),
    ('meanNote({ mean: true, chosen: [[0, 0], [0, 1]] })', "Every number is the mean of the 2 chosen heads’."),
    ('meanNote({ mean: true, chosen: [[0, 0]] })', ""),
    ('meanNote({ mean: false, chosen: [[0, 0], [0, 1]] })', ""),
    ('rolloutNote([[0, 1], [2, 0]])', ""),
    (
        'rolloutNote([[0, 1], [0, -1]])',
        "Attention rollout (Abnar and Zuidema, 2020): layer 0, heads averaged, the residual path included. Rows sum "
        "to 1.",
    ),
    (
        'rolloutNote([[3, -1]])',
        "Attention rollout (Abnar and Zuidema, 2020): layers 0 to 3 multiplied, heads averaged, the residual path "
        "included. Rows sum to 1.",
    ),
    ('drawnSentence({ shown: 0, total: 0 }, { least: 0, strongest: 0, heads: 1 })', "Nothing is left to draw."),
    ('drawnSentence({ shown: 1, total: 1 }, { least: 0, strongest: 0, heads: 1 })',
      "The one weight is drawn as a line."),
    (
        'drawnSentence({ shown: 4096, total: 4096 }, { least: 0, strongest: 0, heads: 1 })',
        "All 4,096 weights are drawn as lines.",
    ),
    (
        'drawnSentence({ shown: 132, total: 4096 }, { least: 0.05, strongest: 0, heads: 1 })',
        "132 of 4,096 weights are drawn as lines: those ≥ 0.05.",
    ),
    (
        'drawnSentence({ shown: 132, total: 4096 }, { least: 0, strongest: 3, heads: 2 })',
        "132 of 4,096 weights of 2 heads are drawn as lines: the 3 strongest of each query, those above 0.",
    ),
    (
        'drawnSentence({ shown: 20000, total: 40960 }, { least: 0.0025, strongest: 0, heads: 1 })',
        "20,000 of 40,960 weights are drawn as lines: the 20,000 largest, for more can’t be told apart, "
        "those ≥ 0.0025.",
    ),
    ('limitText(0)', "0.00"),
    ('limitText(0.01)', "0.01"),
    ('limitText(0.0099)', "0.0099"),
    ('hiddenSentence({ cells: 16, shown: [{ seen: 16, short: 0 }] })', ""),
    ('hiddenSentence({ cells: 4096, shown: [{ seen: 16, short: 0 }] })', "4,080 of 4,096 cells are masked (hatched)."),
    (
        'hiddenSentence({ cells: 16, shown: [{ seen: 16, short: 1 }] })',
        "1 row is hidden because less than 0.001 of the weight is left to divide by.",
    ),
    (
        'hiddenSentence({ cells: 4, shown: [{ seen: 0, short: 2, kept: { queries: [0, 0], keys: [1, 1] } }] })',
        "4 of 4 cells are masked (hatched) or left out (plain). 2 rows are hidden because less than 0.001 of the "
        "weight is left to divide by.",
    ),
    (
        'hiddenSentence({ cells: 16, shown: [{ seen: 10, short: 0 }, { seen: 12, short: 0 }] })',
        "10 of 32 cells of 2 heads are masked (hatched).",
    ),
    ('tokenText("")', "(empty)"),
    ('tokenText(" \\n")', "(blank)"),
    ('tokenText(" a")', " a"),
    (
        'gridSentence({ measure: null, faded: Uint8Array.of(1, 0), label: "x", without: "layer 0 · head 0" })',
        "1 of 2 heads: x. Shown is layer 0 · head 0, which is not one of them. ",
    ),
    (
        'howToChoose({ isAlone: false })',
        "Click a head to choose it; Ctrl or Shift adds or removes it. With arrow keys, Shift adds.",
    ),
    ('howToChoose({ isAlone: true })', "Click a head, or use the arrow keys, to choose it."),
    ('howToChoose({ isAlone: false }, true)', "Tap a head to choose it."),
    ('howToChoose({ isAlone: true }, true)', "Tap a head to choose it."),
]  # fmt: skip


def test_the_page_s_sentences(run: Run) -> None:
    found = run("heads/words.ts", f"return [{', '.join(f'm.{call}' for call, _ in SENTENCES)}]")
    assert found == [said for _, said in SENTENCES]


VIEW = """
  const view = {
    layer: 2, head: 1, chosen: [[2, 1]], q: null, k: null, show: "both", direction: "vertical", threshold: 0.05,
    strongest: 0, special: "keep", between: "all", values: "weights", mean: false, stretch: "0", sort: "", label: "",
  };
"""


def test_what_is_drawn_adapts_to_a_long_text_unless_the_viewer_says_otherwise(run: Run) -> None:
    body = """
      const FULL = 65535;
      const scene = (cols, own = {}, more = {}) => {
        const codes = { "2,1": [0.5, 0.25], "2,3": [0.125, 0.75], "2,-1": [0.5, 0.5] };
        const store = {
          norms: more.norms ? [1] : null, has: (head) => head.join() in codes,
          frameOf: () => ({ rows: 1, cols, causal: false, hidden: null,
            groups: { query: [1], key: Array(cols).fill(1) } }),
          frame: { cols },
          codes: (head) => head.join() in codes
            ? Uint16Array.from({ length: cols }, (_, n) => Math.round((codes[head.join()][n] ?? 0) * FULL)) : null,
          keyNorms: () => Float32Array.from({ length: cols }, (_, n) => (n ? 8 : 2)),
        };
        const { heads, missing, high, dark, isDarkened, isLong, least, strongest } =
          new m.Scene(store).of({ ...view, ...own }, "light");
        return { heads: heads.map(({ name, at }) => [name, at[0], at[1]]), missing, high, dark, isDarkened, isLong,
          least, strongest };
      };
      const two = [[2, 1], [2, 3]];
      return [
        scene(39), scene(40), scene(40, { threshold: 0.1 }), scene(40, { strongest: 5 }), scene(39, { stretch: "1" }),
        scene(40, { stretch: "off" }), scene(2, { chosen: two }), scene(2, { chosen: two, mean: true }),
        scene(2, { chosen: [[2, 1], [9, 0]], mean: true }), scene(2, { chosen: [[2, 1], [9, 0]] }),
        scene(2, { values: "norms" }, { norms: true }), scene(2, { values: "norms" }),
        scene(2, { values: "norms", chosen: [[2, -1]] }, { norms: true }),
      ];
    """
    found = run("heads/scene.ts", VIEW + body)
    rules = [[one["isLong"], one["isDarkened"], one["least"], one["strongest"]] for one in found[:6]]
    assert rules == [
        [False, False, 0.05, 0], [True, True, 0, 3], [True, True, 0.1, 0], [True, True, 0.05, 5], [False, True, 0.05,
        0],
        [True, False, 0, 3],
    ]  # fmt: skip
    half = pytest.approx(0.5, abs=1e-5)
    assert [one["high"] for one in found[:6]] == [1, half, half, half, half, 1]
    first, second = ["layer 2 · head 1", half, pytest.approx(0.25, abs=1e-5)], pytest.approx(0.75, abs=1e-5)
    assert found[6]["heads"][0] == first
    assert found[6]["heads"][1][2] == second
    assert found[7]["heads"] == [["mean of 2 heads", pytest.approx(0.3125, abs=1e-5), half]]
    assert (found[8]["heads"], found[8]["missing"]) == ([], [[9, 0]])  # no mean of what is not all here
    assert (found[9]["heads"], found[9]["missing"]) == ([first], [[9, 0]])
    assert found[10]["heads"] == [["layer 2 · head 1", pytest.approx(1, abs=1e-4), pytest.approx(2, abs=1e-4)]]
    assert found[10]["high"] == pytest.approx(2, abs=1e-4)
    assert found[10]["least"] == pytest.approx(0.1, abs=1e-5)
    assert found[11]["heads"] == [first]
    assert found[12]["heads"] == [["rollout up to layer 2", half, half]]  # rollout has no norms


def test_a_head_keeps_its_colour_and_a_label_its_first_head(run: Run) -> None:
    body = """
      const scene = new m.Scene({});
      const colours = (...chosen) => chosen.map((head) => scene.colours(chosen, "light").get(head.join()));
      const first = colours([0, 0], [0, 1], [0, 2]);
      const rest = colours([0, 0], [0, 2]);
      const other = colours([0, 0], [0, 2], [1, 1]);
      const store = {
        header: {
          layers: [3, 7], heads: 3, measures: [{ name: "entropy" }],
          labels: [[[], ["a"], []], [["b", "a"], [], ["a"]]],
        },
        measures: Float32Array.of(0, 1, 0, 3, 0, 2),
      };
      return {
        same: rest[0] === first[0] && rest[1] === first[2], given: other[2] === first[1], all: new Set(first).size,
        faded: [[...m.fadedBy(store, "a")], m.fadedBy(store, "")],
        firsts: [m.firstWith(store, "a", ""), m.firstWith(store, "a", "entropy"), m.firstWith(store, "c", ""),
          m.firstWith(store, "", "entropy")],
      };
    """
    found = run("heads/scene.ts", body)
    assert (found["same"], found["given"], found["all"]) == (True, True, 3)
    assert found["faded"] == [[1, 0, 1, 0, 1, 0], None]
    assert found["firsts"] == [[3, 1], [7, 0], None, [7, 0]]


READ = """
  const frame = { rows: 2, cols: 3, causal: false, hidden: null, groups: {} };
  const labels = { query: ["the", ""], key: ["a", " ", "c"] };
  const head = (name, at, errors = [7.7e-6, 7.7e-6]) => ({ name, colour: "red", at: Float32Array.from(at), errors });
  const heads = [head("one", [0.5, 0.125, NaN, 0, 1, 0.00001]), head("two", [0.25, 0.5, 0.25, 0.1, 0.2, 0.7],
    [7.7e-6, 3e-3])];
  const { write } = await import("/frontend/core/template.ts");
  const words = (parts) => {
    const room = document.createElement("div");
    write(room, ...parts);
    return Array.from(room.childNodes, (one) => one.textContent);
  };
  const store = {
    header: {
      layers: [4, 6], heads: 2, cols: 3, labels: [[["x"], []], [["broad", "y"], []]],
      measures: [{ title: "entropy", unit: "bits", name: "entropy", keys: [] }, { title: "share", unit: "",
        name: "s", keys: [0] }],
    },
    frame: { rows: 1, cols: 3, causal: false, hidden: null, groups: { query: [1], key: [1, 1, 1] } },
    measuresOf: ([layer]) => (layer === 6 ? [1.23456, NaN] : [0, 0.5]),
    codes: () => Uint16Array.of(32768, 32767, 0), keyNorms: () => Float32Array.of(1, 3, 9),
  };
"""


def test_a_head_a_cell_and_a_token_are_read(run: Run) -> None:
    body = """
      const about = { heads, frame, labels };
      const cell = (q, k, own = {}) => words(m.cellReading({ ...about, frame: { ...frame, ...own } }, { q, k }));
      const token = (q, k, own = heads) => words(m.tokenReading({ ...about, heads: own }, { q, k }));
      return {
        cells: [cell(0, 1), cell(0, 2), cell(0, 2, { causal: true }), cell(0, 2, { hidden: [0, 0, 1] }), cell(1, 2)],
        reasons: [[0, 2], [1, 0], [0, 0]].map(([q, k]) => {
          const own = { ...head("one", Array(6).fill(NaN)), reasons: { causal: true, window: [0, 0], padding: [] } };
          return words(m.cellReading({ ...about, heads: [own] }, { q, k }))[1];
        }),
        tokens: [token(0, null), token(1, null), token(null, 0), token(null, 2, [heads[0]]),
          token(0, null, [head("none", [NaN, NaN, NaN, 1, 1, 1])])],
        heads: [words(m.headReading(store, [6, 0])), words(m.headReading(store, [6, -1])), words(m.headReading(store,
          [4, 1]))],
        sentence: m.headSentence(store, [6, 0]),
        said: m.headSentence({ ...store, header: { ...store.header, said: [[["s"], []], [["t"], []]] } }, [6, 0]),
        lists: [false, true].map((norms) => words(m.measureList(store, [6, 0], norms))),
        waits: [words(m.waitingNote([6, 0], null)), words(m.waitingNote([6, 0], () => {}))],
      };
    """
    found = run("heads/reading.ts", READ + body)
    assert found["cells"] == [
        ["the0 →  (blank)1".replace("  ", " "), "one0.1250", "two0.5000"], ["the0 → c2", "onehidden", "two0.2500"],
        ["the0 → c2", "onemasked", "two0.2500"], ["the0 → c2", "onemasked", "two0.2500"],
        ["(empty)1 → c2", "one< 0.0001", "two≈ 0.70"],
    ]  # fmt: skip
    assert found["reasons"] == ["onemasked: future", "onemasked: outside of the window", "onehidden"]
    assert found["tokens"] == [
        ["the0 looks most at", "a00.5000", "(blank)10.1250", "(blank)10.5000", "a00.2500", "c20.2500"],
        ["(empty)1 looks most at", "(blank)11.0000", "c2< 0.0001", "a00.0000", "c2≈ 0.70", "(blank)1≈ 0.20",
        "a0≈ 0.10"],
        ["a0 is looked at most by", "the00.5000", "(empty)10.0000", "the00.2500", "(empty)1≈ 0.10"],
        ["c2 is looked at most by", "(empty)1< 0.0001"], ["the0 looks most at", "nothing shown here"],
    ]  # fmt: skip
    assert found["heads"] == [
        ["layer 6 · head 0", "looks everywherey", "entropy1.235 bits", "share–"], ["rollout up to layer 6"],
        ["layer 4 · head 1", "entropy0.000 bits", "share0.500"],
    ]  # fmt: skip
    assert found["sentence"] == "layer 6 head 0; looks everywhere; y; entropy 1.235 bits; share –"
    assert found["said"] == "layer 6 head 0; t; entropy 1.235 bits; share –"
    weights, norms = found["lists"]
    assert weights == ["entropy1.235 bits", "share–"]
    # Shares of the norms 0.5 · 1 and 0.5 · 3: a quarter and three quarters.
    assert norms == ["of norms, each row divided by its sum", "entropy0.811 bits", "share0.250"]
    coming = "The exact weights of layer 6 · head 0"
    assert found["waits"] == [[f"{coming} are on their way."], [f"{coming} have not come. ", "Ask again"]]


def test_layers_with_a_window_and_heads_that_share_keys_are_marked(run: Run) -> None:
    body = """
      const [local, all] = [["window of 4", "global", "window of 8"], ["window of 4", "window of 4"]];
      const windows = { layer_marks: ["global", "window of 4"], limited: [false, true] };
      const named = { ...store, header: { ...store.header, ...windows } };
      return {
        marks: [{}, { shared_by: [2, 2, 2], layer_marks: local }, { shared_by: [2, 1] }].map(m.gridMarks),
        notes: [[], local, all, all.slice(1)].map((layer_marks) => m.windowsNote({ layer_marks })),
        ranked: [local, all].map((layer_marks) => m.windowsNote({ layer_marks }, true)),
        exported: [{}, { shared_by: [2, 2, 2] }, { shared_by: [2, 1] }, { shared_by: [4], layer_marks: all }].flatMap(
          (header) => [m.marksNote(header), m.marksNote(header, true)]),
        sentence: m.headSentence(named, [6, 0]),
        ofAll: [named, store].map(({ header }) => m.labelOfAll(header, "broad")),
        others: m.labelOfAll(named.header, "y"), heads: words(m.headReading(named, [4, 1])),
      };
    """
    found = run("heads/reading.ts", READ + body)
    assert found["marks"] == [{"sharedBy": 1}, {"sharedBy": 2, "local": [True, False, True]}, {"sharedBy": 1}]
    assert found["notes"] == [
        "", "Layers with a bar have a window of 4 or 8 keys; the others are global. ",
        "All layers have a window of 4 keys. ", "The layer has a window of 4 keys. ",
    ]  # fmt: skip
    assert found["ranked"] == [
        "2 of 3 layers have a window of 4 or 8 keys; the others are global. ", "All layers have a window of 4 keys. ",
    ]  # fmt: skip
    brackets, windows = "Heads under one bracket share their keys and values.", "All layers have a window of 4 keys."
    assert found["exported"] == ["", "", brackets, "", "", "", f"{brackets} {windows}", windows]
    assert found["sentence"].startswith("layer 6 head 0; window of 4; looks everywhere it may; ")
    assert (found["ofAll"], found["others"]) == (["broad, limited", "broad"], "y")
    assert found["heads"][:2] == ["layer 4 · head 1", "global"]


def test_the_grid_has_a_bracket_for_each_group_and_a_bar_for_each_layer_with_a_window(run: Run) -> None:
    body = """
      const { Pen } = await import("/frontend/pen/pen.ts");
      const { INK } = await import("/frontend/core/colours.ts");
      const looks = { layers: [0, 1, 2], heads: 4, order: null, faded: null, overview: null, theme: "light",
        density: 1, font: "sans-serif" };
      const layout = m.layOut({ layers: 3, heads: 4, width: 300, most: 400, ranked: false });
      const boxes = (more) => {
        const pen = new Pen();
        m.paintGrid({ style: {}, getContext: () => pen }, { layout, ...looks, ...more });
        return pen.marks.filter(({ path, fill }) => path && fill).map(({ path, fill }) => [fill, ...path[0].slice(1)]);
      };
      return { none: boxes({}), both: boxes({ sharedBy: 2, local: [true, false, true] }), layout,
        key: INK.light.key.toLowerCase(),
        ranked: boxes({ sharedBy: 2, order: Int32Array.from([...Array(12).keys()]) }) };
    """
    found = run("grid/paint.ts", body)
    layout, key = found["layout"], found["key"]
    assert found["none"] == found["ranked"] == []
    left, top, pitch, side = layout["left"], layout["top"], layout["pitch"], layout["side"]
    bars = [box[1:] for box in found["both"] if box[0] == key and box[3] > 1]
    assert [(x, width) for x, _, width, _ in bars] == [
        (left, pitch["x"] + side), (left + 2 * pitch["x"], pitch["x"] + side),
    ]  # fmt: skip
    local = [box[1:] for box in found["both"] if box[0] != key]
    assert [(y, height) for _, y, _, height in local] == [(top, side), (top + 2 * pitch["y"], side)]


def test_a_token_looks_at_three_at_most_though_more_have_weight(run: Run) -> None:
    body = """
      const wide = { rows: 1, cols: 5, causal: false, hidden: null, groups: { query: [1], key: [1, 1, 1, 1, 1] } };
      const own = { name: "one", colour: "#000", at: Float32Array.of(0.1, 0.3, 0.15, 0.25, 0.2), errors: [0] };
      const named = { query: ["the"], key: ["a", "b", "c", "d", "e"] };
      return words(m.tokenReading({ heads: [own], frame: wide, labels: named }, { q: 0, k: null }));
    """
    read_out = ["the0 looks most at", "b10.3000", "d30.2500", "e40.2000"]
    assert run("heads/reading.ts", READ + body) == read_out


def test_the_only_head_of_a_legend_can_not_be_taken_away(run: Run) -> None:
    body = """
      const taken = [];
      const legend = new m.Legend(document.body, { onRemove: (head) => taken.push(head) });
      const chip = (head) => ({ head, colour: "#000", labels: [], note: "" });
      const buttons = () => [...legend.element.querySelectorAll("button")];
      legend.update([chip([0, 1])], "");
      const alone = buttons().length;
      legend.update([chip([0, 1]), chip([2, -1])], "");
      const names = buttons().map((one) => one.title);
      buttons()[1].click();
      return { alone, names, taken };
    """
    names = ["Take away layer 0 · head 1", "Take away rollout up to layer 2"]
    assert run("heads/legend.ts", body) == {"alone": 0, "names": names, "taken": [[2, -1]]}


def test_a_drawing_says_how_much_of_the_heads_it_shows(run: Run) -> None:
    body = """
      const look = (own, fit, shown = {}) => m.drawnText({
        view: { show: "both", mean: false, chosen: [[0, 1]], ...own }, frame: { rows: 2, cols: 3 }, fit,
        drawn: { shown: 4, total: 6 },
        shown: { heads: [{ seen: 5, short: 0 }, { seen: 6, short: 0 }], least: 0.05, strongest: 0, isLong: false,
          isDarkened: false,
          high: 1, dark: 1, ...shown },
      });
      return [look({}, 1), look({ show: "lines" }, 1), look({ show: "heatmap" }, 2), look({}, 2, { heads: [] }),
        look({ mean: true, chosen: [[0, 1], [0, 2]] }, 2)];
    """
    lines = "4 of 6 weights of 2 heads are drawn as lines: those ≥ 0.05."
    hidden = "1 of 12 cells of 2 heads are masked (hatched)."
    mean = "Every number is the mean of the 2 chosen heads’."
    assert run("heads/reading.ts", body) == [
        f"{lines} {hidden} Heatmaps of the first 1 of 2 heads: more do not fit.", f"{lines} {hidden}", hidden, "",
        f"{lines} {mean} {hidden}",
    ]  # fmt: skip


def test_fields_show_the_view_and_change_it(run: Run) -> None:
    body = """
      const changes = [];
      const on = { onChange: (change) => changes.push(change) };
      const [filters, controls] = [new m.Filters(on), new m.ViewControls(on)];
      document.body.append(filters.element, controls.form);
      const shown = { least: 0.05, strongest: 0, dark: 0.25, isDarkened: false, isLong: false, heads: [[0, 0]],
        missing: [] };
      const there = { cols: 10, pair: true, norms: true, rollout: true, rolled: false, isOnlyGrid: false,
        measures: [{ name: "x", title: "X" }], labels: [[["a"], []]],
        labelOf: (label) => `${label} as said` };
      const find = (css) => document.querySelector(`.controls ${css}`);
      const look = (own = {}, more = {}, scene = {}) => {
        const props = { view: { ...view, ...own }, ...there, ...more, shown: { ...shown, ...scene } };
        for (const one of [filters, controls]) one.update(props);
        const fields = [...filters.form.children, ...controls.form.children];
        return { names: fields.map((one) => one.dataset.field),
          notes: fields.filter((one) => one.querySelector(".note")).map((one) => one.dataset.field),
          amount: find(".amount")?.textContent, strongest: find("[name=strongest]")?.value,
          darken: find("[data-field=stretch]")?.textContent, place: find("[name=threshold]")?.value,
          off: find("[name=values]")?.disabled, button: filters.button.textContent };
      };
      const looks = [
        look(), look({ show: "heatmap" }), look({ values: "norms" }), look({}, { pair: false, norms: false,
          rollout: false }),
        look({ between: "ab" }, { pair: false }), look({}, { rolled: true, rollout: false }), look({}, {}, { dark: 1 }),
        look({ chosen: [[2, 1], [2, 2]] }, {}, { strongest: 4 }), look({ special: "hide" }, {}, { isDarkened: true,
          isLong: true }),
        look({ threshold: 0.0025 }), look({ threshold: 0.1, strongest: 3, label: "a", sort: "x", between: "ab" }),
        look({ threshold: 0.1, strongest: 3, label: "a", special: "hide", show: "heatmap" }),
        look({ threshold: 0, between: "ab", values: "norms", mean: true }, { pair: false }),
        look({ threshold: 0.1, special: "hide", label: "a" }, { isOnlyGrid: true }),
      ];
      look();
      const labels = [...find("[name=label]").options].map((one) => [one.value, one.textContent]);
      const counts = [...find("[name=strongest]").options].map((one) => one.textContent);
      look({ chosen: [[2, 1], [2, 2]] }, {}, { strongest: 4 });
      const more = [...find("[name=strongest]").options].map((one) => one.textContent);
      const change = (name, set) => {
        const field = find(`[name=${name}]`);
        set(field);
        field.dispatchEvent(new Event("input", { bubbles: true }));
        return changes.at(-1);
      };
      look({ chosen: [[2, 1], [2, 2]] });
      const made = [
        change("threshold", (one) => (one.value = "20")), change("threshold", (one) => (one.value = "7.5")),
        change("strongest", (one) => (one.value = "3")), change("special", (one) => (one.value = "hide")),
        change("mean", (one) => (one.checked = true)), change("stretch", (one) => (one.checked = true)),
        change("rollout", (one) => (one.checked = true)),
      ];
      look({}, {}, { strongest: 3, least: 0, isLong: true });
      const adapted = change("strongest", (one) => (one.value = "5"));
      look({}, { cols: 40 }, { isDarkened: true, isLong: true });
      const turned = change("stretch", (one) => (one.checked = false));
      changes.length = 0;
      controls.turnDarkening();
      look({}, {}, { dark: 1 });
      controls.turnDarkening();
      look({ values: "norms" });
      controls.turnDarkening();
      const byKey = [...changes];
      look({}, {}, { dark: 1, heads: [], missing: [[1, 1]] }); // another head's weights load
      controls.turnDarkening();
      const waits = changes.length === byKey.length;
      look();
      await null;
      const late = changes.slice(byKey.length);
      return { labels, looks, counts, more, made, adapted, turned, byKey, waits, late };
    """
    found = run("heads/controls.ts", VIEW + body)
    assert found["labels"] == [["", "every head"], ["a", "a as said (1)"]]
    looks: list[dict[str, Any]] = found["looks"]
    names = [
        "label", "threshold", "strongest", "special", "between",
        "sort", "show", "direction", "values", "stretch", "rollout", "mean",
    ]  # fmt: skip
    assert all(one["names"] == [name for name in names if name in one["names"]] for one in looks)
    assert [sorted(set(names) - set(one["names"]), key=names.index) for one in looks] == [
        ["mean"], ["threshold", "strongest", "direction", "mean"], ["stretch", "mean"],
        ["between", "values", "rollout", "mean"], ["between", "mean"], ["mean"], ["stretch", "mean"], [], ["mean"],
        ["mean"], ["mean"], ["threshold", "strongest", "direction", "mean"], ["between", "stretch", "mean"],
        [name for name in names if name not in ("label", "sort")],
    ]  # fmt: skip
    assert [one["notes"] for one in looks] == [
        [], [], ["values"], [], [], ["values"], [], [], ["special", "stretch"], [], ["between"], ["special"],
        ["values"], [],
    ]  # fmt: skip
    on = [one["button"].removeprefix("Filter") for one in looks]
    assert on == ["", "", "", "", "", "", "", "", " · 1 on", " · 1 on", " · 4 on", " · 2 on", "", " · 1 on"]
    assert looks[0]["amount"] == "≥ 0.05"
    assert looks[0]["darken"] == "Darken: colours end at 0.25, not 1"
    assert (looks[7]["strongest"], looks[9]["place"]) == ("4", "5")
    assert [one["off"] for one in looks[4:7]] == [False, True, False]
    each = [f"{n} of each query" for n in (1, 2, 3, 5, 10, 20, 50, 100)]
    assert found["counts"] == ["all", *each]
    assert found["more"] == ["all", *each[:3], "4 of each query", *each[3:]]
    assert found["made"] == [
        {"threshold": 0.04}, {"threshold": 0.0056}, {"strongest": 3}, {"special": "hide"}, {"mean": True},
        {"stretch": "1"},
        {"rollout": True},
    ]  # fmt: skip
    assert found["adapted"] == {"strongest": 5, "threshold": 0}
    assert found["turned"] == {"stretch": "off"}
    assert found["byKey"] == [{"stretch": "off"}]  # where darkening changes nothing, the key changes nothing
    assert (found["waits"], found["late"]) == (True, [{"stretch": "1"}])  # what was asked for comes with the weights


GRID = """
  const calls = [];
  const room = document.createElement("div");
  room.style.width = "400px";
  document.body.append(room);
  const grid = new m.Grid(room, { onChoose: (head, how) => calls.push([head.join("."), how]),
    onHover: (head) => calls.push(head) });
  const shown = {
    layers: [2, 4, 8], heads: 4, overview: null, order: null, faded: null, theme: "light", most: 400,
    chosen: [{ head: [4, 1], colour: "rgb(255, 0, 0)" }], current: [4, 1], describe: (head) => `head ${head.join(".")}`,
  };
  const update = (own = {}) => grid.update({ ...shown, ...own });
  const key = (name, own = {}) => {
    calls.length = 0;
    const event = new KeyboardEvent("keydown", { key: name, cancelable: true, ...own });
    grid.element.dispatchEvent(event);
    return [grid.active.join("."), ...calls.flat(), event.defaultPrevented];
  };
"""


def test_keys_go_through_the_grid_and_stop_at_its_ends(run: Run) -> None:
    body = """
      update();
      const from = (head, name, own) => { grid.active = head; return key(name, own); };
      const keys = [
        from([4, 1], "ArrowRight"), from([4, 3], "ArrowRight"), from([4, 0], "ArrowLeft"), from([2, 1], "ArrowUp"),
        from([4, 1], "ArrowUp"), from([8, 2], "ArrowDown"), from([4, 2], "ArrowDown"), from([4, 2], "Home"), from([4,
          2], "End"),
        from([4, 2], "ArrowLeft", { shiftKey: true }), from([4, 2], "ArrowLeft", { ctrlKey: true }), from([4, 2], " "),
        from([4, 2], "Enter"), from([4, 2], "x"), from([4, 0], "ArrowUp"),
      ];
      const told = () => [grid.row.ariaRowIndex, grid.cell.ariaColIndex, grid.cell.ariaSelected, grid.cell.ariaLabel];
      update({ current: [8, 2] });
      const spoken = [grid.active.join("."), ...told()];
      update();
      const back = told();
      const order = Int32Array.from([5, 4, 11, 0, 1, 2, 3, 6, 7, 8, 9, 10]);
      update({ order });
      const ranked = [[4, 1], [8, 3], [2, 0]].map((head) => grid.placeOf(head));
      return { keys, spoken, back, ranked, at: [0, 2, 11].map((place) => grid.headAt(place).join(".")),
        none: [grid.placeOf([4, -1]), grid.placeOf([3, 0])], rows: grid.element.ariaRowCount };
    """
    found = run("grid/grid.ts", GRID + body)
    assert found["keys"] == [
        ["4.2", "4.2", "only", True], ["4.3", "4.3", "only", True], ["4.0", "4.0", "only", True], ["2.1", "2.1",
        "only", True],
        ["2.1", "2.1", "only", True], ["8.2", "8.2", "only", True], ["8.2", "8.2", "only", True], ["4.0", "4.0",
        "only", True],
        ["4.3", "4.3", "only", True], ["4.1", "4.1", "add", True], ["4.1", True], ["4.2", "4.2", "toggle", True],
        ["4.2", "4.2", "only", True], ["4.2", False], ["2.0", "2.0", "only", True],
    ]  # fmt: skip
    assert found["spoken"] == ["8.2", "3", "3", "false", "head 8.2"]
    assert found["back"] == ["2", "2", "true", "head 4.1"]
    assert found["ranked"] == [0, 2, 3]
    assert found["at"] == ["4.1", "8.3", "8.2"]
    assert found["none"] == [None, None]


def test_a_pointer_and_frames_find_their_thumbnail(run: Run) -> None:
    body = """
      const { boxAt, placeAt } = await import("/frontend/grid/paint.ts");
      update({ chosen: [...shown.chosen, { head: [8, 3], colour: "rgb(0, 0, 255)" }, { head: [8, -1],
        colour: "red" }] });
      const { layout } = grid;
      const frames = grid.frames.filter((one) => !one.hidden).map((one) => [one.className, one.style.color,
        one.style.transform]);
      const at = (place) => { const { x, y, side } = boxAt(layout, place); return [x, y, side]; };
      const boxes = [5, 11].map(at);
      const [x, y, side] = at(6);
      const edge = [placeAt(layout, x - 2, y), placeAt(layout, x - 3, y), placeAt(layout, x, y + side + 1.9),
        placeAt(layout, x, y + side + 2),
        placeAt(layout, layout.width + 3, y), placeAt(layout, layout.left - 3, y), placeAt(layout, x, layout.top - 3),
        placeAt(layout, x, layout.height + 9)];
      const { left, top } = grid.element.getBoundingClientRect();
      const send = (kind, own = {}) => {
        calls.length = 0;
        const Kind = kind === "click" ? MouseEvent : PointerEvent;
        grid.element.dispatchEvent(new Kind(kind, { clientX: left + x + 1, clientY: top + y + 1, ...own }));
        return [...calls];
      };
      const moved = [send("pointermove"), grid.ring.hidden, send("pointermove", { pointerType: "touch" }),
        send("pointerleave"), grid.ring.hidden];
      const clicks = [{}, { ctrlKey: true }, { metaKey: true }, { shiftKey: true },
        { clientX: left - 9 }].map((own) => send("click", own).flat());
      update({ chosen: shown.chosen });
      return { frames, boxes, edge, moved, clicks, left: grid.frames.filter((one) => !one.hidden).length };
    """
    found = run("grid/grid.ts", GRID + body)
    assert [one[:2] for one in found["frames"]] == [
        ["ring chosen current", "rgb(255, 0, 0)"], ["ring chosen", "rgb(0, 0, 255)"],
    ]  # fmt: skip
    assert [one[2] for one in found["frames"]] == [f"translate({x}px, {y}px)" for x, y, _ in found["boxes"]]
    assert found["edge"] == [6, 5, 6, 10, None, None, None, None]
    assert found["moved"] == [[[4, 2]], False, [], [None], True]
    assert found["clicks"] == [["4.2", "only"], *[["4.2", "toggle"]] * 3, []]
    assert found["left"] == 1


@pytest.mark.parametrize("width", [300, 700])
def test_thumbnails_are_as_large_as_room_allows(run: Run, width: int) -> None:
    body = """
      const look = (own) => {
        const { columns, rows, side, width, height, left, top, caption } = m.layOut({ layers: 6, heads: 12,
          most: 300, ranked: false, ...given, ...own });
        return { columns, rows, side, width, height, left, top, caption };
      };
      return [look({}), look({ ranked: true }), look({ mostSide: 20 }), look({ most: 50 }), look({ least: 22 }),
        look({ width: 50 }), look({ heads: 1, width: 300 })];
    """
    plain, ranked, small, low, hall, narrow, one = run("grid/paint.ts", body, {"width": width})
    across = (width - 36 + 4) // 12 - 4
    down = (300 - 32 - 17 + 4) // 6 - 4
    assert plain["side"] == min(across, max(down, 18), 48)
    assert (plain["columns"], plain["rows"], plain["left"], plain["top"]) == (12, 6, 36, 32)
    assert plain["width"] == 36 + 12 * (plain["side"] + 4) - 4
    assert plain["height"] == 32 + 6 * (plain["side"] + 4) - 4 + 17
    assert (ranked["left"], ranked["top"], ranked["caption"]) == (0, 0, 13)
    assert ranked["columns"] * ranked["rows"] >= 72
    sides = [
        min((width + 4) // columns - 4, (300 - 17 + 4) // -(-72 // columns) - 17, 48) for columns in range(1, 73)
    ]  # fmt: skip
    assert ranked["side"] == max(12, *sides)
    assert small["side"] == min(plain["side"], 20)
    assert low["side"] == min(across, 18)
    assert (hall["left"], hall["top"]) == (72, 64)
    assert narrow["side"] == 12
    assert one["width"] == 36 + 68 > 36 + one["side"]  # "from" and "to" have room


RAW = [
    "", "0", "1", "2", "5", "007", "1000", "1001", "999999", "-1", "1e3", "0.05", ".5", "0.50", "1.", "1.0", "1.5", ".",
    "NaN", "x", "٣", "constructor", "__proto__",
    "keep", "hide", "weights", "norms", "off", "true", "r", "both", "lines", "aa", "all", "vertical",
    "0.1", "0.1_2.r", "0.1_0.1_3.5", "0.1_", "1.1_1.x", "_".join(f"0.{n}" for n in range(24)),
    "_".join(f"0.{n}" for n in range(25)), *list(MEASURES)[:2],
]  # fmt: skip
"""What an address may say behind any key"""


def test_an_exported_page_reads_its_address_as_the_app_reads_a_link(run: Run) -> None:
    """A page of Heads by itself has no server: what its address says is checked in the browser."""
    body = """
      const header = { measures: given.measures.map((name) => ({ name })), labels: [] };
      return given.links.map(([key, raw]) => m.viewOf(raw === null ? {} : { [key]: raw }, {}, header)[key]);
    """
    keys = [key for key in HEADS_KEYS if key not in ("head", "rollout", "label")]  # head and rollout are one value here
    links: list[tuple[str, str | None]] = [(key, raw) for key in keys for raw in (None, *RAW)]
    values = run("embed/heads_link.ts", body, {"links": links, "measures": list(MEASURES)})
    for (key, raw), value in zip(links, values, strict=True):
        expected = KEYS[key].default if raw is None else read(key, raw)
        if key == "chosen":
            expected = [list(head) for head in expected or [(0, 0)]]
        assert value == expected, (key, raw)


def read(key: str, raw: str) -> Any:
    """What the app takes from a link: its default where the link says nothing that the key takes."""
    try:
        return KEYS[key].read(raw)
    except BadValueError:
        return KEYS[key].default


def test_what_is_shown_is_fetched_before_what_may_be_looked_at_next(run: Run) -> None:
    body = """
      const asked = [];
      const section = document.createElement("section");
      const files = { want: (names) => asked.push(names), waits: 3 };
      const header = { layers: [2, 5], heads: 3, files: given, view: { chosen: [[5, 1], [2, 0]] } };
      for (const next of [{ header }, null]) m.Explorer.prototype.want.call({ next, files, section }, ["x", "y"]);
      return [asked, section.dataset.waits];
    """
    files = {"shared": "s", "rollout": [], "weights": [["first", 0, 2], ["second", 2, 2], ["third", 4, 2]]}
    # Of two layers of three heads: layer 5 head 1 is number 4, layer 2 head 0 number 0.
    assert run("heads/explorer.ts", body, files) == [[["s", "third", "first", "x", "y"], ["x", "y"]], "3"]


def test_a_view_of_heads_that_goes_ends_all_its_parts(run: Run) -> None:
    body = """
      const view = new m.View(document.body, {});
      const ends = (part) => ["destroy", "disconnect", "cancel"].find((name) => typeof part?.[name] === "function");
      const parts = Object.keys(view).filter((name) => ends(view[name]));
      const ended = [];
      for (const name of parts) {
        const how = ends(view[name]);
        const end = view[name][how].bind(view[name]);
        view[name][how] = () => (ended.push(name), end());
      }
      view.destroy();
      return { parts: parts.sort(), ended: ended.sort(), left: view.section.isConnected };
    """
    found = run("heads/view.ts", body)
    assert {"grid", "menu", "moved", "pictures", "sizes"} <= set(found["parts"])
    assert set(found["ended"]) == set(found["parts"])
    assert found["left"] is False
