"""The modules of Train's part "Text", one at a time: tables, sentences, choices, by written numbers and torch."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from tests.browser.modules import Run

GIVEN = """
  const calls = [];
  const noted = (name) => (...all) => calls.push([name, ...all]);
  const acts = Object.fromEntries(
    ["command", "slow", "go", "watch", "pin", "reveal", "choose", "open", "cut"].map((n) => [n, noted(n)]));
  const never = { request: () => new Promise(() => {}), offerAgain: async () => {} };
  const run = (own = {}) => ({
    id: "0", state: "new", title: "", is_control: false, digest: "d", message: "", can_continue: false, step: 0,
    steps: 2000, speed: null, left: null, snapshots: [0], kinds: [], cannot_open: "", ...own,
  });
  const stage = (name, own = {}, ran = {}) => ({
    name, title: name, adds: `${name} adds.`, reported: null, parameters: 1234, expected: [], block: 8, cut: "blocks",
    rate: 0.01, batch: 4, next: { block: 8, batch: 4, seed: 7 }, drawn: [], will_follow: false, changed: "",
    earlier: [], samples: [], ...own, run: run(ran),
  });
  const series = (steps, values) => ({ steps: Float32Array.from(steps), values: Float32Array.from(values) });
  const row = (one, held_out = [[], []], more = {}) =>
    ({ stage: one, curves: { loss: series([], []), held_out: series(...held_out), earlier: [], ...more } });
  const text = {
    is_built_in: true, size: 12345, train: 11110, labels: ["⏎", "␣", "a", "b", "c"],
    characters: ["\\n", " ", "a", "b", "c"], first: [2, 3, 1, 4], shown: [2, 3, 4], vowels: null, floor: 1.23456,
    blocks: [[2, 3, 4], [1, 0, 2]], cut: null, pairs: "p",
  };
  const values = {
    rung: "", text_view: "ladder", cut: "blocks", watch: "", snapshot: null, pin: { q: null, k: null }, predict: false,
    slow: 0, visitor: "",
  };
  const state = (rows, own = {}) => ({
    header: { text, stages: [], values, in_lesson: false, acknowledged: 0 }, rows, row: rows[0], step: 0,
    place: { kind: "", layer: 0, head: 0 }, values, moment: null, theme: "light", failed: "", ...own,
  });
  const root = document.body;
  const words = (all) => [...all].map((one) => one.textContent);
  const { write } = await import("/frontend/core/template.ts");
  const [find, all_of] = [(css) => root.querySelector(css), (css) => [...root.querySelectorAll(css)]];
