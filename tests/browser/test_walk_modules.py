"""The modules of a walk, one at a time: what it offers, keeps, fetches and says, by cases worked out by hand."""

from __future__ import annotations

import json
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
import torch
from playwright.sync_api import Page

from attnviz.figures.style import DARK, LIGHT, ROWS_AND_COLUMNS
from attnviz.formatting import number, weight
from attnviz.mask_reasons import REASONS, Reason
from attnviz.steps import WALK
from tests.browser.modules import Run, imported

FACT = """
  const matrix = (rows) => ({ data: Float32Array.from(rows.flat()), shape: [rows.length, rows[0].length] });
  const all = {
    scores: [[1, -6, 2], [3, 3, 1]], scaled: [[0.5, -3, 1], [1.5, 1.5, 0.5]],
    weights: [[0.2, NaN, 0.8], [NaN, NaN, NaN], [0.004, 0.99605, 0.00005], [0, 0.5, 0.5]],
    stream: [[3, 4], [0, 0]], added: [[0.3, 0.4], [1, 0]], x: [[1, 2, 6], [0, 0, 0.3]],
    feed_forward_hidden: [[-1, 0, 2, 5], [7, 7, 0, -1]], feed_forward_output: [[3, 4], [6, 8]],
    logits: [[1, 9], [4, -2]], probabilities: [[0.25, 0.0051, 0.7449], [0.002, 0.003, 0.995]],
    by_loop: [[1, 2], [3, 4]], by_data: [[1, 2], [3.5, 4.25]],
  };
  const header = {
    scale: 0.5, attention: "decoder", query: { labels: ["the", "cat", "sat", "on"] }, key: { labels: ["a", "b", "c"] },
    ...given.header,
  };
  const matrices = { document: { header }, get: (name) => all[name] && matrix(all[name]) };
  const picture = {
    operations: { attention_residual: { of: ["stream", "added"] } },
    panels: [{ name: "x" }, ...["logits", "probabilities"].map((name) => ({ name, ticks: { 0: "yes", 1: "no" } }))],
  };
  return given.pins.map(([name, q, k]) => {
    const found = m.pinnedFact(matrices, { name, picture }, { q, k });
    if (!found) return found;
    const words = Array.from(found.text);
    return [found.text, found.marks.map(({ from, to, row, column, matrix }) =>
      [words.slice(from, to).join(""), row, column, matrix])];
  });
"""

SAID: list[tuple[tuple[str, int | None, int | None], str]] = [
    (("weights", 0, None), "Here row 0, “the”, puts 80 % on column 2, “c”."),
    (("weights", 0, 2), "Here row 0, “the”, puts 80 % on column 2, “c”."),
    (("weights", 0, 0), "Here row 0, “the”, puts 20 % on column 0, “a”; most, 80 %, on column 2, “c”."),
    (
        ("weights", 0, 1),
        "Here row 0, “the”, puts 0 % on column 1, “b”, which is hidden from it; most, 80 %, on column 2, “c”.",
    ),
    (
        ("weights", 1, 0),
        "In row 1, “cat”, every key is hidden: its exponentials sum to 0. It gets no weights.",
    ),
    (
        ("weights", 2, 0),
        "Here row 2, “sat”, puts 0.40 % on column 0, “a”; most, 99.61 %, on column 1, “b”.",
    ),
    (
        ("weights", 2, 2),
        "Here row 2, “sat”, puts less than 0.01 % on column 2, “c”; most, 99.61 %, on column 1, “b”.",
    ),
    (("weights", 3, None), "Here row 3, “on”, puts 50 % on column 1, “b”."),
    (("weights", 3, 2), "Here row 3, “on”, puts 50 % on column 2, “c”."),
    (("weights", None, 2), "Here column 2, “c”, gets most from row 0, “the”: 80 %."),
    (("weights", None, 1), "Here column 1, “b”, gets most from row 2, “sat”: 99.61 %."),
    (
        ("scaled", 0, None),
        "In row 0, “the”, the largest magnitude goes from −6.00 to −3.00 (× 0.5000).",
    ),
    (("scaled", 1, 2), "In row 1, “cat”, column 2, “c”, goes from 1.00 to 0.50 (× 0.5000)."),
    (("attention_residual", 0, None), "Here what is added to row 0, “the”, is 10 % as long as the row itself."),
    (("attention_norm", 0, None), "Before, the variance of row 0, “the”, is 4.67, and its mean 3.00."),
    (
        ("feed_forward_hidden", 0, None),
        "Here 50 % of the cells of row 0, “the”, are above 0. Neuron 3 fires most, with 5.00.",
    ),
    (
        ("feed_forward_hidden", 1, None),
        "Here 50 % of the cells of row 1, “cat”, are above 0. Neuron 0 fires most, with 7.00.",
    ),
    (("feed_forward_output", 1, None), "Here row 1, “cat”, has a length of 10.00."),
    (("logits", 0, None), "Here the largest logit of row 0, “the”, is 9.00, for “no”."),
    (
        ("probabilities", 0, None),
        "Here, after row 0, “the”, the most likely next token is “yes”, with 25 %.",
    ),
    (
        ("probabilities", 1, None),
        "Here, after row 1, “cat”, the most likely next token is “no”, with 0.30 %.",
    ),
    (("data", 0, None), "In row 0, “the”, nothing differs from the loop."),
    (("data", 1, None), "In row 1, “cat”, the largest difference to the loop is 0.50, in feature 0."),
]


def test_each_step_says_of_the_pinned_row_what_its_numbers_are(run: Run) -> None:
    given = {"pins": [list(pin) for pin, _ in SAID], "header": {}}
    found = run("walk/pinned_fact.ts", FACT, given)
    for (pin, said), one in zip(SAID, found, strict=True):
        assert one[0] == said, pin
    marks = {pin: one[1] for (pin, _), one in zip(SAID, found, strict=True)}
    assert marks["weights", 0, 0] == [
        ["row 0, “the”", 0, None, ""], ["20 %", 0, 0, "weights"], ["column 0, “a”", None, 0, ""],
        ["80 %", 0, 2, "weights"], ["column 2, “c”", None, 2, ""],
    ]  # fmt: skip
    assert marks["scaled", 1, 2][2:] == [["1.00", 1, 2, "scores"], ["0.50", 1, 2, "scaled"]]
    assert marks["weights", None, 2][-1] == ["80 %", 0, 2, "weights"]


def test_where_a_step_says_nothing_of_a_row_its_own_sentence_stays(run: Run) -> None:
    pins = [["weights", None, None], ["scores", 0, 0], ["scaled", None, 1], ["toString", 0, 0]]
    assert run("walk/pinned_fact.ts", FACT, {"pins": pins, "header": {}}) == [None] * 4
    one = run("walk/pinned_fact.ts", FACT, {"pins": [["scaled", 0, 0]], "header": {"scale": 1}})
    assert one == [["", []]]  # nothing is scaled
    encoder = run("walk/pinned_fact.ts", FACT, {"pins": [["probabilities", 0, 0]], "header": {"attention": "encoder"}})
    assert encoder[0][0] == "Here, at row 0, “the”, the most likely token is “yes”, with 25 %."


def test_a_hidden_key_is_never_the_one_that_gets_most(run: Run) -> None:
    """As ALiBi gives the largest number to the last key, which a causal mask hides from all rows but the last."""
    arrays = """
      all.position_bias = [[0, 0.5, 1], [0, 0.5, 1], [0, 0.5, 1]];
      all.biased = [[1, 2.5, 4], [5, 6.5, 8], [7, 8.5, 9]];
      all.masked = [[1, NaN, NaN], [5, 6.5, NaN], [NaN, NaN, NaN]];
      all.weights = [[1, NaN, NaN], [0.2, 0.8, NaN], [NaN, NaN, NaN]];
      picture.panels = ["scaled", "position_bias", "biased"].map((name) => ({ name }));
      return given.pins"""
    pins = [["biased", 0, None], ["biased", 1, None], ["biased", 1, 2], ["biased", 2, None], ["weights", None, 2]]
    found = run("walk/pinned_fact.ts", FACT.replace("return given.pins", arrays), {"pins": pins, "header": {}})
    assert [text for text, _ in found] == [
        "In row 0, “the”, column 0, “a”, itself, gets most, 0.00: its score is then 1.00.",
        "In row 1, “cat”, column 1, “b”, itself, gets most, 0.50: its score is then 6.50.",
        "In row 1, “cat”, column 2, “c”, 1 position after it, gets 1.00: its score is then 8.00, and the "
        "mask hides it.",
        "In row 2, “sat”, every key is hidden.",
        "Here column 2, “c”, is hidden from every row.",
    ]


