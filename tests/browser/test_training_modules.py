"""The modules of the page Train, one at a time: what they say, draw and ask for, by numbers written out."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.browser.modules import Run


def test_an_answer_begins_where_the_question_ends_and_nothing_of_another_stays(run: Run) -> None:
    body = """
      const { write } = await import("/frontend/core/template.ts");
      const find = (css) => document.querySelector(css);
      const task = { read: ["p", "q", "r", "s"], first: 2, answers: ["a", "b", "c"], right: "abc" };
      const moment = (written) => ({
        answer: Uint16Array.of(0, 1, 2, 0), probability: Float32Array.of(0.1, 0.2, 0.5, 0.25), written,
      });
      const look = (given, written) => {
        write(document.body, m.answers({ ...task, ...given }, moment(written)));
        const items = [...document.querySelectorAll("li")].map((item) =>
          [item.lastChild.textContent, item.getAttribute("title"), item.style.getPropertyValue("--share")]);
        const told = find(".written");
        const said = told.hidden ? null : told.textContent;
        return { items, said, hidden: find(".answers").hidden, right: told.dataset.right };
      };
      return [
        look({}, "abc"), look({ first: 3 }, "abd"), look({}, ""), look({}, null), look({ right: "" }, "abc"),
        look({ read: [] }, null),
      ];
    """
    all_right, later, empty, nothing, unknown, unread = run("training/answer.ts", body)
    none, last = ["", None, ""], ["a", "after 3 “s”: “a” with 25.0 %", "0.25"]
    assert all_right["items"] == [none, none, ["c", "after 2 “r”: “c” with 50.0 %", "0.5"], last]
    assert later["items"] == [none, none, none, last]
    assert all_right["said"] == "It writes abc ✓ right"
    assert later["said"] == "It writes abd ✗ right is abc"
    assert empty["said"] == "It writes nothing ✗ right is abc"
    assert (all_right["right"], later["right"]) == ("true", "false")
    assert (nothing["said"], unknown["said"], unread["hidden"]) == (None, None, True)


CHARTS = """
  const series = (steps, values) => ({ steps: Float32Array.from(steps), values: Float32Array.from(values) });
  const evaluated = [0, 10, 20];
  const curves = {
    loss: series([0, 5, 15], [4, 3, 2]), held_out: series(evaluated, [4.5, 3.5, 2.5]),
    accuracy: series(evaluated, [0.1, 0.4, 0.6]), trained: series(evaluated, [0.2, 0.5, 0.9]),
    scores: [
      { heads: 2, ...series(evaluated, [0.1, 0.3, 0.35, 0.2, 0.5, 0.5]) },
      { heads: 1, ...series(evaluated, [0, NaN, 0.75]) },
    ],
  };
  const task = { patterns: [{ title: "first" }, { title: "second" }], baseline: 0.25 };
  const run = (id, title, steps, step) => ({ id, title, steps, step });
  const charts = new m.Charts(() => {});
  const { write } = await import("/frontend/core/template.ts");
  const legends = (shown, step) => {
    charts.mark(step);
    write(document.body, ...charts.sections(shown, task, step));
    const words = ({ children }) => [...children].map((entry) => entry.textContent.trim());
    return [...document.querySelectorAll("ul")].map(words);
  };
