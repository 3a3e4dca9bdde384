"""What is drawn while one goes through the snapshots of a training or the characters of a text: only what changes."""

from __future__ import annotations

from playwright.sync_api import Page, expect

from tests.browser.modules import Run
from tests.browser.settle import settled

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
      const charts = new m.Charts(root, () => {});
      const run = { id: "1", title: "one", steps: 20, step: 20 };
      const known = (last) => ({ run, curves: {
        loss: series(3, 2, last), held_out: series(3, 2.5, 2), accuracy: series(0.1, 0.5, 0.9), trained: none,
        scores: [],
      } });
      const task = { patterns: [] };
      const [before, after] = [known(1), known(0.5)];
      charts.update([before], task, 20);
      const drawn = watch(root.querySelector("svg.losses"), { childList: true });
      return [[before, 10], [before, 0], [after, 20]].map(([one, step]) => {
        charts.update([one], task, step);
        return [[...root.querySelectorAll("li b")].map((number) => number.textContent), x(), drawn() > 0];
      });
    """
    ticks = run("training/charts.ts", WATCH + body)
    assert [(numbers, drawn) for numbers, _, drawn in ticks] == [
        (["50.0 %", "2.500", "2.000"], False),
        (["10.0 %", "3.000", "3.000"], False),
        (["90.0 %", "2.000", "0.500"], True),
    ]
    assert ticks[1][1] < ticks[0][1] < ticks[2][1]


def test_a_tick_moves_the_marker_of_the_losses_of_all_models(run: Run) -> None:
    body = """
      const chart = new m.Chart(root, () => {});
      const row = (name, last) => ({
        rung: { name, title: name, earlier: [], run: { id: "1", steps: 20 } },
        curves: { loss: series(3, 2, 1), held_out: series(3, 2, last), earlier: [] },
      });
      const header = { text: { floor: 2.5, labels: ["a", "b"] } };
      const rows = [row("one", 2), row("two", 1)];
      chart.update({ header, rows, row: rows[0], step: 20 });
      const drawn = watch(root.querySelector("svg"), { childList: true });
      return [[rows[0], 10], [rows[0], 0], [rows[1], 20]].map(([one, step]) => {
        chart.update({ header, rows: [...rows], row: one, step });
        return [x(), drawn() > 0];
      });
    """
    (middle, first), (low, second), (high, other) = run("ladder/chart.ts", WATCH + body)
    assert [first, second, other] == [False, False, True]
    assert low < middle < high


def test_of_a_text_only_the_characters_that_change_are_written(run: Run) -> None:
    """Of 1,000 characters, going on by one changes two; the one more call is for the text as a whole."""
    body = """
      const text = new m.Text(root, () => {});
      const count = 1000;
      const draws = { ids: Array.from({ length: count }, (_, n) => n % 2), probability: (n) => (n % 10) / 10 };
      const header = { model: { characters: ["a", "b"], names: ["a", "b"] }, prompt: [0, 1] };
      text.show(header, draws);
      const all = text.all;
      const looks = () => all.map((one) => `${one.className}:${one.style.getPropertyValue("--share")}`);
      let calls = 0;
      for (const [{ prototype }, name] of [[CSSStyleDeclaration, "setProperty"], [DOMTokenList, "toggle"]]) {
        const does = prototype[name];
        prototype[name] = function (...given) {
          calls += 1;
          return does.apply(this, given);
        };
      }
      const plain = { weights: null, hidesLater: false };
      const weights = { weights: Float32Array.of(0.25, 0.5), hidesLater: false };
      const views = [[500, plain], [501, plain], [501, { ...plain, hidesLater: true }],
        [502, { ...plain, hidesLater: true }], [502, weights], [503, weights]];
      return views.map(([n, look]) => {
        calls = 0;
        text.mark(n, look);
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
    assert (calls[1], calls[3]) == (1, 1)
    assert calls[5] <= 4


def test_a_turned_phone_stacks_the_tables_of_pairs(page: Page, app_url: str) -> None:
    grid = "deepFind('.pairs .attnviz-board')?.attnviz.shown?.grid"
    page.set_viewport_size({"width": 844, "height": 390})
    page.goto(f"{app_url}/train?train_part=text&text_view=table")
    settled(page)
    page.wait_for_function(f"() => {grid}?.flat().length === 2")  # the counted table comes before the learned one
    assert page.evaluate(grid) == [[0, 1]]
    page.set_viewport_size({"width": 390, "height": 844})
    page.wait_for_function(f"() => {grid}?.length === 2")
    expect(page.locator(".pairs .large")).to_have_class("large two")
    page.set_viewport_size({"width": 844, "height": 390})
    page.wait_for_function(f"() => {grid}?.length === 1")