def test_a_column_of_zeros_gets_most_from_no_row(run: Run) -> None:
    """A weight of 0 is hidden by the mask, or too small for float32. A finite number hides a key, and gives weights all
    the same to a row that sees none; a sink may take all of a row.
    """
    arrays = """
      all.masked = [[NaN, NaN, NaN], [1, -200, NaN], [1, -200, 5], [-300, -300, -300]];
      all.weights = given.header.isFinite ? [[0.2, 0.2, 0.2], [1, 0, NaN], [1, 0, NaN], [0, 0, NaN]]
        : [[NaN, NaN, NaN], [1, 0, NaN], [0, 0, 1], [0, 0, 0]];
      all.sink = [[0.4], [0], [0], [1]];
      if (given.header.isHigh) {
        all.masked = [[1, 2, NaN], [1, 2, NaN], [1, 2, NaN], [1, 2, NaN]];
        all.weights = [[0.5, 0.4, 0.1], [0.5, 0.46, 0.04], [0.5, 0.4, 0.1], [0.5, 0.3, 0.2]];
      }
      if (given.header.isFinite) all.masked = [[NaN, NaN, NaN], [1, -200, NaN], [1, -200, NaN], [-300, -300, NaN]];
      return given.pins"""
    fact = FACT.replace("return given.pins", arrays)
    pins = [["weights", None, 0], ["weights", None, 1], ["weights", 3, None], ["weights", 3, 1]]
    assert [text for text, _ in run("walk/pinned_fact.ts", fact, {"pins": pins, "header": {}})] == [
        "Here column 0, “a”, gets most from row 1, “cat”: 100 %.",
        "Here column 1, “b”, gets 0 % from every row that sees it.",
        "Here row 3, “on”, puts 0 % on every key; the sink takes 100 %.",
        "Here row 3, “on”, puts 0 % on column 1, “b”; the sink takes 100 %.",
    ]
    pins = [["weights", None, 2]]
    found = run("walk/pinned_fact.ts", fact, {"pins": pins, "header": {"isHigh": True}})
    assert [text for text, _ in found] == [
        "Here column 2, “c”, is hidden from every row. Its largest weight is 20 %: the number that hides it is not low "
        "enough to make its weights 0."
    ]
    pins = [["weights", None, 2], ["weights", 0, None], ["weights", 0, 2]]
    found = run("walk/pinned_fact.ts", fact, {"pins": pins, "header": {"isFinite": True}})
    assert [text for text, _ in found] == [
        "Here column 2, “c”, is hidden from every row. Its largest weight is 20 %, from rows of which every key is "
        "hidden.",
        "In row 0, “the”, every key is hidden, yet it puts 20 % on column 0, “a”; the sink takes 40 %.",
        "In row 0, “the”, every key is hidden, yet it puts 20 % on column 2, “c”; the sink takes 40 %.",
    ]


def test_a_column_that_all_rows_see_and_give_nothing(run: Run) -> None:
    arrays = """
      all.masked = [[1, -200], [2, -200]]; all.weights = [[1, 0], [1, 0]]; return given.pins"""
    fact = FACT.replace("return given.pins", arrays)
    found = run("walk/pinned_fact.ts", fact, {"pins": [["weights", None, 1]], "header": {}})
    assert found[0][0] == "Here column 1, “b”, gets 0 % from every row."


DOCUMENT = """
  const axis = (...labels) => ({ labels, ids: labels.map((_, n) => n), unknown: [], places: [], segments: [],
    covers: [] });
  const step = (name, own = {}) => ({
    name, title: name.toUpperCase(), picture: { panels: [{ name }], grid: [[0]] }, can_be_covered: false,
    can_be_stretched: false, ...own,
  });
  const steps = [
    step("tokens", { picture: null }), step("scores"), step("weights", { can_be_covered: true,
      can_be_stretched: true }),
  ];
  const doc = (own = {}, arrays = {}) => ({
    header: {
      kind: "head", place: "encoder, layer 2", layer: 2, heads: [3, 5, 8], heads_in_layer: 12,
        references: { weights: {} }, steps,
      mask: "none", mask_value: null, scale: 0.5, query: axis("a", "b", "c"), key: axis("d", "e", "f", "g"), ...own,
    },
    arrays,
  });
  const values = {
    step: "scores", layer: 2, head: 5, q: null, k: null, drawing: "stage", predict: false, stretch: "0", limit: null,
    focus: "",
  };
"""


def test_what_there_is_to_choose_from_follows_from_the_step(run: Run) -> None:
    body = """
      const offer = (own, home = {}, lecture = false, header = {}, arrays = {}) =>
        m.offered(doc(header, arrays), { ...values, ...own }, { home, lecture });
      const home = { layers: [0, 2], drawings: [["stage", "Stage"], ["chart", "Chart"]], onlyLayer: "the layer" };
      const equal = (share) => ({ weights: { data: Float32Array.of(share, 0.1), shape: [1, 2] } });
      const ends = ["tokens", "scores", "weights"].map((one) => {
        const { previous, next, drawings, switches } = offer({ step: one }, home, false, {}, equal(0.62));
        return [previous, next, drawings.length, switches.map(({ name, other }) => [name, other])];
      });
      const many = Array(40).fill("x");
      const switches = (own, header, arrays) =>
        offer({ step: "weights", ...own }, home, false, header, arrays).switches.map(({ label, help, isOn,
          other }) => [label, help, isOn, other]);
      const lectures = [[{}, home], [{}, {}], [{ kind: "block" }, home], [{ kind: "averages" }, home]].map(([own,
        at]) =>
        [true, false].map((lecture) => offer({}, at, lecture, own).place));
      return {
        ends, lectures, chart: [false, true].map((predict) => {
          const own = { step: "weights", drawing: "chart", predict };
          const { switches, drawings } = offer(own, home, false, {}, equal(0.62));
          return [switches.length, drawings.length];
        }),
        labels: [offer({}, home), offer({}, {}), offer({}, { onlyLayer: "the layer" })].map((one) => one.layerLabel),
        heads: offer({}).heads, steps: offer({}).steps[2],
        switches: [
          switches({ predict: true }, {}, equal(0.62)), switches({ stretch: "1" }, {}, equal(0.62)),
          switches({ stretch: "1" }, {}, equal(0.81)), switches({}, { key: axis(...many) }),
          switches({}, { key: axis(...many) }, equal(0.62)),
          switches({ stretch: "off" }, { key: axis(...many) }, equal(0.62)),
          switches({}, { key: axis(...many.slice(1)) }, equal(0.62)),
        ],
        rows: [["none", 5], ["causal", 5], ["causal", 2], ["causal", 1]].map(([mask, n]) =>
          m.firstGuess({ mask, query: { labels: Array(n) } })),
        text: m.noFocus("x", "Scores"),
        written: m.written({ ...values, predict: true }),
        read: [["layer", "3"], ["head", "0"], ["predict", "1"], ["predict", "0"], ["step",
          "qkv"]].map((one) => m.read(...one)),
        factors: [m.factorsOf({ scale: 0.5, mask_value: -4, mask_fills: "scores" }),
          m.factorsOf({ scale: 0.5, mask_value: -4, mask_fills: "scaled" })],
      };
    """
    found = run("walk/choices.ts", DOCUMENT + body)
    assert found["ends"] == [
        [None, {"step": "scores"}, 0, []], [{"step": "tokens"}, {"step": "weights"}, 2, []],
        [{"step": "scores"}, None, 2, [["predict", "1"], ["stretch", "1"]]],
    ]  # fmt: skip
    assert found["chart"] == [[1, 2], [2, 0]]  # a chart covers no row, and is not offered while one is guessed
    assert found["lectures"] == [
        ["layer 2 · head 5", ""], ["head 5", ""], ["encoder, layer 2 · head 5", ""], ["", ""],
    ]  # fmt: skip
    assert found["labels"] == ["layer 2", "layer 2", "the layer"]
    assert (found["heads"], found["steps"]) == ([3, 5, 8], ["weights", "WEIGHTS"])
    guess = [
        "Guess a row",
        "Covers one row: the pinned one, or an early one. Choose its largest cell; each guess is judged. R reveals the "
        "row.",
    ]
    largest = "They end at the largest weight."
    by_itself = "On by itself in a long text: of ten rows, nine have no weight above it."
    assert found["switches"] == [
        [[*guess, True, "0"], ["Darken: colours end at 0.62, not 1", largest, False, "1"]],
        [[*guess, False, "1"], ["Darken: colours end at 0.62, not 1", largest, True, "0"]],
        [[*guess, False, "1"]],  # 0.81
        [[*guess, False, "1"]],  # not there yet
        [[*guess, False, "1"], ["Darken: colours end at 0.62, not 1", by_itself, True, "off"]],
        [[*guess, False, "1"], ["Darken: colours end at 0.62, not 1", by_itself, False, "0"]],
        [[*guess, False, "1"], ["Darken: colours end at 0.62, not 1", largest, False, "1"]],
    ]
    assert found["rows"] == [0, 2, 1, 0]
    assert found["text"] == "The link’s focus=x is not a matrix of Scores, so all matrices are shown."
    assert found["written"] == {
        "step": "scores", "layer": "2", "head": "5", "drawing": "stage", "predict": "1", "stretch": "0"
    }  # fmt: skip
    assert found["read"] == [{"layer": 3}, {"head": 0}, {"predict": True}, {"predict": False}, {"step": "qkv"}]
    assert found["factors"] == [{"scale": 0.5, "hidden": -2}, {"scale": 0.5, "hidden": -4}]


def test_a_link_asks_for_what_the_document_has_or_for_the_nearest(run: Run) -> None:
    body = """
      const store = new m.Store();
      const heard = [];
      store.listener = (changed) => heard.push([...changed].sort());
      const fit = (own, header = {}) => {
        const fresh = new m.Store();
        fresh.set({ ...values, ...own }, doc(header));
        const { step, head, q, k, focus } = fresh.values;
        return [step, head, q, k, focus];
      };
      const fits = [
        fit({ step: "gone", head: 4, focus: "scores" }), fit({ head: 8, q: 2, k: 3, focus: "scores" }),
        fit({ q: 3, k: 4, focus: "weights" }), fit({ q: -1, k: 0.5 }), fit({ q: 0, k: 0 }),
        fit({ head: 4, q: 9, layer: 1 }),
      ];
      const document = doc();
      const first = store.set({ step: "weights", head: 4, layer: 2 }, document);
      const again = [store.set({ step: "weights" }, document), store.set({ q: 1 })];
      const here = [store.current === document, store.step.name];
      store.set({ layer: 1 });
      const elsewhere = [store.current, store.step, store.matrices];
      store.set({ layer: 2 });
      store.isAwaited = true;
      const awaited = store.current;
      store.set({}, document);
      return { fits, first, again, here, elsewhere, awaited, back: store.current === document, heard };
    """
    found = run("walk/store.ts", DOCUMENT + body)
    assert found["fits"] == [
        ["tokens", 3, None, None, ""], ["scores", 8, 2, 3, "scores"], ["scores", 5, None, None, ""],
        ["scores", 5, None, None, ""], ["scores", 5, 0, 0, ""], ["scores", 4, 9, None, ""],
    ]  # fmt: skip
    assert found["first"] == {"step": "weights", "layer": 2, "head": 3}
    assert found["again"] == [{}, {"q": 1}]
    assert found["here"] == [True, "weights"]
    assert found["elsewhere"] == [None, None, None]
    assert found["awaited"] is None
    assert found["back"]
    assert found["heard"][1] == ["q"]