"""


def test_the_charts_name_each_curve_and_its_number_at_the_shown_step(run: Run) -> None:
    body = """
      const bare = { ...curves, trained: series([], []) };
      const other = { run: run("b", "other", 20, 30), curves: bare };
      const own = { run: run("a", "own", 20, 20), curves };
      charts.draw([other, own], task);
      const lines = [charts.sharesChart, charts.lossChart].map(({ drawn }) =>
        drawn.lines.map(({ name, look, isOther }) => [name, look, isOther]));
      const high = [charts.sharesChart.drawn.high, charts.lossChart.drawn.high];
      const before = legends(own, 12);
      const after = legends(own, 20);
      const marked = [charts.sharesChart, charts.lossChart].map(({ svg }) => svg.dataset.step);
      const baseline = charts.sharesChart.drawn.lines.at(-1);
      const { unit, alt } = charts.lossChart.drawn;
      const units = [0.5, 999, 12345, 2.5e6].map(unit);
      charts.draw([{ run: run("a", "own", 40, 20), curves }], task);
      high.push(charts.lossChart.drawn.high);
      charts.destroy();
      const left = document.querySelectorAll(".chart").length;
      return {
        units, left,
        lines, high, before, after, marked, baseline: [[...baseline.steps], [...baseline.values]],
        alt,
      };
    """
    found = run("training/charts.ts", CHARTS + body)
    shares, losses = found["lines"]
    assert shares == [
        ["first, other", "pattern early", True],
        ["second, other", "pattern", True],
        ["accuracy, other", "accuracy", True],
        ["first", "pattern early", False],
        ["second", "pattern", False],
        ["accuracy", "accuracy", False],
        ["accuracy, training", "accuracy trained", False],
        ["baseline", "baseline", False],
    ]
    assert losses == [
        ["training, other", "loss", True], ["held out, other", "held", True], ["training", "loss", False],
        ["held out", "held", False],
    ]  # fmt: skip
    assert found["high"] == [30, 30, 40]  # a training that goes on beyond its plan; one that has not come that far
    assert found["units"] == ["0.5", "999.0", "12K", "2.5M"]  # of a training that diverges
    assert found["left"] == 0
    assert found["baseline"] == [[0, 30], [0.25, 0.25]]
    assert found["before"] == [
        ["accuracy, held out 40.0 %", "training 50.0 %", "baseline 25.0 %", "first 0.35", "second –"],
        ["held out 3.500", "training 3.000"],
    ]
    assert found["after"] == [
        ["accuracy, held out 60.0 %", "training 90.0 %", "baseline 25.0 %", "first 0.50", "second 0.75"],
        ["held out 2.500", "training 2.000"],
    ]
    assert found["marked"] == ["20", "20"]
    assert found["alt"] == "Over 30 steps: held out 2.500; training 2.000"


def test_a_curve_leaves_out_what_is_no_number_and_is_chosen_with_a_pressed_button(run: Run) -> None:
    body = """
      const chosen = [];
      document.body.innerHTML = "";
      const room = document.body.appendChild(document.createElement("div"));
      const curves = new m.Curves(room, "shares", (step) => chosen.push(Math.round(step)));
      Object.assign(curves.room.style, { width: "458px", height: "138px" });
      const line = (values, look = "chosen", label = "") => ({
        steps: Float32Array.of(0, 10, 20), values: Float32Array.from(values), look, name: look, isOther: false, label,
      });
      const axes = { high: 20, ceiling: 1, unit: String, alt: "" };
      curves.update({ ...axes, lines: [line([0, NaN, 2]), line([NaN, 0.5, NaN])] }, 5);
      const { left } = curves.svg.getBoundingClientRect();
      for (const [x, buttons] of [[246, 0], [246, 1], [0, 1], [46 + 300, 2]]) {
        curves.svg.dispatchEvent(new PointerEvent("pointermove", { clientX: left + x, buttons }));
      }
      const paths = [...curves.lines.children].map((one) => one.getAttribute("d"));
      const marker = curves.marker.getAttribute("x1");
      // Labels at the ends keep their distance; where all do not fit, the chosen one and the floor are left.
      const last = (n) => line([0, 0, 0.5], n ? "look" : "chosen", `l${n}`);
      const many = (length) => Array.from({ length }, (_, n) => last(n));
      curves.update({ ...axes, lines: many(3) }, 5);
      const ends = [...curves.labels.children].map((one) => Number(one.getAttribute("y")));
      curves.update({ ...axes, lines: many(9) }, 5);
      const named = [...curves.labels.children].map((one) => one.textContent);
      const orders = [[0.5, 0.52, 0.48], [0.52, 0.48, 0.5]].map((values) => {
        curves.update({ ...axes, lines: values.map((y, n) => line([0, 0, y], "chosen", `l${n}`)) }, 5);
        return [...curves.labels.children].map((one) => [one.textContent, Number(one.getAttribute("y"))]);
      });
      const apart = ends.slice(1).map((y, n) => Math.round(10 * (y - ends[n])) / 10);
      return { orders, chosen, paths, marker, apart, named };
    """
    found = run("training/curves.ts", body)
    assert found["chosen"] == [10, 0]  # of 400 px between the edges, 46 and 12 px
    # The axis is 100 px high and ends at 1: a larger number stands at its end.
    assert found["paths"] == ["M46,112L446,12", "M246,62h0.01"]
    assert found["marker"] == "146"
    assert found["apart"] == [13.8, 13.8]
    for order, names in zip(found["orders"], (["l1", "l0", "l2"], ["l0", "l2", "l1"]), strict=True):
        assert [name for name, _ in order] == names  # the largest above
        assert np.allclose(np.diff([y for _, y in order]), 13.8)
    assert found["named"] == ["l0"]


def test_the_numbers_of_a_curve_at_a_step_are_those_of_numpy(run: Run) -> None:
    body = """
      const { steps, at, scores, highs } = given;
      const values = Float32Array.from(scores.flat(), (x) => x ?? NaN);
      const heads = scores[0].length;
      return {
        last: at.map((step) => m.lastBefore(steps, step)), value: at.map((step) => m.valueAt({ steps, values }, step)),
        best: scores.map((_, n) => m.bestOf({ heads, values }, n)), none: m.bestOf({ heads: 0, values: [] }, 0),
        beyond: m.bestOf({ heads, values }, scores.length), near: at.map((step) => m.nearest(steps, step)),
        empty: m.nearest([], 4), ticks: highs.map(([high, count]) => m.ticks(high, count)),
      };
    """
    steps, at = [1, 5, 9], [0, 1, 4, 5, 8, 9, 10]
    scores = [[0.25, 0.5, 0.5], [0.75, 0.5, 0.25]]
    highs = [(2000, 6), (20, 5), (7, 4), (1, 4), (0, 4)]
    given = {"steps": steps, "at": at, "scores": scores, "highs": highs}
    found = run("training/numbers.ts", body, given)
    last = (np.searchsorted(steps, at, side="right") - 1).tolist()
    assert found["last"] == last
    flat = np.ravel(scores)
    assert found["value"] == [None if n < 0 else flat[n] for n in last]
    assert [one["head"] for one in found["best"]] == np.argmax(scores, axis=1).tolist()
    assert [one["score"] for one in found["best"]] == np.max(scores, axis=1).tolist()
    assert (found["none"], found["beyond"], found["empty"]) == (None, None, 0)
    # A model that has diverged: no score, or those of the heads that have one.
    diverged = run("training/numbers.ts", body, {**given, "scores": [[None, 0.25, 0.5], [None, None, None]]})
    assert diverged["best"] == [{"head": 2, "score": 0.5}, None]
    assert found["near"] == [steps[int(np.abs(np.array(steps) - one).argmin())] for one in at]
    assert found["ticks"] == [
        [0, 500, 1000, 1500, 2000], [0, 5, 10, 15, 20], [0, 2, 4, 6], [0, 0.5, 1], [0]
    ]  # fmt: skip


def test_what_a_training_may_do_is_on_its_buttons(run: Run) -> None:
    body = """
      const asked = [];
      const { write } = await import("/frontend/core/template.ts");
      const on = { command: (name) => asked.push(name), slow: (ms) => asked.push(ms) };
      const find = (css) => document.querySelector(css);
      const looks = [["train", false], ["train", true], ["stop", true], ["continue", true]].map(([can, hasBegun]) => {
        const isLive = can === "stop";
        const said = { state: "s", slow: isLive ? 120 : 0, why: "w" };
        write(document.body, m.transport({ can, isLive, hasBegun }, said, on));
        find(".main").click();
        const [again, control] = [find(".again:not(.main)"), find(".control")];
        const [one, slow] = [find(".one"), find("input")];
        return [find(".main").textContent, again.hidden, control.hidden, control.disabled, one.disabled, slow.checked];
      });
      for (const css of [".again:not(.main)", ".one", ".control", "input", "input"]) find(css).click();
      return { asked, looks, state: find(".state").textContent, why: find(".control").title };
    """
    found = run("training/transport.ts", body)
    assert found["looks"] == [
        ["▶ Train", True, True, False, False, False],
        ["▶ Train again", True, False, False, False, False],
        ["■ Stop", True, False, True, True, True],
        ["▶ Continue", False, False, False, False, False],
    ]
    assert found["asked"] == ["train", "train", "stop", "continue", "train", "step", "control", 120, 0]
    assert (found["state"], found["why"]) == ("s", "w")


def test_snapshots_are_played_from_the_first_one_in_nine_seconds_at_most(run: Run) -> None:
    body = """
      let [steps, tick, pace] = [[], null, 0];
      window.setInterval = (work, ms) => (([tick, pace] = [work, ms]), 7);
      window.clearInterval = () => { tick = null; };
      const seen = [];
      const scrubber = new m.Scrubber((step) => {
        seen.push(step);
        scrubber.update(steps, step ?? steps.at(-1));
      });
      const show = (all) => {
        steps = all;
        seen.length = 0;
        scrubber.update(all, all.at(-1));
      };
      const look = () => [[...seen], scrubber.said.textContent, tick !== null];
      show([0, 1, 5]);
      scrubber.toggle();
      const playing = [look()];
      while (tick) {
        tick();
        playing.push(look());
      }
      const paces = [pace];
      show(Array.from({ length: 200 }, (_, n) => n));
      scrubber.toggle();
      paces.push(pace);
      tick();
      const name = () => scrubber.play.getAttribute("aria-label");
      const names = [name()];
      scrubber.move(1);  // a key stops it, and goes on from where it was
      names.push(name());
      const moved = look();
      show([0, 5]);
      for (const by of [1, -3]) scrubber.move(by);
      const ends = [[...seen], scrubber.slider.disabled];
      show([5]);
      scrubber.toggle();
      return { playing, paces, names, moved, ends, one: [look(), scrubber.slider.disabled] };
    """
    found = run("training/transport.ts", body)
    after = [[0], [0, 1], [0, 1, None], [0, 1, None]]  # None is the newest
    said = ["after 0 steps", "after 1 step", "after 5 steps", "after 5 steps"]
    assert found["playing"] == [[*one] for one in zip(after, said, [True, True, True, False], strict=True)]
    assert found["paces"] == [90, 45]  # ms each
    assert found["names"] == ["Pause", "Play the training"]
    assert found["moved"] == [[0, 1, 2], "after 2 steps", False]
    assert found["ends"] == [[None, 0], False]
    assert found["one"] == [[[], "after 5 steps", False], True]


TRAINING = """
  const training = new m.default(document.body, { request: () => new Promise(() => {}), send() {} });
  const kind = (name, layers, heads) => ({
    kind: name, layers, heads, rows: 2, cols: 2, causal: false, query: ["a", "b"], key: ["c", "d"],
  });
  const run = (id, state, own = {}) => ({
    id, state, title: id, is_control: false, digest: id, message: "", can_continue: false, step: 20, steps: 20,
    speed: null, left: null, snapshots: [0, 10, 20], kinds: [kind("encoder", 1, 2), kind("cross", 2, 3)],
    cannot_open: "", ...own,
  });
  const task = {
    name: "t", title: "T", explanation: "e", expected: "x", control: "why", answers: [], read: [], first: 0, right: "",
    patterns: [{ name: "p", title: "P", kind: "encoder" }, { name: "q", title: "Q", kind: "cross" }],
  };
  const values = {
    watch: "", snapshot: null, pin: { q: null, k: null }, predict: false, run: "", slow: 0, visitor: "",
  };
  const floats = (...all) => ({ data: Float32Array.from(all.flat()), shape: [all.length, all[0].length] });
  const show = (runs, own = {}, header = {}) => {
    const arrays = {};
    runs.forEach((_, n) => {
      arrays[`${n}.evaluated`] = floats([0, 20]);
      arrays[`${n}.scores.0`] = floats([1, 0], [0, 1]);
      arrays[`${n}.scores.1`] = floats([1, 0, 0, 0, 0, 0], [0.5, 0.5, 0.5, 0.5, 0.75, 0.5]);
    });
    const all = { is_page: false, task, runs, in_lesson: false, acknowledged: Infinity, ...header };
    training.take({ header: { ...all, values: { ...values, ...own } }, arrays });
    training.draw();
  };
  const { view } = training;
  const seen_by_all = { bubbles: true, composed: true, cancelable: true };
  const key = (name, from = document.body, held = {}) =>
    from.dispatchEvent(new KeyboardEvent("keydown", { key: name, ...seen_by_all, ...held }));
