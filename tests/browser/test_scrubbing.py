"""What is drawn while one goes through the snapshots of a training or the characters of a text: only what changes."""

from __future__ import annotations

from tests.browser.modules import Run

WATCH = """
  /** How many changes of these kinds there were below `root` since the last call. */
  const watch = (root, kinds) => {
    const observer = new MutationObserver(() => {});
    observer.observe(root, { subtree: true, ...kinds });
    return () => observer.takeRecords().length;
  };
  document.body.innerHTML = "<style>.chart { width: 500px; height: 200px }</style><main></main>";
  const root = document.querySelector("main");
  const x = () => Number(root.querySelector(".losses .marker").getAttribute("x1"));
  const steps = Float32Array.of(0, 10, 20);
  const series = (...values) => ({ steps, values: Float32Array.from(values) });
  const none = { steps, values: new Float32Array(0) };
"""


def test_a_tick_moves_the_markers_and_writes_the_numbers_but_draws_no_curve(run: Run) -> None:
    body = """
      const training = new m.default(root, { request: () => new Promise(() => {}), send() {} });
      const run = { id: "1", title: "one", state: "done", message: "", digest: "", steps: 20, step: 20, kinds: [],
        snapshots: [0, 10, 20], cannot_open: "" };
      const task = { title: "", explanation: "", expected: "", patterns: [], read: [], answers: [], right: "" };
      const packed = (...data) => ({ data: Float32Array.from(data), shape: [data.length] });
      const payload = (last) => ({
        header: { task, runs: [run], is_page: false, in_lesson: false, acknowledged: 0, values: { visitor: "" } },
        arrays: { "0.evaluated": steps_, "0.loss_steps": steps_, "0.loss": packed(3, 2, last),
          "0.held_out": packed(3, 2.5, 2), "0.accuracy": packed(0.1, 0.5, 0.9) },
      });
      const steps_ = packed(...steps);
      training.update(payload(1));
      const drawn = watch(root.querySelector("svg.losses"), { childList: true });
      const kept = root.querySelector("li b");
      return [() => training.go(10), () => training.go(0), () => (training.go(20), training.update(payload(0.5)))].map(
        (act) => {
          act();
          const numbers = [...root.querySelectorAll("li b")].map((number) => number.textContent);
          return [numbers, x(), drawn() > 0, root.querySelector("li b") === kept];
        });
    """
    ticks = run("training/training.ts", WATCH + body)
    assert [(numbers, drawn, kept) for numbers, _, drawn, kept in ticks] == [
        (["50.0 %", "2.500", "2.000"], False, True),
        (["10.0 %", "3.000", "3.000"], False, True),
        (["90.0 %", "2.000", "0.500"], True, True),
    ]
    assert ticks[1][1] < ticks[0][1] < ticks[2][1]


def test_a_tick_moves_the_marker_of_the_losses_of_all_models(run: Run) -> None:
    body = """
      const models = new m.default(root, { request: () => new Promise(() => {}), send() {} });
      const packed = (...data) => ({ data: Float32Array.from(data), shape: [data.length] });
      const stage = (name) => ({
        name, title: name, adds: "", parameters: 1, expected: [], reported: null, earlier: [], samples: [], changed: "",
        run: { id: "1", state: "done", message: "", digest: "", steps: 20, step: 20, kinds: [], snapshots: [0, 10, 20],
          cannot_open: "" },
      });
      const arrays = {};
      for (const n of [0, 1]) {
        Object.assign(arrays, { [`${n}.evaluated`]: packed(0, 10, 20), [`${n}.held_out`]: packed(3, 2, 2 - n),
          [`${n}.loss_steps`]: packed(0, 10, 20), [`${n}.loss`]: packed(3, 2, 1) });
      }
      const text = { floor: 2.5, labels: ["a", "b"], characters: ["a", "b"] };
      const values = { rung: "one", text_view: "ladder", visitor: "" };
      const header = { text, stages: [stage("one"), stage("two")], values, in_lesson: false, acknowledged: 0 };
      models.update({ header, arrays });
      const drawn = watch(root.querySelector("svg"), { childList: true });
      const acts = [() => models.go(10), () => models.go(0), () => (models.go(20), models.change({ rung: "two" }))];
      return acts.map((act) => (act(), [x(), drawn() > 0]));
    """
    (middle, first), (low, second), (high, other) = run("model_series/model_series.ts", WATCH + body)
    assert [first, second, other] == [False, False, True]
    assert low < middle < high


def test_of_a_text_only_the_characters_that_change_are_written(run: Run) -> None:
    """Of 1,000 characters, going on by one changes two."""
    body = """
      const text = new m.Text(() => {});
      root.append(text.room);
      const count = 1000;
      const draws = { ids: Array.from({ length: count }, (_, n) => n % 2), probability: (n) => (n % 10) / 10 };
      const header = { model: { characters: ["a", "b"], names: ["a", "b"] }, prompt: [0, 1] };
      text.update(header, draws, 0, null, false);
      const all = [...text.room.children];
      const looks = () => all.map((one) => `${one.className}:${one.style.getPropertyValue("--share")}`);
      let calls = 0;
      for (const [{ prototype }, name] of [[CSSStyleDeclaration, "setProperty"], [Element, "setAttribute"]]) {
        const does = prototype[name];
        prototype[name] = function (...given) {
          calls += 1;
          return does.apply(this, given);
        };
      }
      const weights = Float32Array.of(0.25, 0.5);
      const views = [[500, null, false], [501, null, false], [501, null, true], [502, null, true],
        [502, weights, false], [503, weights, false]];
      return views.map((view) => {
        calls = 0;
        text.update(header, draws, ...view);
        return [calls, looks().slice(501, 506)];
      });
    """
    views = run("generation/text.ts", WATCH + body)
    assert [looks for _, looks in views] == [
        ["drawn:0.9000", "drawn chosen:0.0000", "drawn:0.1000", "drawn:0.2000", "drawn:0.3000"],
        ["drawn:0.9000", "drawn:0.0000", "drawn chosen:0.1000", "drawn:0.2000", "drawn:0.3000"],
        ["drawn:0.9000", "drawn:0.0000", "drawn chosen:0.1000", "drawn later:0.2000", "drawn later:0.3000"],
        ["drawn:0.9000", "drawn:0.0000", "drawn:0.1000", "drawn chosen:0.2000", "drawn later:0.3000"],
        ["drawn outside:0.0000", "drawn:0.5000", "drawn:1.0000", "drawn chosen:0.0000", "drawn:0.0000"],
        ["drawn outside:0.0000", "drawn outside:0.0000", "drawn:0.5000", "drawn:1.0000", "drawn chosen:0.0000"],
    ]
    calls = [count for count, _ in views]
    assert (calls[1], calls[3]) == (2, 2)
    assert calls[5] <= 8