@pytest.mark.parametrize(
    ("lacking", "asked", "shown"),
    [
        (("capped",), "capped", "scaled"), (("rotated", "capped"), "rotated", "normed"),
        (("rotated", "normed"), "rotated", "qkv"), (("normed",), "normed", "qkv"),
    ],
)  # fmt: skip
def test_a_step_that_a_layer_lacks_is_replaced_by_the_nearest_before_it(
    run: Run, lacking: tuple[str, ...], asked: str, shown: str
) -> None:
    """As Python does, in `attnviz.ui.walk.check_step`."""
    body = """
      const store = new m.Store();
      const [any] = doc().header.steps;
      store.set({ ...values, step: given.asked }, doc({ steps: given.names.map((name) => ({ ...any, name })) }));
      return store.values.step;
    """
    names = [name for name in WALK if name not in lacking]
    assert run("walk/store.ts", DOCUMENT + body, {"asked": asked, "names": names}) == shown


def test_what_may_be_looked_at_next_is_fetched_where_it_is_small(run: Run) -> None:
    body = """
      const array = (...shape) => ({ data: [], shape });
      const asked = [];
      const ahead = (head, own, home = { layers: [0, 2, 4, 6] }, arrays = {}, here = [], script = null, way = 1) => {
        const loading = Object.assign(new m.Loading(home, () => {}), { script, way });
        loading.files = { fetchAhead: (files) => asked.push(files), destroy() {} };
        for (const layer of here) loading.documents.set(layer, {});
        loading.ahead({ header: { heads: [3, 5, 8], layer: 4, references: {}, ...own }, arrays }, head);
        loading.destroy();
        return asked.at(-1);
      };
      const references = Object.fromEntries([3, 5, 8].flatMap((head) =>
        ["query", "key", "value"].map((name) => [`${name}/${head}`, array(64, 64)])));
      const large = { ...references, "query/8": array(512, 512) };
      const keep = () => {
        const loading = new m.Loading({}, () => {});
        for (let layer = 0; layer < 7; layer += 1) loading.take({ header: { layer } });
        loading.layer(1);
        loading.take({ header: { layer: 7 } });
        return [...loading.documents.keys()];
      };
      const ways = () => {
        const loading = new m.Loading({}, () => {});
        const after = (layer) => { loading.later({ header: { layer } }, 0); return loading.way; };
        const seen = [4, 4, 5, 5, 9, 3].map(after);
        loading.begin();
        seen.push(...[4, 1].map(after));
        loading.destroy();
        return seen;
      };
      const anew = async () => {
        const [loading, seen] = [new m.Loading({}, () => {}), []];
        loading.take({ header: { layer: 1 } });
        loading.files = { destroy: () => seen.push("ended") };
        loading.timer = setTimeout(() => seen.push("later"), 0);
        loading.begin({ header: { layer: 4 } });
        await new Promise((done) => setTimeout(done, 20));
        return [seen, [...loading.documents.keys()]];
      };
      const refused = async (home, file) => {
        const loading = new m.Loading(home, () => {});
        loading.documents.set(1, { header: { references: {} }, arrays: {} });
        return loading.get(file).then(() => "came", (error) => error.message);
      };
      return {
        ahead: [
          ahead(5, { references }, {}), ahead(3, { references }, {}, { "key/5": array(1) }), ahead(5,
            { references: large }, {}),
          ahead(8, {}), ahead(8, {}, undefined, {}, [], null, -1), ahead(8, {}, undefined, {}, [], null, 0),
          ahead(8, {}, undefined, {}, [6]), ahead(8, { layer: 0 }, undefined, {}, [], null, -1),
          ahead(8, { layer: 6 }), ahead(8, { layer: 3 }),
          ahead(8, {}, undefined, { a: array(512, 512) }), ahead(8, {}, undefined, { a: array(512, 513) }),
          ahead(8, {}, undefined, {}, [], {}),
        ],
        kept: keep(), anew: await anew(), ways: ways(),
        refused: [await refused({}, "document 2"), await refused({}, "array 1 query/0"),
          await refused({}, "array 2 x")],
      };
    """
    found = run("walk/loading.ts", body)
    assert found["anew"] == [["ended"], [4]], "of another text nothing is fetched any more"

    def arrays(*heads: int, without: str = "") -> list[str]:
        names = [f"{name}/{head}" for head in heads for name in ("query", "key", "value")]
        return [f"array 4 {name}" for name in names if name != without]

    *before_the_script, with_it = found["ahead"]
    assert before_the_script == [["script", *files] for files in (
        arrays(8, 3), arrays(5, without="key/5"), arrays(3),
        ["document 6"], ["document 2"], [], [], [], [], [],
        ["document 6"], [],
    )]  # fmt: skip
    assert with_it == ["document 6"]
    assert found["kept"] == [3, 4, 5, 6, 1, 7]
    assert found["ways"] == [0, 0, 1, 1, 1, -1, 0, -1], "of another text, the user has not gone to another layer yet"
    assert found["refused"] == ["it is not part of this document"] * 3


def test_what_takes_long_is_said_and_for_how_many_it_waits(run: Run) -> None:
    body = """
      const waits = [];
      window.setTimeout = (work, ms) => (waits.push([work, ms]), waits.length);
      const cleared = [];
      window.clearTimeout = (one) => cleared.push(one);
      const said = [];
      const places = ["2 texts are before yours.", "", Promise.reject(new Error("gone"))];
      places[2].catch(() => {});
      const coming = new m.Coming(document.body, (text) => said.push(text), { place: async () => places.shift() });
      const times = () => waits.map(([, ms]) => ms);
      const go = async () => { const [work] = waits.at(-1); await work(); };
      coming.begin(3, "document 3");
      coming.begin(3, "document 3");
      const once = times();
      await go(); await go(); await go();
      const told = [said.slice(), times(), document.body.ariaBusy];
      coming.begin(4, "document 4");
      await go(); await go();
      coming.begin(undefined, "array");
      await go();
      const [, late] = [coming.end(), said.length];
      await waits.at(-1)[0]();
      return { once, told, rest: said.slice(3), late: said.length - late, busy: document.body.ariaBusy };
    """
    found = run("walk/coming.ts", body)
    computed = "The numbers are being computed …"
    assert found["once"] == [300]
    assert found["told"] == [[computed, "2 texts are before yours.", computed], [300, 700, 1000], "true"]
    assert found["rest"][:3] == [computed] * 3
    assert found["busy"] is None


def test_a_covered_row_is_revealed_cell_by_cell_or_at_once(run: Run) -> None:
    body = """
      let revealed = 0;
      const guesses = [];
      const stage = new m.Stage(document.body, { onRevealed: () => (revealed += 1),
        onGuess: (guess) => guesses.push(guess && [guess.row, guess.tried.length, guess.isOpen]) });
      const panel = (name, own = {}) => ({
        name, title: name, role: null, rows: "query", cols: "key", data: Float32Array.from([1, 3, 2, 4, 5, 6]),
          shape: [2, 3],
        low: 0, high: 6, scale: "weights", ...own,
      });
      const walk = {};
      const header = (own) => ({
        walk, order: 1, step: "weights", layer: 0, head: 0, scale: 1, predict: true, guess: 1, result: "weights",
          labels: {},
        panels: [panel("scores"), panel("weights"), panel("value", { rows: "key", cols: "value_dim" })],
          grid: [[0, 1, 2]], widths: [1, 1, 1], heights: [1], products: {}, alt: "", ...own,
      });
      stage.take(header());
      const cover = (name) => [0, 1].map((i) => [0, 1, 2].map((j) => Boolean(stage.board.covers?.(name)?.(i, j))));
      const at = (name, i, j) => ({ panel: name, rows: "query", cols: "key", i, j });
      const first = ["weights", "scores", "value"].map(cover);
      const click = (name, i, j) => [stage.board.uncover(at(name, i, j)), guesses.at(-1)];
      const opened = [
        stage.board.uncover({ ...at("value", 1, 0), rows: "key", cols: "value_dim" }), click("scores", 1, 0),
        click("weights", 0, 0), click("weights", 1, 1), click("weights", 1, 1),
      ];
      const second = [cover("weights")[1], revealed];
      const right = [click("weights", 1, 2), cover("weights"), revealed, click("weights", 0, 0)[0]];
      stage.chooseRow(0);
      const other = [cover("weights"), click("weights", 0, 0), click("scores", 0, 1), revealed];
      stage.chooseRow(1);
      stage.reveal("row");
      const row = cover("weights")[1];
      stage.take(header({ order: 2 }));
      const kept = cover("weights")[1];
      stage.take(header({ walk: {} }));
      const anew = cover("weights");
      stage.reveal("all");
      stage.chooseRow(0);
      const chosen = cover("weights")[0];
      stage.take(header({ predict: false }));
      const off = guesses.at(-1);
      const one = (name) => panel(name, { cols: "one", data: Float32Array.from([0.5, 0.7]), shape: [2, 1] });
      const beside = (...names) => header({ walk: {}, panels: [...header().panels, ...names.map(one)],
        grid: [[0, 1, ...names.map((_, n) => n + 3)]], widths: [1, 1, ...names.map(() => 1)] });
      const NAMES = ["sinks", "sink", "row_sum"];
      const ones = () => NAMES.map((name) => [0, 1].map((i) => Boolean(stage.board.covers?.(name)?.(i, 0))));
      stage.isDone = false;
      stage.take(beside(...NAMES));
      stage.chooseRow(1);
      const shares = [ones(), click("weights", 1, 0)[1]];
      shares.push(ones(), cover("weights")[1], stage.board.uncover({ ...at("sink", 1, 0), cols: "one" }));
      shares.push(guesses.at(-1), click("weights", 1, 2)[1], ones());
      stage.take(beside("row_sum"));
      return { first, opened, second, right, other, row, kept, anew, chosen, off, shares, alone: ones()[2] };
    """
    found = run("walk/stage.ts", body)
    no, yes = [False] * 3, [True] * 3
    assert found["first"] == [[no, yes], [no, yes], [no, no]]  # scores beside weights would give the row away
    first, second = [1, 1, True], [1, 2, True]
    # A cell that is in no row, one beside the result, one of another row, and one that was tried before.
    assert found["opened"] == [False, [True, first], [True, first], [True, second], [False, second]]
    assert found["second"] == [[False, False, True], 0]
    assert found["right"] == [[True, [1, 3, False]], [no, no], 1, False]
    assert found["other"] == [[yes, no], [True, [0, 1, True]], [True, [0, 2, False]], 2]
    assert found["row"] == found["kept"] == no
    assert found["anew"] == [no, yes]
    assert found["chosen"] == no  # all rows are revealed
    assert found["off"] is None
    # What the sink takes of the row, and what it leaves, stay covered after a wrong guess; no click on them is a guess.
    known, row = [False, False], [False, True]
    wrong = [1, 1, True]
    assert found["shares"] == [
        [known, row, row], wrong, [known, row, row], [False, True, True], False, wrong, [1, 2, False], [known] * 3,
    ]  # fmt: skip
    assert found["alone"] == known  # without a sink each row sums to 1, which is no secret