"""


def test_the_head_that_is_shown_is_the_chosen_one_or_that_of_the_last_pattern(run: Run) -> None:
    body = """
      const placed = (watch) => (show([run("a", "done")], { watch }), Object.values(training.place).join("."));
      const places = ["", "cross.1.2", "cross.1.3", "cross.2.0", "encoder.0.1", "decoder.0.0"].map(placed);
      show([run("a", "done")], { watch: "encoder.0.0" });
      const walked = [];
      for (const [name, shiftKey] of [..."hhhhhhhhH"].map((one) => [one, one === "H"])) {
        key(name, document.body, { shiftKey });
        walked.push(training.updates.values.watch);
      }
      return { places, walked };
    """
    found = run("training/training.ts", TRAINING + body)
    best = "cross.1.1"  # the fifth of six heads, at the last evaluation
    assert found["places"] == [best, "cross.1.2", best, best, "encoder.0.1", best]
    cross = [f"cross.{layer}.{head}" for layer in (0, 1) for head in (0, 1, 2)]
    assert found["walked"] == ["encoder.0.1", *cross, "cross.1.2", "cross.1.1"]


def test_a_command_shows_the_newest_training_and_a_snapshot_stays_where_none_begins(run: Run) -> None:
    body = """
      const after = (name) => {
        training.updates.drop();
        show([run("a", "done"), run("b", "done")], { snapshot: 10, run: "a" });
        training.command(name);
        const { snapshot, run: shown, commands } = training.updates.values;
        return [snapshot, shown, commands.at(-1)[1]];
      };
      const commands = ["train", "control", "continue", "step", "stop", "open heads"].map(after);
      const gone = [7, 16, 20, null].map((step) => (training.go(step), training.updates.values.snapshot));
      show([run("a", "done")], {}, { is_page: true });
      training.updates.values = { ...training.updates.values, commands: [] };
      training.command("train");
      return { commands, gone, page: training.updates.values.commands };
    """
    found = run("training/training.ts", TRAINING + body)
    begins = [[None, "", name] for name in ("train", "control", "continue", "step")]
    assert found["commands"] == [*begins, [10, "a", "stop"], [10, "a", "open heads"]]
    assert found["gone"] == [10, None, None, None]  # the newest has no number: it stays the newest
    assert found["page"] == []  # a page without a server trains nothing


def test_a_command_is_sent_until_it_is_acknowledged_with_those_after_it(run: Run) -> None:
    """A message takes the place of one that the server has not read."""
    body = """
      const messages = [];
      training.updates.host = { send: (message) => void messages.push(structuredClone(message)) };
      show([run("a", "stopped")]);
      const press = async (name) => {
        training.command(name);
        await new Promise((done) => setTimeout(done, 30));
        return messages.at(-1).values.commands.map(([, command]) => command);
      };
      const first = [await press("step"), await press("step")];
      const numbers = messages.at(-1).values.commands.map(([number]) => number);
      show([run("a", "stopped")], {}, { acknowledged: messages[0].number });
      const second = await press("stop");
      show([run("a", "stopped")], {}, { acknowledged: messages.at(-1).number });
      return [...first, second, await press("train"), numbers[0] < numbers[1]];
    """
    assert run("training/training.ts", TRAINING + body) == [
        ["step"], ["step", "step"], ["step", "step", "stop"], ["train"], True
    ]  # fmt: skip


def test_keys_go_through_snapshots_but_in_a_lesson_through_its_scenes(run: Run) -> None:
    body = """
      const seen = [];
      const asked = (name, from) => (key(name, from), training.updates.values.snapshot);
      show([run("a", "done")]);
      seen.push(asked("ArrowLeft"), asked("PageUp"), asked("ArrowRight"));
      show([run("a", "done")], { snapshot: 10 }, { in_lesson: true });
      training.updates.drop();
      show([run("a", "done")], { snapshot: 10 }, { in_lesson: true });
      seen.push(asked("ArrowLeft"), asked("PageDown"));
      const covers = [];
      for (const name of "pprp") {
        key(name);
        covers.push(training.updates.values.predict);
      }
      training.change({ pin: { q: 1, k: 0 } });
      key("Escape");
      // Enter on a button presses that button, and no other.
      const commands = [];
      const find = (css) => document.querySelector(css);
      find(".main").addEventListener("click", () => commands.push("main"));
      key("Enter", find(".control"));
      key("Enter");
      return { seen, covers, pin: training.updates.values.pin, commands };
    """
    found = run("training/training.ts", TRAINING + body)
    assert found["seen"] == [10, 0, 10, 10, 10]
    assert found["covers"] == [True, False, False, True]
    assert found["pin"] == {"q": None, "k": None}
    assert found["commands"] == ["main"]


STATES: list[tuple[str, dict[str, Any], str, str, str | None]] = [
    ("new", {}, "▶ Train", "hidden", None),
    ("recorded", {"message": "It ships with the app."}, "▶ Train", "hidden", None),
    ("queued", {"message": "One is before yours."}, "■ Stop", "disabled", None),
    ("running", {}, "■ Stop", "disabled", None),
    ("stopped", {"can_continue": True}, "▶ Continue", "ready", None),
    ("stopped", {}, "▶ Train again", "ready", None),
    ("failed", {"message": "It broke."}, "▶ Train again", "ready", "It broke."),
]
"""A state of the newest training and what is known of it: its button, its control's button, the notice"""