"""


def test_a_row_says_how_a_model_stands_and_what_to_expect(run: Run) -> None:
    body = """
      const learned = [[0, 500, 1000], [3.5, 2.25, 1.75]];
      const expected = [[500, 2.2], [2000, 1.5]];
      const rows = [
        row(stage("new", { expected, reported: 2.5 })),
        row(
          stage("done", { expected, changed: "dropout 0.2" }, { id: "3", state: "done", step: 2000, speed: 9.96 }),
          learned,
        ),
        row(stage("running", { expected }, { id: "4", state: "running", step: 600, speed: 1234.5 }), learned),
        row(stage("waits", {}, { id: "5", state: "queued" })),
        row(stage("follows", { will_follow: true }, { id: "2", state: "done", step: 9, speed: 12.4 })),
        row(stage("recorded", { cut: "plain" }, { id: "1", state: "recorded", step: 2000, speed: 5 })),
        row(stage("stopped", {}, { id: "6", state: "stopped", step: 1, speed: 5 })),
        row(stage("unstarted", {}, { id: "6", state: "stopped", step: 0, speed: 5 })),
        row(stage("diverged", {}, { id: "6", state: "diverged", step: 1 })),
        row(stage("failed", {}, { id: "6", state: "failed", step: 1 })),
      ];
      const lines = () => all_of("tbody tr").map((one) => [...one.cells].slice(0, 7).map((cell) => cell.textContent));
      const at = (own) => {
        write(root, ...m.stages(state(rows, own), acts));
        return { lines: lines(), adds: find(".adds").textContent };
      };
      const newest = at({ row: rows[1], step: 5 });
      const marks = all_of("tbody tr").map(({ ariaSelected, dataset }) => [ariaSelected, dataset.state]);
      const titles = all_of(".train").map(({ title, disabled }) => [title, disabled]);
      const early = at({ row: rows[5], step: 600, values: { ...values, snapshot: 600 } });
      all_of("tbody tr")[2].querySelector(".train").click();
      all_of("tbody tr")[3].querySelector(".name").click();
      return { newest, early, marks, titles, calls };
    """
    found = run("model_series/stages.ts", GIVEN + body)
    newest, early = found["newest"], found["early"]
    assert newest["lines"] == [
        ["", "Counted bigram", "", "counted", "1.23", "", ""],
        ["▶", "new", "1,234", "–", "–", "1.50 at 2,000", "2.50"],
        ["↻", "done", "1,234", "10.0", "1.75", "1.50 at 2,000", "–"],
        ["●", "running", "1,234", "1,235", "1.75", "2.20 at 500", "–"],
        ["↻", "waits", "1,234", "next", "–", "–", "–"],
        ["↻", "follows", "1,234", "12", "–", "–", "–"],
        ["▶", "recorded", "1,234", "recorded", "–", "–", "–"],
        ["↻", "stopped", "1,234", "stopped", "–", "–", "–"],
        ["↻", "unstarted", "1,234", "–", "–", "–", "–"],
        ["↻", "diverged", "1,234", "diverged", "–", "–", "–"],
        ["↻", "failed", "1,234", "failed", "–", "–", "–"],
    ]
    here = "Here: 1,234 parameters, 2,000 steps of 4"
    assert (
        newest["adds"] == f"done. done adds. {here} blocks of 8 characters, learning rate 0.01. Changed: dropout 0.2."
    )
    assert early["adds"] == f"recorded. recorded adds. {here} sequences of at most 8 characters, learning rate 0.01."
    assert [line[4:6] for line in early["lines"][1:4]] == [
        ["–", "1.50 at 2,000"], ["2.25", "2.20 at 500"], ["2.25", "2.20 at 500"],
    ]  # fmt: skip
    assert found["marks"][2:6] == [["true", "done"], ["false", "running"], ["false", "queued"], ["false", "next"]]
    assert found["titles"][:3] == [["Train: new", False], ["Train again: done", False], ["Train again: running", True]]
    assert found["calls"] == [["command", "train:done"], ["choose", "running"]]


STATES: list[tuple[dict[str, Any], str, str, str, str | None]] = [
    ({}, "▶ Train all", "all", "Nothing is trained yet: press ▶ beside a model, or train all.", None),
    ({"id": "2", "state": "queued"}, "■ Stop", "stop", "second: Waiting for its turn.", None),
    ({"id": "2", "state": "running", "step": 3}, "■ Stop", "stop", "second: Step 3 of 2,000", None),
    (
        {"id": "2", "state": "stopped", "step": 3, "can_continue": True},
        "▶ Continue", "continue", "second: Step 3 of 2,000 · stopped", None,
    ),
    ({"id": "2", "state": "stopped", "step": 3}, "▶ Train all", "all", "second: Step 3 of 2,000 · stopped", None),
    ({"id": "2", "state": "failed", "message": "No memory."}, "▶ Train all", "all", "second: Step 0 of 2,000 · failed",
     "second: No memory."),
]  # fmt: skip
"""What is known of the training begun last: the main button and its command, the line and what is wrong"""


@pytest.mark.parametrize(("own", "button", "command", "said", "wrong"), STATES)
def test_the_newest_training_has_the_main_button_and_the_line(
    run: Run, own: dict[str, Any], button: str, command: str, said: str, wrong: str | None
) -> None:
    body = """
      const show = (given) => write(root, ...m.top(given, "loss", acts));
      const rows = ["first", "second"].map((name) => row(stage(name, {}, name === "second" ? given : {})));
      show(state(rows, { values: { ...values, slow: 120 } }));
      const pressed = words(all_of(".tabs button").filter((one) => one.ariaPressed === "true"));
      for (const one of [find(".main"), find(".one"), all_of(".tabs button")[1], find("input")]) one.click();
      const notice = find(".trouble");
      const is = [find(".main").textContent, find(".state").textContent, notice.hidden ? null : notice.textContent];
      const found = { is, step: find(".one").title, pressed, stops: find(".main").classList.contains("stop") };
      const second = row(stage("second", {}, { id: "2", state: "running" }));
      const wrong = [{ id: "1", state: "failed", message: "No room." }, { id: "1", state: "done" }].map((ran) => {
        show(state([row(stage("first", {}, ran)), second], { failed: "Gone." }));
        return notice.textContent;
      });
      return { ...found, wrong, calls, tabs: words(all_of(".tabs button")) };
    """
    found = run("model_series/top.ts", GIVEN + body, own)
    assert found["is"] == [button, said, wrong]
    assert found["wrong"] == ["first: No room.", "Gone."]
    assert found["step"] == "Make one step of training: first"
    assert found["tabs"] == ["The models", "Table of pairs", "One loss", "The text as data"]
    assert found["pressed"] == ["One loss"]
    live = command == "stop"
    assert found["stops"] == live
    step = [] if live else [["command", "step:first"]]  # while one goes on, no step is made
    assert found["calls"] == [["command", command], *step, ["open", "table"], ["slow", 0]]


def test_the_chart_draws_each_trained_model_above_the_floor_and_names_what_is_faint(run: Run) -> None:
    body = """
      const chart = new m.Chart(() => {});
      const trained = (name, steps, curve, own, more) => row(stage(name, own, { id: "1", steps }), curve, more);
      const earlier = [series([0, 50, 200, 300], [4, 3, 3, 2]), series([0, 1], [4, 2.5])];
      const rows = [
        row(stage("new")), trained("one", 80, [[0, 80], [4, 2.5]], {}),
        trained("two", 200, [[0, 200], [9, 1.756]], { earlier: ["width 4", "seed 1"] },
          { earlier, loss: series([0], [4]) }),
      ];
      const look = (own) => {
        chart.draw(state(rows, own));
        write(root, chart.section(own.row));
        const { lines, high, ceiling, alt, unit } = chart.curves.drawn;
        const faint = find(".faint").hidden ? null : find(".faint").textContent;
        return { lines: lines.map(({ name, look, isOther, label }) => [name, look, isOther, label ?? null]),
          cut: lines.filter(({ isOther }) => isOther).map(({ steps }) => [...steps]), high, ceiling, alt, faint,
          floor: [[...lines.at(-1).steps], [...lines.at(-1).values]], unit: unit(2.26) };
      };
      const found = [look({ row: rows[2] }), look({ row: rows[0] })];
      chart.draw(state([rows[0]], { row: rows[0] }));
      return [...found, chart.curves.drawn.high];
    """
    two, new, alone = run("model_series/chart.ts", GIVEN + body)
    floor = ["counted bigram: 1.235", "floor", False, "counted bigram 1.23"]
    assert two["lines"] == [
        ["two, training", "loss", False, None],
        ["two before: seed 1", "stage2 chosen", True, None],
        ["two before: width 4", "stage2 chosen", True, None],
        ["one", "stage1", False, "one"],
        ["two", "stage2 chosen", False, "two"],
        floor,
    ]
    assert two["cut"] == [[0, 1], [0, 50, 200]]  # what lies beyond the axis is left out
    assert (two["high"], alone) == (200, 100)
    assert two["ceiling"] == pytest.approx(1.5 * float(torch.tensor(5.0).log()))  # not the 9 of a loss that diverges
    assert two["alt"] == "Over 200 steps: one 2.50; two 1.76; counted bigram: 1.235"
    assert two["faint"] == "Faint: “two” trained before, width 4 (2.00 after 300 steps); seed 1 (2.50 after 1 step)"
    assert two["floor"] == [[0, 200], [pytest.approx(1.23456), pytest.approx(1.23456)]]
    assert (two["unit"], new["faint"]) == ("2.3", None)
    assert new["lines"] == [["one", "stage1", False, "one"], ["two", "stage2", False, "two"], floor]


CUTS = """
  const lines = {
    most: 6, least: 2, overlap: 1, count: 1000, short: 12, sequences: 2345, lengths: [2, 7], ends: 900, repeated: 1345,
    dropped: 34, validation: 99,
    shown: [{ start: 0, ids: [2, 3, 4], repeated: 0 }, { start: 1002, ids: [4, 0], repeated: 1 }],
  };
  const look = (cut, chosen, own = {}) => {
    const given = { header: { text: { ...text, cut } }, values: { ...values, cut: chosen } };
    write(root, m.cuts(state([row(stage("GPT", own))], given), acts.cut));
    const all = words(all_of(".cut p"));
    const sequences = all_of(".cut ol").map((list) => [
      list.title, [...list.children].map((one) => [...one.children].map((part) => part.textContent).join(" ")),
      list.querySelectorAll(".repeated").length,
    ]);
    return { all, sequences, pressed: words(all_of(".tabs button").filter((one) => one.ariaPressed === "true")) };
  };