STEPPER = """
  const chosen = [];
  const stepper = new m.Stepper(document.body, (values) => chosen.push(values));
  const offered = (own) => ({
    steps: [["a", "A"], ["b", "B"], ["c", "C"]], previous: { step: "a" }, next: { step: "c", layer: 1 },
    drawings: [["stage", "Stage"], ["chart", "Chart"]], layers: [0, 2, 4], heads: [3, 5, 8], layerLabel: "layer 2",
      place: "",
    switches: [{ name: "predict", label: "Guess", help: "how", isOn: false, other: "1" }], ...own,
  });
  const first = { step: "b", layer: "2", head: "5", drawing: "stage" };
  const offer = (own, values = first, shade = "light") => stepper.offer(offered(own), values, {}, shade);
  offer();
  const find = (css) => stepper.section.querySelector(css);
  const arrows = () => [...stepper.section.querySelectorAll(".arrow")].map(({ disabled }) => disabled);
"""


def test_an_arrow_that_is_disabled_gives_the_focus_to_what_is_beside_it(run: Run) -> None:
    body = """
      stepper.section.style.visibility = "visible";  // as the style sheet makes it
      const [back, on] = stepper.section.querySelectorAll(".arrow");
      const focusedAfter = (arrow, own) => {
        offer();
        arrow.focus();
        offer(own);
        return document.activeElement.dataset.name ?? document.activeElement.title;
      };
      return [
        focusedAfter(on, {}), focusedAfter(on, { next: null }), focusedAfter(back, { previous: null }),
        focusedAfter(back, { previous: null, steps: [] }), focusedAfter(find("select"), { next: null }),
      ];
    """
    assert run("walk/stepper.ts", STEPPER + body) == ["Next step (→)", "b", "b", "Next step (→)", ""]


def test_steps_heads_and_layers_go_on_to_their_ends(run: Run) -> None:
    body = """
      let others = {};
      const act = (name, own = {}) => {
        offer(others, { ...first, predict: "0", ...own }, "dark");
        chosen.length = 0;
        return [stepper.act(name), ...chosen];
      };
      const acts = [
        act("next"), act("previous"), act("head_on"), act("head_back"), act("head_on", { head: "8" }),
        act("head_back", { head: "3" }), act("layer_on"), act("layer_back"), act("layer_on", { layer: "4" }),
          act("drawing"),
        act("drawing", { drawing: "chart" }), act("predict"), act("stretch"), act("else"),
      ];
      others = { previous: null, drawings: [], layers: [], isLed: true };
      const bare = [act("previous"), act("layer_on"), act("drawing"), ...arrows(), stepper.drawings.root.hidden,
        find(".layer").hidden, stepper.strip.root.hidden, stepper.section.dataset.theme];
      offer();
      chosen.length = 0;
      const radios = [...stepper.steps.root.children];
      radios[1].click();
      radios[2].click();
      find("select").value = "4";
      find("select").dispatchEvent(new Event("change"));
      offer({}, { ...first, step: "c" });
      const marks = radios.map((one) => [one.ariaChecked, one.tabIndex]);
      const key = (name, from) => {
        offer({}, { ...first, drawing: from });
        chosen.length = 0;
        stepper.drawings.key(new KeyboardEvent("keydown", { key: name, cancelable: true }));
        return chosen[0]?.drawing ?? null;
      };
      const clicks = chosen.slice();
      const keys = [key("ArrowRight", "stage"), key("ArrowDown", "chart"), key("ArrowLeft", "stage"), key("x",
        "stage")];
      offer({ isLed: true, layers: [0] });
      return { acts, bare, clicks, marks, keys, led: find(".layer").hidden };
    """
    found = run("walk/stepper.ts", STEPPER + body)
    assert found["acts"] == [
        [True, {"step": "c", "layer": 1}], [True, {"step": "a"}], [True, {"head": 8}], [True, {"head": 3}], [True],
        [True],
        [True, {"layer": 4}], [True, {"layer": 0}], [True], [True, {"drawing": "chart"}], [True, {"drawing": "stage"}],
        [True, {"predict": True}], [True], [False],
    ]  # fmt: skip
    assert found["bare"] == [[True], [True], [True], True, False, True, True, True, "dark"]
    assert found["clicks"] == [{"step": "c"}, {"layer": 4}]
    assert found["marks"] == [["false", -1], ["false", -1], ["true", 0]]
    assert found["keys"] == ["chart", "stage", "chart", None]
    assert found["led"]


@pytest.mark.parametrize(
    ("row", "rows", "height", "covered"),
    [
        (0, 4, 4, [0, 1]),
        (3, 4, 4, [3, 4]),
        (1, 100, 10, [0, 1]),
        (10, 100, 10, [1, 2]),
        (9, 100, 10, [0, 1]),
        (1, 3, 4, [1, 3]),
    ],
)
def test_a_thumbnail_covers_all_that_holds_anything_of_a_row(
    run: Run, row: int, rows: int, height: int, covered: list[int]
) -> None:
    given = [{"row": row, "rows": rows}, height]
    assert run("walk/head_strip.ts", "return m.coveredRows(...given)", given) == covered


def test_heads_that_share_keys_stand_over_a_bracket_and_name_all_of_them(run: Run) -> None:
    body = """
      const strip = new m.HeadStrip(() => {});
      const weights = { data: new Uint8Array(6), shape: [6, 1, 1] };
      const look = (sharedBy) => {
        const given = { heads: [0, 1, 2, 3, 4, 5], sharedBy, layer: "layer 7", shade: "light", covered: null };
        strip.draw({ weights }, given);
        return [...strip.root.children].map((button) => [button.className, button.ariaLabel, button.title]);
      };
      return [undefined, 1, 2, 3].map(look);
    """
    missing, own, two, three = run("walk/head_strip.ts", body)
    assert missing == own
    assert {look for look, *_ in own} == {""}
    assert [look for look, *_ in two] == ["shares first", "shares last"] * 3
    assert [look for look, *_ in three] == ["shares first", "shares", "shares last"] * 2
    assert two[3][1] == "head 3, keys of heads 2 to 3"
    shared = "head 4, keys of heads 3 to 5"
    assert three[4][1:] == [shared, f"layer 7 · {shared}. {ROWS_AND_COLUMNS}"]


def test_a_head_s_picture_is_of_its_own_weights_hatched_where_hidden_and_covered_where_guessed(run: Run) -> None:
    body = """
      const strip = new m.HeadStrip((head) => chosen.push(head));
      const chosen = [];
      const weights = { data: Uint8Array.from([0, 255, 0, 255, 0, 255, 255, 0, 255, 0, 255, 0]), shape: [2, 2, 3] };
      const hidden = { data: Uint8Array.from([0, 1, 0, 0, 0, 0]), shape: [2, 3] };
      const look = (heads, own = {}, more = {}) => {
        strip.draw({ weights, ...more }, { heads, layer: "layer 7", shade: "light", covered: null, ...own });
        const canvases = [...strip.root.querySelectorAll("canvas")];
        return canvases.map((canvas) => [[1, 1], [26, 1], [1, 50], [26, 50]].map(([x, y]) =>
          [...canvas.getContext("2d").getImageData(x, y, 1, 1).data].slice(0, 3).join()));
      };
      const plain = look([0, 1]);
      const masked = look([0, 1], {}, { hidden });
      const covered = look([1], { covered: { row: 1, rows: 2 } });
      strip.select(1);
      const [button] = strip.root.children;
      button.click();
      strip.light(1);
      return { plain, masked, covered, chosen, said: strip.root.ariaLabel, title: button.title,
        pressed: button.ariaPressed, lit: button.className };
    """
    found = run("walk/head_strip.ts", body)
    paper, ink = "255,255,255", "94,60,153"
    assert found["plain"] == [[paper, ink, ink, paper], [ink, paper, paper, ink]]
    for head in (0, 1):
        assert found["masked"][head][0] == found["plain"][head][0]
        assert found["masked"][head][1] not in (paper, ink)  # hatched
    assert found["covered"][0][:2] == [ink, paper]
    assert found["covered"][0][2] == found["covered"][0][3]  # nothing of the row is seen
    assert found["chosen"] == [1]
    assert (found["said"], found["title"]) == (
        f"heads of layer 7. {ROWS_AND_COLUMNS}", f"layer 7 · head 1. {ROWS_AND_COLUMNS}"
    )  # fmt: skip
    assert (found["pressed"], found["lit"]) == ("true", "lit")