def test_the_newest_training_says_what_can_be_done(run: Run) -> None:
    body = """
      return given.map(([state, own]) => {
        training.updates.drop();
        show([run("first", "done"), run("newest", state, own)], { run: "first", snapshot: 10 });
        const find = (css) => document.querySelector(css);
        const [{ opener }, notice, { hidden, disabled }] = [view, find(".trouble"), find(".control")];
        const pressed = () => [...find(".runs").children].map((one) => one.ariaPressed);
        const before = pressed();
        find(".runs").children[1].click();
        return {
          is: [
            find(".main").textContent, hidden ? "hidden" : disabled ? "disabled" : "ready",
            notice.hidden ? null : notice.textContent,
          ],
          pressed: [before, pressed()], opens: !opener.element.hidden, snapshot: training.updates.values.snapshot,
        };
      });
    """
    found = run("training/training.ts", TRAINING + body, [[state, own] for state, own, *_ in STATES])
    for (state, _, *expected), one in zip(STATES, found, strict=True):
        assert one["is"] == expected
        assert one["pressed"] == [["true", "false"], ["false", "true"]]
        assert one["snapshot"] is None, "of another training: its newest"
        assert one["opens"] == (state not in ("new", "queued")), state  # the newest, which is now shown


def test_a_head_of_the_second_kind_has_its_own_accuracy_and_a_covered_row_is_nowhere(run: Run) -> None:
    body = """
      const FULL = 65535;
      const codes = (heads) => Uint16Array.from({ length: heads * 4 }, (_, n) => (n % 2 ? 0.25 : 0.75) * FULL);
      const moment = {
        step: 10, weights: { encoder: codes(2), cross: codes(6) }, answer: [], probability: [], written: null,
      };
      show([run("a", "done")]);
      const { shown, header } = training;
      const all = [];
      const without = [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9];
      const look = (own, wanted = values) => {
        view.heads.made.key = "encoder,cross";
        all.length = 0;
        view.heads.grids = [0, 1].map(() => ({ grid: { update: (one) => all.push(one), destroy() {} } }));
        const place = { kind: "cross", layer: 1, head: 2 };
        training.store.set({
          header, known: training.known, shown, step: 20, place, theme: "light", without, tested: 1024, moment,
          failed: "", values: { ...values, ...wanted }, ...own,
        });
        const [title, without_] = ["h2.head-name", "p.without"].map((css) => document.querySelector(css).textContent);
        return [title, without_, view.reading.textContent];
      };
      const plain = look({});
      const names = all.map(({ describe, heads }) => [describe([0, 1]), describe([0, heads - 1])]);
      const whole = [...all[1].overview.data];
      const read = [[0, 0], [1, 1]].map(([q, k]) => look({}, { pin: { q, k } })[2]);
      const covered = look({}, { pin: { q: 1, k: 0 }, predict: true })[2];
      const left = [...all[1].overview.data];
      training.updates.values = { ...training.updates.values, predict: true };
      const said = () => view.guessLine.text.textContent;
      const uncovered = [[0, 0], [1, 1], [1, 0]].map(([i, j]) =>
        [view.heads.pairs.board.uncover({ i, j }), training.updates.values.predict, said()]);
      training.store.set({ hovered: { q: 0, k: 1 } });
      const beside = view.reading.textContent;
      training.store.set({ hovered: { q: null, k: null } });
      const waiting = look({ without: null })[1];
      const pins = [[1, 0], [1, 0], [0, 1]].map(([q, k]) => (view.on.pin({ q, k }), training.updates.values.pin));
      training.destroy();
      key("p");
      const after = training.updates.values.predict;
      return { plain, names, whole, read, covered, left, uncovered, beside, waiting, pins, after };
    """
    found = run("training/training.ts", TRAINING + body)
    title, without, hint = found["plain"]
    assert title == "Attention of decoder to encoder, layer 1, head 2, after 10 steps"  # not of the step 20
    whole = "Accuracy on 1,024 held-out sequences 90.0\u00a0%"
    assert without == f"{whole}; without decoder to encoder, layer 1, head 2 80.0 %."
    assert hint == "Point at a cell to read its weight; a click pins it."
    assert found["names"] == [
        ["encoder, layer 0, head 1: accuracy without it 20.0 %"] * 2,
        [
            f"decoder to encoder, layer 0, head {head}: accuracy without it {share}.0 %"
            for head, share in ((1, 40), (2, 50))
        ],
    ]
    assert found["whole"] == [191, 64] * 12
    assert found["left"] == [191, 64, 0, 0] * 6  # the second row of each of the six heads
    assert found["read"] == ["0 “a” looks at 0 “c”: 0.7500", "1 “b” looks at 1 “d”: 0.2500"]
    assert found["covered"] == "Covered."
    assert found["beside"] == "0 “a” looks at 1 “d”: 0.2500"
    assert found["waiting"] == " "
    assert found["uncovered"] == [
        [True, True, "Row 1, “b”, stays covered until it is revealed."],
        [True, True, "Guess 1: column 1 (“d”) has 0.25, the 2nd largest of 2. Try again."],
        [True, False, ""],  # it was the largest; the snapshot of this test is not there any more
    ]
    assert found["pins"] == [{"q": 1, "k": 0}, {"q": None, "k": None}, {"q": 0, "k": 1}]  # a second click lets go
    assert found["after"] is False, "a view that is gone hears no keys"