"""


def test_each_cut_of_the_text_is_written_out(run: Run) -> None:
    body = """
      const drawn = [{ start: 4000, ids: [1, 2, 3], repeated: 0 }, { start: 7, ids: [4, 0, 1], repeated: 0 }];
      const blocks = look({ name: "blocks", lines: null }, "blocks", { drawn });
      const coming = look({ name: "blocks", lines: null }, "chunks");
      const chunks = look({ name: "chunks", lines }, "chunks");
      const plain = look({ name: "plain", lines }, "plain");
      const next = look({ name: "plain", lines: { ...lines, most: 9 } }, "plain");
      const none = look(null, "blocks");
      all_of(".tabs button")[2].click();
      return { blocks, coming, chunks, plain, next, none, calls };
    """
    found = run("model_series/cuts.ts", GIVEN + CUTS + body)
    blocks, chunks, plain = found["blocks"], found["chunks"], found["plain"]
    assert blocks["all"] == [
        "“GPT” is trained on blocks of 8 characters: each step draws 4 of them, which begin at any of 11,102 places of "
        "the training part, also within a word, and go over line ends. With seed 7, the first ones of the first step:",
        "x = tokens[:-1] = [1, 2]  (2,)", "y = tokens[1:] = [2, 3]  (2,)",
        "A step reads x and y of shape (4, 8), int64. Nothing is left out.",
    ]  # fmt: skip
    assert blocks["sequences"] == [
        ["characters 4,000 to 4,002, 3 tokens", ["␣ 1", "a 2", "b 3"], 0],
        ["characters 7 to 9, 3 tokens", ["c 4", "⏎ 0", "␣ 1"], 0],
    ]
    assert found["coming"]["all"] == found["none"]["all"] == ["It is being cut …"]
    assert chunks["all"][0].startswith(
        "Each line is a document, cut by itself into at least 2 and at most 6 characters."
    )
    assert "repeats the last 1 of the one before it (grey)" in chunks["all"][0]
    assert chunks["all"][1:4] == [
        "x = tokens[:-1] = [2, 3]  (2,)", "y = tokens[1:] = [3, 4]  (2,)",
        "1,000 lines to train on make 2,345 sequences of 2 to 7 tokens, of which 900 end with ⏎. 12 lines are shorter "
        "than 2: they are left out, as empty ones are, 34 characters in all. 1,345 characters are in two sequences. "
        "The validation part has 99 sequences; the loss is theirs.",
    ]  # fmt: skip
    assert chunks["all"][4].startswith("Each step draws 4 of them.")
    assert chunks["sequences"][1] == ["characters 1,002 to 1,003, 2 tokens", ["c 4", "⏎ 0"], 1]
    assert plain["all"][0].startswith("Each line is cut after every 6 characters, and the rest is kept")
    assert found["next"]["all"][0].startswith("Each line is cut after every 9 characters")
    assert "tokens. 34 characters are in none: line ends, and a last one by itself" in plain["all"][3]
    assert [found[name]["pressed"] for name in ("blocks", "coming", "plain")] == [
        ["Blocks at random places"], ["Chunks with an end token"], ["A plain cut"],
    ]  # fmt: skip
    assert found["calls"] == [["cut", "plain"]]


def test_the_text_as_data_has_its_split_and_its_pairs(run: Run) -> None:
    body = """
      const show = (own) => write(root, ...m.data(state([row(stage("GPT"))], own), acts.cut));
      show();
      const cells = all_of("tbody tr").map((one) => words(one.children));
      show({ header: { text: { ...text, pairs: "q", first: Array(20).fill(2) } } });
      return { said: words(find("section").querySelectorAll("p, li")), cells, many: all_of("tbody tr").length };
    """
    found = run("model_series/data.ts", GIVEN + body)
    assert found["many"] == 8
    assert found["cells"] == [
        ["a", "[2]", "b", "[3]"], ["ab", "[2, 3]", "␣", "[1]"], ["ab␣", "[2, 3, 1]", "c", "[4]"],
    ]  # fmt: skip
    assert found["said"][0] == (
        "torch.tensor(ids): shape (12,345,), int64; 5 different characters, numbered in the order of their code "
        "points. Its first 20:"
    )
    assert (
        found["said"][-1]
        == "The first 90 %, 11,110 characters, are trained on; the last 1,235 are kept for validation."
    )


def test_a_loss_is_written_out_with_the_numbers_of_torch(run: Run) -> None:
    logits = torch.randn(2, 2, 5, generator=torch.Generator().manual_seed(3), dtype=torch.float64)
    targets = torch.tensor([[3, 4], [0, 2]])
    losses = torch.nn.functional.cross_entropy(logits.view(4, 5), targets.view(4), reduction="none")
    body = """
      const loss = new m.Loss(root, never, acts);
      const packed = (data, ...shape) => ({ data: Float32Array.from(data), shape });
      const arrays = { logits: packed(given.logits, 2, 2, 5), loss: packed([given.mean], 1) };
      const asked = [];
      const of = (address) => (asked.push(address), arrays);
      loss.latest = { of, arrays, address: "x", failed: "", destroy() {} };
      const shown = [];
      loss.pairs.board.show = (one) => shown.push(one);
      const look = (pin, hovered = { q: null, k: null }) => {
        loss.pairs.hovered = hovered;
        loss.update(state([row(stage("GPT", {}, { digest: "g" }))], { step: 1500, values: { ...values, pin } }));
        return {
          table: all_of("tbody tr").map((one) => words(one.cells)),
          chosen: all_of("tbody tr").map((one) => one.className),
          results: all_of(".arithmetic [data-value]").map((one) => Number(one.dataset.value)),
          said: words(find(".arithmetic").children), reading: find(".reading").textContent,
          about: find(".about").textContent,
        };
      };
      const none = { q: null, k: null };
      const looks = [look(none), look({ q: 2, k: 4 }), look({ q: 2, k: 4 }, { q: 1, k: 0 }), look({ q: 4, k: 0 })];
      look({ q: 2, k: 4 });
      all_of("tbody tr")[1].click();
      loss.latest = { of: () => null, arrays: null, address: "", failed: "Gone.", destroy() {} };
      loss.update(state([row(stage("GPT"))]));
      const failed = [find(".about").textContent, find(".loss-parts").style.visibility];
      loss.latest.failed = "";
      loss.update(state([row(stage("GPT"))]));
      const { panels: [panel], labels } = shown[0];
      const { low, high, shape } = panel;
      const waiting = find(".about").textContent;
      return { looks, calls, asked: asked[0], failed, waiting, low, high, shape, labels, times: shown.length };
    """
    found = run(
        "model_series/loss.ts", GIVEN + body, {"logits": logits.flatten().tolist(), "mean": float(losses.mean())}
    )
    # The last row of the first block, a pinned one of the second, the one that is pointed at; no row 4: the last again.
    for look, at in zip(found["looks"], [1, 2, 1, 1], strict=True):
        probabilities = logits.view(4, 5).softmax(-1)
        block = at // 2
        of_block = losses[2 * block : 2 * block + 2].tolist()
        own = [float(probabilities[at, targets.view(4)[at]]), float(losses[at])]
        expected = [*own, sum(of_block) / 2, float(losses.mean()), float(losses.mean())]
        assert look["results"] == pytest.approx(expected, abs=1e-6)
        assert look["chosen"] == ["chosen" if 2 * block + t == at else "" for t in (0, 1)]
        rows = [("a", "b", 0), ("ab", "c", 1)] if block == 0 else [("␣", "⏎", 2), ("␣⏎", "a", 3)]
        assert look["table"] == [
            [str(t), read, follows, f"{probabilities[n, targets.view(4)[n]]:.4f}", f"{losses[n]:.4f}"]
            for t, (read, follows, n) in enumerate(rows)
        ]
        terms = " + ".join(f"{one:.2f}" for one in of_block)
        assert look["said"][3] == f"Mean of block {block}: ({terms}) / 2 = {sum(of_block) / 2:.4f}"
        top, logit = logits.view(4, 5)[at].max(), logits.view(4, 5)[at, targets.view(4)[at]]
        minus = f"{logit:.4f}".replace("-", "−")
        name = rows[at % 2][1]
        assert look["said"][0] == f"The logit of “{name}” is {minus}, the largest is {top:.4f}."
        total = (logits.view(4, 5)[at] - top).exp().sum()
        assert f"{float((logit - top).exp()):.4f} / {float(total):.4f} = {own[0]:.4f}" in look["said"][1]
        assert look["said"][5] == "If all 5 characters were equally likely: log 5 = 1.6094."
    first, second, pointed, beyond = (look["reading"] for look in found["looks"])
    value = {at: f"{logits[at]:.4f}".replace("-", "−") for at in ((1, 0, 4), (0, 1, 0))}
    assert first == beyond == "Point at a logit; a click pins it, and its row is written out."
    assert second == f"Row 2, column 4 “c”: logits[1, 0, 4] = {value[1, 0, 4]}"
    assert pointed == f"Row 1, column 0 “⏎”: logits[0, 1, 0] = {value[0, 1, 0]}"
    assert found["looks"][0]["about"] == (
        "“GPT” after 1,500 steps, on 2 blocks of text that it was not trained on. Each position has 5 logits, one for "
        "each character: (B, T, C) = (2, 2, 5). torch wants one row for each prediction, so logits.view(B·T, C) is (4, "
        "5) and y.view(B·T) is (4)."
    )
    assert (found["asked"], found["times"]) == ("g~l.1500", 1)
    assert found["calls"] == [["pin", {"q": 3, "k": 4}]]  # the row of the second block, at the pinned column
    assert found["failed"] == ["Gone.", "hidden"]
    assert found["waiting"] == "The logits are being computed …"
    assert found["high"] == -found["low"] == pytest.approx(float(logits.abs().max()))
    assert found["shape"] == [4, 5]
    assert found["labels"] == {"query": ["a→b", "b→c", "␣→⏎", "⏎→a"], "key": ["⏎", "␣", "a", "b", "c"]}


def test_the_table_of_pairs_is_counted_and_beside_it_the_learned_one(run: Run) -> None:
    counts, totals = np.array([[5, 0, 1234], [2, 8, 1], [0, 0, 3]]), np.array([2000, 20, 3])
    body = """
      const pairs = new m.Pairs(root, never, acts);
      const packed = (data, ...shape) => ({ data: Float32Array.from(data), shape });
      const counted = { counts: packed(given.counts.flat(), 3, 3), totals: packed(given.totals, 3) };
      const learned = { probabilities: packed([0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9], 3, 3) };
      const asked = [];
      const file = (arrays) => ({
        of: (address) => (asked.push(address), pairs_(arrays, address)), arrays, address: "", failed: "", destroy() {},
      });
      const pairs_ = (arrays, address) => (address ? arrays : null);
      const shown = [];
      pairs.pairs.board.show = ({ panels, labels }) => shown.push(
        panels.map(({ title, data, bar }) => [title, Array.from(data), bar, labels.key]));
      const look = (rows, own, more = {}) => {
        Object.assign(pairs, { counts: file(counted), learned: file(learned), key: "" });
        Object.assign(pairs.counts, more);
        if (rows[0].stage.run.id === "0") pairs.learned.arrays = null;
        pairs.update(state(rows, own));
        return [".about", ".reading:not(.vowels)", ".vowels"].map((css) => find(css).textContent);
      };
      const untrained = [row(stage("bigram"))];
      const table = stage("bigram", {}, { id: "2", digest: "b", snapshots: [0, 10, 1500] });
      const trained = [row(table), row(stage("head"))];
      const pin = (q, k) => ({ values: { ...values, pin: { q, k } } });
      const vowels = { followed: 2000, by_vowel: 1250, characters: 10000, vowels: 2500 };
      const looks = [
        look(untrained, pin(0, 2)), look(trained, { ...pin(1, 0), step: 10 }),
        look(trained, { ...pin(2, null), row: trained[1], step: 10, header: { text: { ...text, vowels } } }),
        look(trained, { header: { text: { ...text, shown: [0, 1, 2, 3, 4] } } }),
        look(untrained, pin(0, 3), { failed: "Gone.", of: () => null }),
      ];
      return { looks, asked, shown, hidden: pairs.pairs.room.style.visibility };
    """
    found = run("model_series/pairs.ts", GIVEN + body, {"counts": counts.tolist(), "totals": totals.tolist()})
    tables = np.array([found["shown"][n][0][1] for n in (0, 1)])
    expected = (counts + 1) / (totals[:, None] + 5)
    assert tables == pytest.approx(np.stack([expected.ravel()] * 2))
    assert [[title for title, *_ in panels] for panels in found["shown"][:3]] == [
        ["counted: probability of what follows"],
        ["counted: probability of what follows", "learned after 10 steps: softmax of its row"],
        ["counted: probability of what follows", "learned after 1,500 steps: softmax of its row"],
    ]
    assert [bar for _, _, bar, _ in found["shown"][1]] == [True, False]
    assert found["shown"][0][0][3] == ["a", "b", "c"]
    assert found["asked"][:6] == ["p", "", "p", "b~b.10", "p", "b~b.1500"]
    (about, first, none), (also, second, _), (_, third, vowels), (all_of, *_), (failed, fifth, _) = found["looks"]
    assert about == (
        "Row: a character. Column: the character after it. The 3 most frequent of 5 characters, counted in the 11,110 "
        "characters to train on. Nothing is trained here: each count, which begins at 1, is divided by the sum of its "
        "row. Train the bigram to see the table that it learns beside it."
    )
    assert also.endswith("the sum of its row.")
    assert "All 5 characters, counted" in all_of
    assert failed.endswith("beside it. Gone.")
    share = expected[0, 2]
    assert first == (
        f"“c” follows “a” 1,234 times of 2,000: (1234 + 1) / (2000 + 5) = {share:.4f}, −log {share:.4f} = "
        f"{-np.log(share):.4f} nats. The 1 in each of 5 cells keeps pairs that never occurred possible."
    )
    assert second.startswith("“a” follows “b” 2 times of 20: (2 + 1) / (20 + 5) = 0.1200")
    assert second.endswith("possible. The trained bigram says 0.4000.")
    assert third == fifth == "Point at a cell to read its count and its probability; a click pins it."
    assert none == ""
    assert vowels == (
        "After a consonant a vowel (a, e, i, o, u) follows 1,250 times of 2,000: 62.5 %. Of all 10,000 characters "
        "25.0 % are vowels, so a vowel is 2.50 times as frequent after a consonant as anywhere."
    )
    assert found["hidden"] == "hidden"


def test_a_sample_is_that_of_the_last_snapshot_that_wrote_one(run: Run) -> None:
    body = """
      const sample = new m.Sample(root, never);
      const wanted = [];
      sample.files = { want: (names) => (wanted.push(names)), said: "", waits: true, destroy() {} };
      const gpt = row(stage("GPT", { samples: [0, 1, 1500] }, { digest: "g" }));
      const look = (step, own = {}) => {
        sample.update(state([gpt], { step, ...own }));
        return [find("h2").textContent, find(".written").textContent, find(".written").dataset.step];
      };
      const take = (step, ids) => sample.take(`g~g.${step}`, { sample: { data: Uint8Array.from(ids) } });
      const looks = [look(20)];
      take(1, [2, 1, 3, 9]);
      looks.push(look(20), look(0), look(1500));
      take(1500, [4, 0, 4]);
      looks.push(look(1499), look(1500));
      sample.files.waits = false;
      const bare = look(0);
      sample.files.said = "The server is gone. It is asked for again.";
      const failed = look(0);
      const long = [...Array(50).fill(2), 0, ...Array(44).fill(3), 0, 0, 4, 0, 2, 2];
      take(1, long);
      const lesson = { header: { text, in_lesson: true } };
      const cut = look(1, lesson)[1];
      take(1, long.slice(0, -3));
      return { looks, wanted: wanted.slice(0, 4), bare, failed, cut, whole: look(1, lesson)[1] };
    """
    found = run("model_series/sample.ts", GIVEN + body)
    title = "What “GPT” writes"
    assert found["looks"] == [
        [title, "It is writing …", ""],
        [f"{title}, after 1 step", "a b�", "1"],
        [title, "It is writing …", ""],
        [f"{title}, after 1 step", "a b�", "1"],
        [f"{title}, after 1 step", "a b�", "1"],
        [f"{title}, after 1,500 steps", "c\nc", "1500"],
    ]
    assert found["wanted"][0] == ["g~g.1", "g~g.0", "g~g.1", "g~g.1500"]  # the shown one first
    assert found["wanted"][3] == ["g~g.0", "g~g.0", "g~g.1500"]
    assert (found["bare"][1], found["failed"][1]) == ("", "The server is gone. It is asked for again.")
    assert found["cut"] == "a" * 50 + "\n" + "b" * 44 + "\n\nc …"  # five rows: the first line takes two
    assert found["whole"] == "a" * 50 + "\n" + "b" * 44 + "\n\nc"


MODELS = """
  const models = new m.default(root, "");
  const floats = (...data) => ({ data: Float32Array.from(data), shape: [data.length] });
  const kind = (layers, heads) => ({
    kind: "decoder", layers, heads, rows: 2, cols: 2, causal: true, query: ["a", "b"], key: ["a", "b"],
  });
  const take = (stages, own = {}) => {
    const arrays = {};
    for (const n of stages.keys()) {
      for (const name of ["evaluated", "held_out", "loss_steps", "loss"]) arrays[`${n}.${name}`] = floats(n);
      for (const at of stages[n].earlier.keys()) {
        for (const name of ["evaluated", "held_out"]) arrays[`${n}.${at}.${name}`] = floats(10 + at);
      }
    }
    const header = { text, stages, in_lesson: false, acknowledged: Infinity, values: { ...values, ...own } };
    models.take({ header, arrays });
  };
  const heads = { kinds: [kind(2, 3)], snapshots: [0, 10, 40] };