def test_a_head_s_picture_hatches_hidden_cells_by_why_they_are_hidden(run: Run) -> None:
    """Lines rise for the future, fall for a window and do both for padding, as in the large matrix."""
    body = """
      const strip = new m.HeadStrip(() => {});
      const weights = { data: new Uint8Array(4), shape: [1, 1, 4] };
      const hidden = { data: Uint8Array.from([0, 1, 2, 3]), shape: [1, 4] };
      strip.draw({ weights, hidden }, { heads: [0], layer: "layer 7", shade: given, covered: null });
      const [canvas] = strip.root.querySelectorAll("canvas");
      const { data } = canvas.getContext("2d").getImageData(0, 0, 52, 52);
      return [...data];
    """
    y, x = np.mgrid[:52, :52]
    rising, falling = (x + y) % 4 == 0, (x - y) % 4 == 0
    lines: dict[Reason, Any] = {"future": rising, "window": falling, "padding": rising | falling}
    for theme, colours in (("light", LIGHT), ("dark", DARK)):
        pixels = np.array(run("walk/head_strip.ts", body, theme)).reshape(52, 52, 4)
        assert (pixels[..., 3] == 255).all()
        for place, reason in enumerate(REASONS, 1):
            cell = np.s_[:, 13 * place : 13 * (place + 1)]
            ground, line = ([int(colour[at : at + 2], 16) for at in (1, 3, 5)] for colour in colours.hatch[reason])
            expected = np.where(lines[reason][cell][..., None], line, ground)
            np.testing.assert_array_equal(pixels[cell][..., :3], expected, err_msg=f"{theme}, {reason}")


def test_tokens_say_where_they_come_from(run: Run) -> None:
    body = """
      const list = new m.TokenList({ pin() {}, open() {} });
      const texts = (all) => [...all].map((one) => one.textContent);
      const axis = (own) => ({
        labels: ["[CLS]", "the", "x".repeat(20) + "y".repeat(10)], ids: [101, 7, -1], unknown: [false, false, true],
        places: ["", "0–3", "4–34"], segments: [0, 0, 1], covers: ["", "the", 'a"b'], ...own,
      });
      const one = axis();
      const look = (query, key) => {
        list.show(query, key);
        return {
          looks: [...list.root.querySelectorAll("tbody tr")].map(({ className, title }) => [className, title]),
          said: [...list.root.querySelectorAll("p")].slice(1).map((text) => text.textContent),
          rows: [...list.root.querySelectorAll("tbody tr")].map((row) => texts(row.children)),
          titles: [...list.root.querySelectorAll("h2")].map((title) => title.textContent),
          more: list.root.querySelector(".more")?.textContent ?? null,
        };
      };
      const single = look(one, one);
      const two = look(one, axis({ labels: ["z"] }));
      const labels = Array.from({ length: 1801 }, (_, n) => `t${n}`);
      const many = look(...[axis({ labels })].flatMap((all) => [all, all]));
      const just = look(...[axis({ labels: labels.slice(0, 600) })].flatMap((all) => [all, all]));
      return { single, two, many: [many.more, many.rows.length], just: just.more };
    """
    found = run("walk/token_list.ts", body)
    long = "x" * 20 + "y" * 10
    assert found["single"]["looks"] == [["", ""], ["", ""], ["unknown", "unknown: not in the vocabulary"]]
    assert found["single"]["said"] == ["From token 2 on: the second text."]
    assert found["single"]["rows"] == [
        ["0", "[CLS]", "101", "added", "–"], ["1", "the", "7", '"the"', "0–3"], ["2", long, "no id", '"a\\"b"', "4–34"],
    ]  # fmt: skip
    assert found["single"]["titles"] == []
    assert found["two"]["titles"] == ["Queries, the rows", "Keys, the columns"]
    assert len(found["two"]["rows"]) == 4
    assert found["many"] == ["… and 1,201 more, not shown", 600]
    assert found["just"] is None


def test_words_stand_as_they_were_typed(run: Run) -> None:
    body = """
      const axis = (own) => ({ segments: own.labels.map(() => 0), ...own });
      const look = (one) => one.labels.map((_, n) => [m.wordOf(one, n), m.isJoined(one, n)]);
      const bert = axis({ labels: ["[CLS]", "zu", "##rich", "."], covers: ["", "Zü", "rich", "."],
        places: ["", "0 to 1", "2 to 5", "6"] });
      const gpt = axis({ labels: ["Hello", "Ġworld", "Ġ"], covers: ["Hello", " world", " "],
        places: ["0 to 4", "5 to 10", "11"] });
      const bytes = axis({ labels: ["ð", "Ł", "!"], covers: ["😀", "😀", "!"], places: ["0", "0", "1"] });
      const two = axis({ labels: ["a", "b"], covers: ["a", "b"], places: ["0", "1"], segments: [0, 1] });
      const seen = axis({ labels: ["␇", "x"], covers: ["\\u0007", "\\u0645\\u200c\\u06cc"], places: ["0", "2 to 4"] });
      const right = ["שלום hello", "hello שלום", "12"].map((text) => m.isRightToLeft({ text }));
      return { looks: [bert, gpt, bytes, two, seen].map(look), right };
    """
    found = run("walk/row_words.ts", body)
    assert found["looks"] == [
        [["[CLS]", False], ["Zü", False], ["rich", True], [".", True]],
        [["Hello", False], ["world", False], ["Ġ", False]],
        [["ð", False], ["Ł", True], ["!", True]],
        [["a", False], ["b", False]],
        [["␇", False], ["\u0645\u200c\u06cc", False]],
    ]
    assert found["right"] == [True, False, False]


def test_the_row_that_is_shown_first_is_of_a_word_that_looks_at_a_word(run: Run) -> None:
    body = """
      const axis = (labels) => {
        const places = labels.map((label) => (label.startsWith("[") ? "" : label));
        return { labels, places, covers: places, unknown: labels.map(() => false) };
      };
      const attention = (rows) => ({ queries: rows.length, keys: rows[0].length,
        row: (q) => ({ weights: Float64Array.from(rows[q]) }) });
      const rows = [[.1, .1, .8, 0], [.9, .1, 0, 0], [.1, .7, .1, .1], [0, .9, 0, .1]];
      const row = (labels) => m.tellingRow(attention(rows), axis(labels), axis(labels));
      const two = m.tellingRow(attention(rows), axis(["a", "b", "c", "d"]), axis(["e", "f", "g", "h"]));
      return [row(["[CLS]", "she", "ran", "."]), row(["[CLS]", "(", ")", "."]), row(["été", "Δ", "7", "."]), two,
        row(["[CLS]", "[SEP]", "[PAD]", "[MASK]"])];
    """
    # no word is "."; without words tokens count, and of two texts a row and a column with the same number
    assert run("walk/row_words.ts", body) == [2, 3, 1, 1, 0]


def test_the_tokens_of_a_long_text_come_a_part_a_frame(run: Run) -> None:
    """All rows at once would hold up the page, also when the reader comes back to them."""
    body = """
      const list = new m.TokenList({ pin() {}, open() {} });
      document.body.append(list.root, Object.assign(document.createElement("style"), { textContent:
        "[hidden] { display: none }" }));
      const axis = (count) => {
        const all = (of) => Array.from({ length: count }, (_, n) => of(n));
        return { labels: all((n) => `t${n}`), ids: all(Number), unknown: all(() => false), places: all(String),
          segments: all(() => 0), covers: all(String) };
      };
      list.root.querySelector("details").open = true;
      const seen = () => [...list.root.querySelectorAll("tbody tr")].filter((row) => row.checkVisibility()).length;
      const look = async (one) => {
        list.show(one, one);
        const counts = [seen()];
        for (let n = 0; n < 40 && counts.at(-1) < one.labels.length; n += 1) {
          await new Promise((done) => requestAnimationFrame(() => setTimeout(done)));
          counts.push(seen());
        }
        return counts;
      };
      const [short, long] = [axis(200), axis(500)];
      const found = [await look(short), await look(long)];
      list.root.hidden = true;
      return [...found, await look(long)];
    """
    short, long, again = run("walk/token_list.ts", body)
    assert short == [200]
    for counts in (long, again):
        assert (counts[0], counts[-1]) == (200, 500)
        assert max(after - before for before, after in pairwise(counts)) <= 200


KEYS: dict[str, Any] = {
    "ArrowRight": "next", "ArrowLeft": "previous", "PageDown": "next", "PageUp": "previous", "h": "head_on",
    "H": "head_back", "y": "layer_on", "Y": "layer_back", "f": "pin", "p": "predict", "s": "stretch", "r": "reveal_row",
    "a": "reveal_all", "c": "listing", "d": "drawing", "k": "play", ".": "cell_on", ",": "cell_back", "Escape": "unpin",
    "x": None, "Enter": None,
}  # fmt: skip


def test_keys_ask_for_what_the_page_says(run: Run) -> None:
    body = """
      return given.map((key) => m.actOf(new KeyboardEvent("keydown", { key,
        shiftKey: /[A-Z]/.test(key) && key.length === 1 })) ?? null);
    """
    assert run("walk/keys.ts", body, list(KEYS)) == list(KEYS.values())


def test_the_largest_text_of_a_fact_is_not_rounded(run: Run) -> None:
    """A row's share of a percent is told from 0 and from 1 %, at the boundaries too."""
    given = {"pins": [["weights", 0, None]], "header": {}}
    body = "all.weights = [[given.share, 0, 0]];\n  return given.pins"
    for share, said in (
        (0.02, "2 %"),
        (0.0101, "1 %"),
        (0.0099, "0.99 %"),
        (0.00011, "0.011 %"),
        (0.00009, "less than 0.01 %"),
        (0.0, "0 %"),
    ):
        text = run("walk/pinned_fact.ts", FACT.replace("return given.pins", body), {**given, "share": share})[0][0]
        assert f"puts {said} on" in text, np.float32(share)
    nearly = "all.feed_forward_hidden = [[...Array(399).fill(1), 0]];\n  return given.pins"
    found = run(
        "walk/pinned_fact.ts",
        FACT.replace("return given.pins", nearly),
        {"pins": [["feed_forward_hidden", 0, 0]], "header": {}},
    )
    assert found[0][0].startswith("Here 99.75 % of the cells of row 0,")