def test_the_model_of_a_snapshot_is_opened_where_a_page_can_show_it(run: Run) -> None:
    body = """
      const asked = [];
      const opener = new m.Opener(document.body, (name) => asked.push(name), given);
      const look = (state, own = {}, isPage = false) => {
        opener.update({ state, snapshots: [0], cannot_open: "", ...own }, isPage);
        const { element, reason, buttons } = opener;
        const isReady = element.classList.contains("ready");
        return [element.hidden, isReady, buttons.every((one) => one.hidden), reason.textContent];
      };
      const looks = [
        look("done"), look("running"), look("new"), look("queued"), look("done", { snapshots: [] }),
        look("done", {}, true), look("done", { cannot_open: "It is too wide." }), look("done"),
      ];
      for (const one of [...opener.buttons, opener.writer]) one.click();
      return { asked, looks, writes: !opener.writer.hidden };
    """
    found = run("training/opener.ts", body, True)
    ready, hidden = [False, True, False, ""], [True, True, False, ""]
    running, without = [False, False, False, ""], [False, True, True, "It is too wide."]
    assert found["looks"] == [ready, running, *([hidden] * 4), without, ready]
    pages = ("step_by_step", "heads", "compare", "transformer", "generate")
    assert found["asked"] == [f"open {page}" for page in pages]
    assert (found["writes"], run("training/opener.ts", body, False)["writes"]) == (True, False)