"""


def test_the_model_that_is_looked_at_is_the_chosen_or_the_one_trained_last(run: Run) -> None:
    body = """
      const stages = (...ids) => ids.map(([name, id, more = {}]) => stage(name, {}, { id, ...more }));
      const looked = (all, chosen = "") => {
        take(all, { rung: chosen });
        return models.row.stage.name;
      };
      const recorded = { ...heads, state: "recorded" };
      const looks = [
        looked(stages(["bigram", "0"], ["head", "0", heads], ["gpt", "0", heads])),
        looked(stages(["bigram", "3"], ["head", "0", heads], ["gpt", "0", heads])),
        looked(stages(["bigram", "5"], ["head", "3", heads], ["gpt", "4", heads])),
        looked(stages(["bigram", "1"], ["head", "9", recorded], ["gpt", "0", heads])),
        looked(stages(["bigram", "2"], ["head", "9", recorded], ["gpt", "1", heads])),
        looked(stages(["bigram", "2"], ["head", "9", heads]), "bigram"),
        looked(stages(["bigram", "2"], ["gru", "3"])),
        looked(stages(["bigram", "2"], ["gru", "3"]), "gone"),
      ];
      const placed = (watch) => {
        take(stages(["gpt", "1", heads]), { watch });
        return Object.values(models.place).join(".");
      };
      const places = ["", "decoder.0.2", "decoder.1.3", "decoder.2.0", "encoder.0.0"].map(placed);
      take(stages(["bigram", "1"]));
      places.push(Object.values(models.place).join("."));
      const [again] = stages(["gpt", "1", heads]);
      take([stage("bigram"), { ...again, earlier: ["x", "y"] }]);
      const { held_out, earlier } = models.rows[1].curves;
      return { looks, places, curves: [[...held_out.steps], earlier.map((one) => [...one.values])] };
    """
    found = run("model_series/model_series.ts", GIVEN + MODELS + body)
    assert found["looks"] == ["head", "bigram", "gpt", "bigram", "gpt", "bigram", "gru", "gru"]
    assert found["places"] == ["decoder.1.0", "decoder.0.2", *["decoder.1.0"] * 3, ".0.0"]
    assert found["curves"] == [[1], [[10], [11]]]


def test_a_command_of_the_model_series_looks_at_what_it_trains_and_a_snapshot_is_the_nearest(run: Run) -> None:
    body = """
      const all = [stage("bigram"), stage("gpt", {}, { id: "1", state: "done", ...heads })];
      const after = (name) => {
        models.updates.drop();
        take(all, { rung: "gpt", snapshot: 10 });
        models.command(name);
        const { rung, snapshot, commands } = models.updates.values;
        return [rung, snapshot, commands.at(-1)[1]];
      };
      const commands = ["train:bigram", "all", "step:gpt", "stop", "open heads"].map(after);
      models.updates.drop();
      take(all, { rung: "gpt" });
      const gone = [4, 6, 24, 26, 40, 900, null].map((step) => (models.go(step), models.updates.values.snapshot));
      const chosen = (act) => {
        models.updates.drop();
        take(all, { rung: "gpt", watch: "decoder.0.1", pin: { q: 1, k: 0 }, predict: true });
        act(models.view);
        const { rung, watch, pin, predict, text_view } = models.updates.values;
        return [rung, watch, pin.q, predict, text_view];
      };
      models.draw();
      const acted = [
        chosen(() => find("[data-stage=bigram]").click()),
        chosen(() => all_of(".tabs button")[2].click()),
        chosen(({ on }) => on.pin({ q: 1, k: 0 })), chosen(({ on }) => on.pin({ q: 1, k: 1 })),
        chosen(({ on }) => on.reveal()),
      ];
      models.draw();
      const parts = { ladder: ".models-parts", table: ".pairs", loss: ".loss", data: ".data" };
      const rooms = () => Object.keys(parts).filter((name) => !find(`.model-series > ${parts[name]}`).hidden);
      const bare = (name, own = {}, view = "ladder") => {
        models.updates.drop();
        take(name === "gpt" ? all : [stage(name), ...all.slice(1)], { rung: name, text_view: view, ...own });
        models.draw();
        const [none, { title, scrubber }] = [find(".none"), models.view];
        const said = none.hidden ? null : none.textContent;
        return [said, title.textContent, find(".heads-shown").hidden, scrubber.element.hidden, ...rooms()];
      };
      const shown = [true, false].map((predict) => {
        const seen = [];
        Object.assign(models.view.heads, { update: (one) => seen.push(one) });
        models.view.showHeads({
          run: run({ id: "1", ...heads }), theme: "light", without: null,
          moment: { step: 10 }, step: 40, place: { kind: "decoder", layer: 1, head: 2 },
          values: { ...values, predict, pin: { q: 1, k: 0 } },
        });
        return [seen[0].covered, seen[0].alt, models.view.title.textContent];
      });
      return { commands, gone, shown, acts: acted, bare: [
        bare("bigram"), bare("gru"), ...["ladder", "loss", "data", "x"].map((view) => bare("gpt", {}, view)),
      ] };
    """
    found = run("model_series/model_series.ts", GIVEN + MODELS + body)
    assert found["commands"] == [
        ["bigram", None, "train:bigram"], ["", None, "all"], ["gpt", None, "step:gpt"],
        ["gpt", 10, "stop"], ["gpt", 10, "open heads"],
    ]  # fmt: skip
    assert found["gone"] == [0, 10, 10, None, None, None, None]
    assert found["acts"] == [
        ["bigram", "", None, True, "ladder"], ["gpt", "decoder.0.1", None, True, "loss"],
        ["gpt", "decoder.0.1", None, True, "ladder"], ["gpt", "decoder.0.1", 1, True, "ladder"],
        ["gpt", "decoder.0.1", 1, False, "ladder"],
    ]  # fmt: skip
    picture = "Attention of layer 1, head 2"
    assert found["shown"] == [[row, f"{picture} after 10 steps", f"{picture}, after 10 steps"] for row in (1, None)]
    assert found["bare"][:2] == [
        ["“bigram” has no heads: it sees the last character alone.", "No attention", True, True, "ladder"],
        ["“gru” has no heads: it keeps one state.", "No attention", True, True, "ladder"],
    ]
    assert [one[2:] for one in found["bare"][3:]] == [
        [False, False, "loss"],
        [False, True, "data"],
        [False, False, "ladder"],
    ]