MOVING = """
  const { standing } = await import("/frontend/walk/sentence.ts");
  document.body.innerHTML = `<style>.moving-words { position: absolute; inset: 0 }
      .moving-words span { position: absolute; top: 0; left: 0; transform-origin: 0 0 }
      .moving-words .moving-word { transform-origin: 100% 50% }</style>
    <div id="words" style="position: absolute; left: 50px; top: 20px; font: 20px monospace">
    <p class="line both" style="margin: 0">
      <span class="word" data-token="0" style="--share: 0.25"><bdi>he</bdi></span>
      <span class="word" data-token="1" style="--share: 0.75"><bdi>ran</bdi></span></p></div>
    <div id="picture" style="position: relative; margin: 200px 0 0 30px; width: 400px; height: 300px">
      <div id="board" style="width: 400px; height: 300px"></div></div>`;
  const [words, board] = ["words", "board"].map((id) => document.getElementById(id));
  const place = (name, rows, cols, shape, x) =>
    ({ panel: { name, rows, cols, shape }, x, y: 40, width: 100, height: 60 });
  const places = [place("masked", "query", "key", [2, 2], 20), place("weights", "query", "key", [2, 2], 200)];
  const shown = {
    element: board, shown: {}, labels: { query: ["he", "ran"], key: ["he", "ran"] }, type: { label: 10 },
    layOut: () => places };
  const ends = (animation) => {
    animation.currentTime = 299.999;
    const { x, y, right, width, height } = animation.effect.target.getBoundingClientRect();
    return [x, y + height / 2, right, width, height].map(Math.round);
  };
"""


def test_words_move_to_the_labels_of_their_rows_and_shares_to_the_cells_of_the_weights(run: Run) -> None:
    body = """
      const found = standing(words);
      m.moveTo(shown, found, 1);
      const layer = document.querySelector(".moving-words");
      const moves = layer.getAnimations({ subtree: true });
      for (const one of moves) one.pause();
      const seen = moves.map((one) => [one.effect.target.textContent, ...ends(one)]);
      for (const one of moves) one.finish();
      await new Promise((done) => setTimeout(done, 50));
      const left = document.querySelectorAll(".moving-words").length;
      words.style.display = "none";
      return { words: found.map(({ row, column, text, share }) => [row, column, text, share]), seen, left,
        hidden: standing(words).length, board: board.getBoundingClientRect() };
    """
    found = run("walk/words_to_matrix.ts", MOVING + body)
    assert found["words"] == [[0, 0, "he", 0.25], [1, 1, "ran", 0.75]]
    left, top = found["board"]["x"], found["board"]["y"]
    # The labels end 6 px before the first matrix, in the middle of rows 0 and 1; the cells are those of row 1.
    (he, at_he), (ran, at_ran) = (found["seen"][n : n + 2] for n in (0, 2))
    for label, text, row in ((he, "he", 0), (ran, "ran", 1)):
        assert label[0] == text
        assert label[3] == pytest.approx(left + 20 - 6, abs=1)
        assert label[2] == pytest.approx(top + 40 + 30 * (row + 0.5), abs=1)
    for cell, column in ((at_he, 0), (at_ran, 1)):
        assert cell[1] == pytest.approx(left + 200 + 50 * column, abs=1)
        assert cell[2:] == [pytest.approx(top + 40 + 45, abs=1), pytest.approx(cell[1] + 50, abs=1), 50, 30]
    assert (found["left"], found["hidden"]) == (0, 0)


def test_nothing_moves_under_reduced_motion(run: Run, still_page: Page, served: str) -> None:
    found = imported(still_page, served, "walk/words_to_matrix.ts", MOVING + "return standing(words).length;")
    assert found == 0


def test_the_shares_of_a_row_are_written_out_as_torchs_softmax(run: Run) -> None:
    scores = torch.tensor([3.0, -1, 0.5, 2, 1, 0, -2, 4, -0.5], dtype=torch.float64)
    scaled = scores / 2
    bias = torch.tensor([0.0, 0, 1, 0, 0, 0, 0, 0, 0], dtype=torch.float64)
    hidden = -torch.inf
    rows = {
        "plain": (scaled, scaled, 0),
        "biased": (scaled, (scaled + bias).masked_fill(scores == 4, hidden), 0),
        "large": (80 * scaled, (80 * scaled).masked_fill(scores < 0, hidden), 160),
        "seven": (scaled, scaled.masked_fill(scores < -0.5, hidden), 0),
    }
    given = {
        name: {
            "scores": (2 * before).tolist(), "scaled": before.tolist(), "capped": before.tolist(), "shift": shift,
            "masked": [x if x > hidden else None for x in masked.tolist()],
            "exponentials": (masked - shift).exp().tolist(), "weights": masked.softmax(0).tolist(),
            "sum": float((masked - shift).exp().sum()),
        }
        for name, (before, masked, shift) in rows.items()
    }  # fmt: skip
    body = """
      const { write } = await import("/frontend/core/template.ts");
      const labels = [..."abcdefghi"];
      const header = { scale: 0.5, scale_label: "1/√4", key: { labels, covers: labels, places: labels } };
      const written = ({ shift, sum, ...all }) => {
        const arrays = Object.fromEntries(Object.entries(all).map(([name, row]) => [name, Float64Array.from(row, (x) =>
          x ?? -Infinity)]));
        const room = document.createElement("div");
        let opened = 0;
        const row = { ...arrays, biased: arrays.capped, shift, sum, sink: null };
        write(room, m.writtenOut({ document: { header } }, row, () => (opened += 1)));
        room.querySelector("button").click();
        const rows = [...room.querySelectorAll("tr")];
        const lines = rows.map((line) => [...line.children].map((cell) => cell.textContent));
        return { lines, said: room.querySelector("p").textContent, opened };
      };
      return Object.fromEntries(Object.entries(given).map(([name, row]) => [name, written(row)]));
    """
    found = run("walk/row_words.ts", body, given)
    for name, (before, masked, shift) in rows.items():
        head, *lines = found[name]["lines"]
        exponentials, weights = (masked - shift).exp(), masked.softmax(0)
        keys = [int(k) for k in masked.argsort(descending=True, stable=True) if weights[k] > 0]
        has_bias = name == "biased"  # of a key that is looked at; elsewhere what is hidden differs alone
        numbers = [[2 * before, before, *([masked] if has_bias else [])], [exponentials]]
        digits = [[f"{number(float(of[k]), 2)}" for of in numbers[0]] for k in keys]
        assert [line[:-2] for line in lines[: len(keys[:6])]] == [["abcdefghi"[k], *own] for k, own in
                                                                zip(keys[:6], digits, strict=False)]  # fmt: skip
        assert [line[-1] for line in lines[: len(keys[:6])]] == [weight(float(weights[k])) for k in keys[:6]]
        assert (head[3:-2] == ["masked"]) == has_bias
        others = keys[6:]
        end = [["sum", f"{exponentials.sum():.4f}", "1.0000"]]
        if others:
            what = "1 other" if len(others) == 1 else f"{len(others)} others"
            end.insert(0, [what, f"{exponentials[others].sum():.4f}", f"{weights[others].sum():.4f}"])
        assert lines[len(keys[:6]) :] == end
        first = f"{exponentials[keys[0]]:.4f} / {exponentials.sum():.4f} = {weights[keys[0]]:.4f}. "
        hidden = {0: "", 1: "1 token gets nothing. "}.get(9 - len(keys), f"{9 - len(keys)} tokens get nothing. ")
        assert found[name]["said"] == f"{first}{hidden}The whole matrix"
        assert found[name]["opened"] == 1
    heads = [found[name]["lines"][0] for name in ("plain", "biased", "large")]
    assert heads[0] == ["looks at", "score q · k", "scaled, × 1/√4", "exp(scaled)", "share"]
    assert [head[-2] for head in heads] == ["exp(scaled)", "exp(masked)", "exp(scaled − 160.00)"]


def test_a_row_that_gives_all_to_the_sink_is_said_without_a_quotient(run: Run) -> None:
    """Its keys are hidden by a finite number, so no weight is above 0."""
    body = """
      const { write } = await import("/frontend/core/template.ts");
      const { softmax } = await import("/frontend/core/attention.ts");
      const labels = ["a", "b"];
      const axis = { labels, covers: labels, places: labels, segments: [0, 0] };
      const document_ = { header: { scale: 1, scale_label: "off", query: axis, key: axis } };
      const cells = Float64Array.from([-1e10, -1e10]);
      const row = { ...softmax(cells, 0), scores: cells, scaled: cells, capped: cells, biased: cells, masked: cells };
      const room = document.createElement("div");
      write(room, m.writtenOut({ document: document_ }, row, () => {}));
      const said = [room.querySelector("p").textContent];
      write(room, ...m.findingOf({ document: document_ }, 0, row));
      return [...said, room.textContent];
    """
    assert run("walk/row_words.ts", body) == [
        "The sink takes all. 2 tokens get nothing. The whole matrix",
        "“a” gives nothing to any token: the sink takes all of its attention.",
    ]


GUESSES = """
  const { write } = await import("/frontend/core/template.ts");
  const lines = (header, row, hidden) => {
    const room = document.createElement("div");
    write(room, m.guessesOf(header, row, { hidden }));
    return [...room.querySelectorAll(".guesses")].map((line) =>
      line.children.length ? [...line.children].map((part) => part.textContent) : line.textContent);
  };
"""
AXIS = """
  const axis = (labels) =>
    ({ labels, covers: labels, places: labels.map(String), segments: labels.map(() => 0), text: labels.join("") });
"""