def test_a_head_and_a_step_have_their_names(run: Run) -> None:
    body = """
      const place = { kind: "cross", layer: 1, head: 2 };
      return [
        m.pictureText(place, 1, false), m.pictureText(place, 2000, true), m.otherStep({ step: 1 }, 2),
        m.otherStep({ step: 2 }, 2), m.otherStep(null, 2), m.placeOf("cross.1.2"), m.placeOf("cross.1"),
        m.placeKey(place), m.cellText({ query: ["a", "b"], key: ["c", "d"] }, 1, 0, NaN),
      ];
    """
    assert run("training/words.ts", body) == [
        "Attention of layer 1, head 2 after 1 step",
        "Attention of decoder to encoder, layer 1, head 2 after 2,000 steps",
        ", after 1 step", "", "", {"kind": "cross", "layer": 1, "head": 2}, None, "cross.1.2",
        "1 “b” looks at 0 “c”: hidden by the causal mask",
    ]  # fmt: skip


def test_the_nearest_snapshot_that_is_here_stands_in_for_one_that_is_not(run: Run) -> None:
    body = """
      const moments = new m.Moments({ request: () => new Promise(() => {}) }, () => {});
      const none = moments.at(3);
      for (const step of [0, 10, 40]) moments.known.set(step, { step });
      const near = [0, 4, 6, 24, 26, 90].map((step) => moments.at(step).step);
      moments.want("a", [0, 10], 0);
      const empty = { data: new Float32Array(2), shape: [2] };
      const text = { data: Uint8Array.from([97, 0, 0, 98, 99, 0]), shape: [2, 3] };
      const file = { answer: empty, probability: { data: Float32Array.of(0.25, 0.5), shape: [2] }, written: text };
      moments.take("b~s.0.10", file);  // of a training that is no longer looked at
      const other = moments.at(0);
      moments.take("a~s.0.10", file);
      const own = [0, 10].map((step) => [moments.at(step).written, moments.at(step).probability[0]]);
      moments.want("a", [0, 10, 20], 0);
      const kept = moments.at(10).step;
      moments.want("b", [0], 0);
      return [none, near, other, own, kept, moments.at(0)];
    """
    none, near, other, own, kept, anew = run("training/moments.ts", body)
    assert (none, near) == (None, [0, 0, 10, 10, 40, 40])
    assert (other, kept, anew) == (None, 10, None)  # nothing of another training stands in
    assert own == [["a", 0.25], ["bc", 0.5]]


def test_another_head_is_covered_anew_though_its_row_is_the_same(run: Run) -> None:
    body = """
      const covered = [];
      const heads = { guess: null, guessOf: "", coverUp() { covered.push(this.guess && [this.guess.row,
        this.guess.isOpen]); } };
      const cover = (...given) => m.Heads.prototype.cover.call(heads, ...given);
      cover(null, "");
      cover(2, "encoder.0.1");
      heads.guess.reveal();
      cover(2, "encoder.0.1");
      cover(2, "encoder.0.2");
      cover(null, "encoder.0.2");
      cover(3, "encoder.0.2");
      return covered;
    """
    assert run("training/heads.ts", body) == [[2, True], [2, True], None, [3, True]]