def test_the_guesses_are_listed_with_their_shares_and_the_true_token_is_marked(run: Run) -> None:
    body = """
      const masked = { attention: "encoder", query: axis(["she", "[MASK]", "a", "[MASK]"]),
        guesses: [{ row: 1, labels: ["took", "rode", "Rode"], shares: [0.41, 0.12, 0.01] },
          { row: 3, labels: ["bus", "rode"], shares: [0.4, 0.3] }] };
      const one = { ...masked, guesses: masked.guesses.slice(0, 1) };
      const next = { attention: "decoder", query: axis(["R", "␣O"]),
        guesses: [0, 1].map((row) => ({ row, labels: ["O", "A"], shares: [0.9, 0.1] })) };
      const hidden = { row: 1, word: "Rode", label: "rode" };
      const late = { attention: "decoder", query: axis(["a", "b", "a", "B"]),
        guesses: [2, 3].map((row) => ({ row, labels: ["b", "B"], shares: [0.9, 0.1] })) };
      return [lines(one, 0, hidden), lines(masked, 3), lines(masked, 0, hidden), lines(next, 0), lines(next, 1),
        lines({ ...one, guesses: [] }, 0), lines(late, 1), lines(late, 2)];
    """
    one, second, both, next_, last, none, early, exact = run("walk/guesses.ts", GUESSES + AXIS + body)
    assert one == [["The model’s guesses for [MASK]:", "took 41 %", "rode 12 % ✓", "Rode 1 %"]]
    assert second == [["The model’s guesses for [MASK] (position 3):", "bus 40 %", "rode 30 %"]]
    assert [any("✓" in part for part in line) for line in both] == [True, False]
    assert [line[0] for line in both] == [f"The model’s guesses for [MASK] (position {row}):" for row in (1, 3)]
    assert next_ == [["The model’s guesses after “R”:", "O 90 % ✓", "A 10 %"]]
    assert last == [["The model’s guesses after “␣O”:", "O 90 %", "A 10 %"]]
    assert none == []
    assert early == ["The model’s guesses are computed for the last 2 tokens of a long text."]
    assert exact == [["The model’s guesses after “a”:", "b 90 %", "B 10 % ✓"]]


WRITING = """
  const { write } = await import("/frontend/core/template.ts");
  const answers = { status: 200 };
  const [written, drawn] = [[], []];
  const home = {
    source: { request: async () => new Response(Uint8Array.from(given), answers), offerAgain: async () => {} },
    writes: { digest: "abc", full: "" },
    written: (text, count) => written.push([text, count]),
  };
  const room = document.createElement("div");
  const writing = new m.Writing(() => {
    write(room, ...writing.words(), writing.count ? writing.line("z") : null, writing.button());
    drawn.push(room.textContent);
  });
  const until = async (isSo) => { while (!isSo()) await new Promise((done) => setTimeout(done, 5)); };
"""


def draws(count: int = 3, end: str = "") -> list[int]:
    """Return a file with up to three draws: a, a line break, " c"; and why they are all."""
    tokens: list[tuple[str, str, float, list[str], list[float]]] = [
        ("a", "a", 0.7, ["a", "⏎", "c"], [0.7, 0.2, 0.1]),
        ("\n", "⏎", 0.1, ["c", "⏎"], [0.9, 0.1]),
        (" c", "c", 1, ["c"], [1]),
    ]
    names = ("text", "label", "share", "labels", "shares")
    written = [dict(zip(names, token, strict=True)) for token in tokens[:count]]
    return list(json.dumps({"tokens": written, "end": end}).encode())


def test_characters_are_written_one_after_another_with_their_guesses(run: Run) -> None:
    body = """
      writing.show(home, "xyz");
      writing.begin();
      await until(() => written.length);
      const [again] = [writing.count];
      writing.show(home, "xyza⏎c");
      const words = [...room.querySelectorAll(".written")];
      const looks = words.map(({ title, classList }) => [title, classList.contains("joined")]);
      return { drawn, written, again, left: writing.count, looks };
    """
    found = run("walk/writing.ts", WRITING + body, draws())
    assert found["drawn"] == [
        "Stop",
        "aThe model’s guesses after “z”:a 70 % ✓⏎ 20 %c 10 %Stop",
        "a⏎The model’s guesses after “a”:c 90 %⏎ 10 % ✓Stop",
        "a⏎cThe model’s guesses after “⏎”:c 100 % ✓Write on",
    ]
    assert found["written"] == [["a\n c", 3]]
    assert (found["again"], found["left"]) == (3, 0)
    assert found["looks"] == [["70 %", True], ["10 %", True], ["100 %", False]]


def test_what_is_written_is_kept_when_it_is_stopped_and_dropped_with_another_text(run: Run) -> None:
    body = """
      writing.show(home, "xyz");
      writing.begin();
      await until(() => writing.count === 1);
      writing.end();
      writing.show(home, "other");
      writing.begin();
      await until(() => writing.count === 1);
      writing.show(home, "a third");
      await new Promise((done) => setTimeout(done, 300));
      const begun = writing.begin();
      writing.end();
      await begun;
      return { written, count: writing.count, isOn: writing.isOn };
    """
    found = run("walk/writing.ts", WRITING + body, draws())
    assert found == {"written": [["a", 1]], "count": 0, "isOn": False}


def test_where_the_text_fills_what_the_model_reads_that_is_said_in_place_of_the_button(run: Run) -> None:
    body = """
      writing.show({ ...home, writes: { digest: null, full: "It is full." } }, "xyz");
      await writing.begin();
      return [writing.isOn, written, (write(room, writing.button()), room.innerHTML)];
    """
    assert run("walk/writing.ts", WRITING + body, draws()) == [False, [], '<p class="writing">It is full.</p>']


def test_where_the_model_ends_the_text_that_is_said_in_place_of_the_button(run: Run) -> None:
    body = """
      writing.show(home, "xyz");
      await writing.begin();
      const ended = drawn.at(-1);
      writing.show(home, "other");
      return [writing.isOn, written, ended, (write(room, writing.button()), room.textContent)];
    """
    said = "The text ends here."
    assert run("walk/writing.ts", WRITING + body, draws(0, said)) == [False, [], said, "Write on"]


def test_that_the_model_ends_the_text_is_said_with_the_last_token(run: Run) -> None:
    """And of the text with what was written, until another one comes; not where the writing was stopped before."""
    body = """
      const says = (...of) => { writing.show(home, ...of); write(room, writing.button()); return room.textContent; };
      says("xyz", "gpt");
      writing.begin();
      await until(() => written.length);
      const found = [drawn.slice(-2).map((text) => text.includes("ends here"))];
      writing.reset(); // as the sentence does while the new text is read
      found.push(says("xyza\\n c", "gpt"), says("xyza\\n c", "bert"), says("xyz", "gpt"), says("xyza\\n c", "gpt"));
      says("xyz", "gpt");
      writing.begin();
      await until(() => writing.count === 1);
      writing.end();
      return [...found, says("xyz", "gpt"), says("xyza", "gpt"), written];
    """
    said = "The text ends here."
    found = run("walk/writing.ts", WRITING + body, draws(3, said))
    assert found == [
        [False, True], said, "Write on", "Write on", said, "Write on", "Write on", [["a\n c", 3], ["a", 1]],
    ]  # fmt: skip


def test_what_is_written_and_that_the_text_ends_go_with_another_model_and_stay_with_the_same(run: Run) -> None:
    body = """
      const offered = (digest) => [{ ...home, writes: { digest, full: "" } }, "xyz", `of ${digest}`];
      const shown = () => (write(room, ...writing.words(), writing.button()), room.textContent);
      writing.show(...offered("abc"));
      const begun = writing.begin();
      writing.show(...offered("abc"));
      await begun;
      await until(() => !writing.isOn);
      writing.show(...offered("abc"));
      const same = shown();
      writing.show(...offered("another model"));
      return [same, shown()];
    """
    said = "The text ends here."
    assert run("walk/writing.ts", WRITING + body, draws(0, said)) == [said, "Write on"]
    assert run("walk/writing.ts", WRITING + body, draws(2)) == ["a⏎Write on", "Write on"]


def test_where_the_draws_do_not_come_it_is_said(run: Run) -> None:
    body = """
      writing.show(home, "xyz");
      answers.status = 503;
      await writing.begin();
      const failed = drawn.at(-1);
      answers.status = 200;
      writing.begin();
      await until(() => written.length);
      return [failed, drawn.at(-1).includes("Nothing")];
    """
    found = run("walk/writing.ts", WRITING + body, draws())
    assert found == ["Write on Nothing is written: the server answers with status 503.", False]


def test_under_reduced_motion_nothing_is_written_one_after_another(still_page: Page, served: str) -> None:
    body = """
      writing.show(home, "xyz");
      await writing.begin();
      return [drawn.length, written];
    """
    assert imported(still_page, served, "walk/writing.ts", WRITING + body, draws()) == [2, [["a\n c", 3]]]


def test_an_exported_sentence_has_its_words_and_arcs_where_they_stand(run: Run) -> None:
    body = """
      const { Pen } = await import("/frontend/pen/pen.ts");
      const sentence = new m.Sentence({ pin() {}, open() {}, dim() {}, hide() {} });
      document.body.append(sentence.words);
      const word = (own, text, label) => `<div class="word ${own}"><span>${text}</span><small ${label}</small></div>`;
      sentence.words.innerHTML = `<style>.word { position: absolute; top: 10px; width: 60px; height: 40px }
        .word > * { position: absolute; left: 0; width: 60px; height: 20px; font: 600 16px/20px serif }
        .word > small { top: 20px; font-weight: 400; font-size: 12px }
        .words { position: absolute; left: 50px; top: 70px }</style>`
        + word('row" style="left: 5px; --share: 0.5; opacity: 0.5', "it", ">50 %")
        + word('" style="left: 80px; --share: 0.25', "bicycle", 'style="visibility: hidden">25 %')
        + word('" style="left: 160px; --share: 0', "<b></b>", 'style="font-weight: 700">1 %');
      sentence.paths = () => [{ path: "M35 10C40 -2.5 100 -2.5 110 10", weight: 0.25 }];
      const pen = new Pen();
      sentence.paint(pen, "light");
      return { marks: pen.marks, end: pen.globalAlpha };
    """
    found = run("walk/sentence.ts", body)
    boxes = [(one["path"], one["alpha"]) for one in found["marks"] if one["kind"] == "shape" and one["fill"]]
    assert boxes == [([["R", x, 10, 60, 20]], pytest.approx(0.075)) for x in (5, 80)]  # 0.3 of its share and opacity
    texts = {one["text"]: one for one in found["marks"] if one["kind"] == "text"}
    looks = {text: [one["matrix"][4], one["size"], one["bold"], one["alpha"]] for text, one in texts.items()}
    assert looks == {"it": [35, 16, True, 0.5], "50 %": [35, 12, False, 0.5], "bicycle": [110, 16, True, 1],
                     "1 %": [190, 12, True, 1]}  # fmt: skip
    inks = [texts[text]["fill"].upper() for text in ("it", "bicycle", "50 %", "1 %")]
    assert inks == [LIGHT.ink.query, inks[1], LIGHT.ink.attention, LIGHT.ink.attention]
    assert inks[1] not in (LIGHT.ink.query, LIGHT.ink.attention)
    (arc,) = [one for one in found["marks"] if one.get("stroke")]
    assert arc["path"] == [["M", 35, 10], ["C", 40, -2.5, 100, -2.5, 110, 10]]
    assert found["end"] == 1


def test_a_walk_that_goes_ends_all_its_parts_and_a_lecture_has_no_thumbnails(run: Run) -> None:
    body = """
      const walk = new m.Walk(document.body, { request: () => new Promise(() => {}), layers: [2], send: () => true });
      const offered = [];
      walk.stepper.offer = (offer, values, pictures) => offered.push(Object.keys(pictures));
      walk.store.document = doc({}, { thumbnails: { data: new Uint8Array(48), shape: [3, 4, 4] } });
      for (const lecture of [true, false]) walk.setLecture(lecture);
      walk.store.document = null;
      walk.loading.script = await import("/frontend/walk/matrix_view.ts");
      walk.load();
      const [parts, ended] = [[], []];
      for (const whole of [walk, walk.view]) {
        for (const name of Object.keys(whole).filter((one) => typeof whole[one]?.destroy === "function")) {
          if (whole[name] === walk) continue;
          const { destroy } = whole[name];
          parts.push(name);
          whole[name].destroy = function () { ended.push(name); destroy.call(this); };
        }
      }
      const { signal } = walk.ends;
      walk.destroy();
      return { offered, parts: parts.sort(), ended: ended.sort(), aborted: signal.aborted,
        left: walk.element.isConnected };
    """
    found = run("walk/walk.ts", DOCUMENT + body)
    assert found["offered"] == [[], ["weights"]]
    assert {"drawing", "inspector", "loading", "playing", "stepper", "view"} <= set(found["parts"])
    assert found["ended"] == found["parts"], "each once"
    assert (found["aborted"], found["left"]) == (True, False)


CAPTION = """
  const axis = { labels: [..."abcd"], covers: [..."abcd"], places: [..."0123"], segments: [0, 0, 0, 0] };
  const header = { query: axis, key: { ...axis }, mask: "causal", heads_in_layer: 12 };
  const said = (name, cell, pair = { q: 3, k: 1 }, own = {}) => {
    const matrices = { head: 2, document: { header: { ...header, ...own } }, attention: { cell: () => cell },
      held: () => ({ shape: [4, 8] }) };
    return m.captionOf(matrices, { name }, pair).map(([text]) => text).join("");
  };
"""


def test_a_caption_says_what_a_mask_does_and_how_many_rows_are_averaged(run: Run) -> None:
    body = """
      const cell = { bias: 0, masked: 1.5, weight: 0.25, exponential: 4.48, shift: 0, sum: 17.93, allHidden: false };
      return [
        said("loop", cell), said("loop", cell, { q: 0, k: 0 }), said("masked", cell),
        said("masked", cell, undefined, { mask: "none" }), said("masked", { ...cell, bias: -2, masked: -0.5 }),
        said("masked", { ...cell, bias: -Infinity, masked: -Infinity }), said("weights", cell),
        said("weights", { ...cell, shift: 90, masked: 88.5 }), said("weights", { allHidden: true }),
        said("weights", { ...cell, sink: { exponential: 1, share: 0.056 } }),
        said("tokens", cell), said("tokens", cell, { q: 2, k: 2 }, { key: axis }), said("tokens", { allHidden: true }),
        said("concat", cell),
      ];
    """
    assert run("walk/captions.ts", CAPTION + body) == [
        "Row 3, “d”, becomes the mean of rows 0 to 3, each times 0.25.",
        "Row 0, “a”, becomes the mean of row 0 alone, times 1.00.",
        "The mask lets it be: “d” may look at “b”, so 1.50 stays.",
        "No mask: “d” may look at “b”, so 1.50 stays.",
        "The mask adds −2.00: −0.50.",
        "“d” may not look at “b”: the mask makes it −∞.",
        "exp(1.50) = 4.48, divided by the row’s sum 17.93: “d” gives “b” 25 %.",
        "exp(88.50 − 90.00) = 4.48, divided by the row’s sum 17.93: “d” gives “b” 25 %.",
        "“d” sees no token: its exponentials sum to 0.",
        "exp(1.50) = 4.48, divided by the row’s sum 17.93, with 1.00 of the sink: “d” gives “b” 25 %.",
        "“d” gives 25 % of its attention to “b”. The next steps compute this share.",
        "“c” gives 25 % of its attention to itself. The next steps compute this share.",
        "“d” sees no token at all, so it has no attention to give.",
        "All 12 heads side by side: head 2 fills columns 16 to 23 of “d”’s row.",
    ]


def test_after_the_last_step_come_the_steps_of_its_own_layer_and_the_answer_where_they_are_known(run: Run) -> None:
    body = """
      const follows = { page: "/transformer?text=a&model=b", answer: given.answer, layers: [0, 2], blocks: [0, 1],
        steps: [[["attention_residual", "Add"], ["block_output", "Norm"]], []], next: [["layer 2", 1], null],
        why: ["", "Not known here."] };
      const nowhere = { ...follows, answer: null, steps: [], next: [] };
      const shown = (layer, home) => {
        const end = new m.End(document.createElement("div"), home, async () => ({}));
        end.show({ attention: "decoder", guesses: [], query: axis(["x", "y"]), layer }, 1, true);
        const links = [...end.root.querySelectorAll("a")];
        const said = [...end.root.querySelectorAll("nav, p.row-states, summary")].map((one) => one.textContent);
        return [said, links.map((a) => a.getAttribute("href"))];
      };
      return [
        shown(0, { follows }), shown(2, { follows }), shown(0, { follows: null }),
        shown(0, { follows: nowhere }), shown(2, { follows: nowhere }),
      ];
    """
    base = "/transformer?text=a&model=b&q=1&part="
    for answer in (None, 1):
        first, unknown, none, *nowhere = run("walk/end.ts", AXIS + body, {"answer": answer})
        way = [] if answer is None else [f"{base}probabilities&block=1"]
        parts = ("attention_residual&block=0", "block_output&block=0", "embeddings&block=1")
        states = "Row 1 “y” through the layers"
        assert first == [["Then: Add → Norm → layer 2", states], [base + part for part in parts] + way]
        assert unknown == [["Not known here.", states], way]
        assert none == [[], []]
        assert nowhere == [[[], []], [["Not known here."], []]]


def test_a_formula_that_is_too_wide_is_made_smaller_in_the_next_frame_whatever_its_height(run: Run) -> None:
    body = """
      const { Formula } = m;
      const formula = new Formula();
      Object.assign(formula.root.style, { width: "200px", height: "60px", overflow: "hidden", whiteSpace: "nowrap" });
      document.body.append(formula.root);
      const frame = () => new Promise((done) => requestAnimationFrame(() => setTimeout(done)));
      const shown = async (width) => {
        formula.show(`<math><mspace width="${width}"></mspace></math>`);
        await frame();
        return formula.root.firstElementChild.style.fontSize;
      };
      return [await shown("5em"), await shown("16em"), await shown("90em"), await shown("5em")];
    """
    small, wide, widest, small_again = run("walk/text.ts", body)
    assert small == small_again == ""
    assert 0.6 < float(wide.removesuffix("em")) < 1.0
    assert widest == "0.6em"


def test_the_chosen_step_stays_in_sight_when_it_changes_and_when_the_row_does(run: Run) -> None:
    body = (
        STEPPER
        + """
      stepper.section.style.visibility = "visible";
      const row = stepper.steps.root;
      Object.assign(row.style, { display: "flex", overflowX: "hidden", width: "250px" });
      const style = document.body.appendChild(document.createElement("style"));
      style.textContent =
        "[role=radio] { flex: none; width: 100px; } .large [role=radio] { width: 140px; height: 90px; }";
      const frame = () => new Promise((done) => requestAnimationFrame(() => setTimeout(done)));
      const isSeen = async () => {
        await frame();
        await frame();
        const [inside, around] = [find('[data-name="c"]'), row].map((one) => one.getBoundingClientRect());
        return inside.left >= around.left && inside.right <= around.right;
      };
      const seen = [await isSeen()];
      offer({}, { ...first, step: "c" });
      seen.push(await isSeen());
      document.body.className = "large";
      seen.push(await isSeen());
      document.body.className = "";
      row.style.width = "180px";
      seen.push(await isSeen());
      return seen;
    """
    )
    assert run("walk/stepper.ts", body) == [False, True, True, True]


def test_where_nothing_is_guessed_nothing_is_told_of_a_guess(run: Run) -> None:
    body = """
      const told = [];
      const stage = new m.Stage(document.body, { onGuess: (guess) => told.push(guess && guess.row) });
      const panel = { name: "weights", title: "weights", role: null, rows: "query", cols: "key",
        data: Float32Array.from([1, 3, 2, 4, 5, 6]), shape: [2, 3], low: 0, high: 6, scale: "weights" };
      const take = (own) => stage.take({ walk: {}, order: 1, step: "weights", layer: 0, head: 0, scale: 1, guess: 1,
        predict: false, result: "weights", labels: {}, panels: [panel], grid: [[0]], widths: [1], heights: [1],
        products: {}, alt: "", ...own });
      take({});
      take({});
      const before = [...told];
      take({ predict: true });
      take({});
      take({});
      return [before, told];
    """
    assert run("walk/stage.ts", body) == [[], [1, None]]
