"""The modules of the part Generate, one at a time: what they say and draw of a text, by numbers written out."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from tests.browser.modules import Run

GIVEN = """
  const model = {
    title: "M", characters: ["a", "b", "c", "\\n", " "], names: { 3: "⏎", 4: "␣" }, block: 8, layers: 2, heads: 3,
    has_lens: true, has_cache: true,
  };
  const header = {
    model, prompt: [0, 3], truth: null, count: 3, temperature: 0.5, top_k: 0, top_p: 1, cached: true, digest: "d",
    values: { drawn: null, watch: "", panel: "draw", seed: 7 }, in_lesson: false, acknowledged: Infinity,
  };
  const packed = (data, ...shape) => ({ data: Float32Array.from(data), shape: shape.length ? shape : [data.length] });
  const text = (node) => [...node.children].map((one) => one.textContent);
  const { write } = await import("/frontend/core/template.ts");
  const find = (css) => document.querySelector(css);
  const pointer = { at: "", over: (at) => ({
    onpointerenter: () => { pointer.at = at; draw(); }, onpointerleave: () => { pointer.at = ""; draw(); } }) };
"""


def test_a_count_and_a_time_have_their_digits(run: Run) -> None:
    body = """
      return [
        [999_999, 1e6, 2.5e6, 1e9].map(m.counted),
        [0.0125, 0.9994, 1].map(m.seconds),
        [0, 41, 999_998, 999_999].map(m.nextSeed),
      ];
    """
    assert run("generation/words.ts", body) == [
        ["999,999", "1.00 million", "2.50 million", "1.00 billion"],
        ["12 ms", "999 ms", "1.00 s"],
        [1, 42, 999_999, 0],
    ]


def test_the_text_shows_breaks_and_takes_the_colours_of_probabilities_or_of_a_head(run: Run) -> None:
    body = """
      const probabilities = [0.25, 1, 0.5];
      const draws = { ids: [3, 4, 1], probability: (n) => probabilities[n] };
      const chosen = [];
      const shown = new m.Text((n) => chosen.push(n));
      document.body.append(shown.room);
      const marks = ["later", "chosen", "outside"];
      const look = () => [...shown.room.children].map(({ style, classList }) =>
        [Number(style.getPropertyValue("--share")), ...marks.filter((name) => classList.contains(name))]);
      const marked = (n, weights, hidesLater) => {
        shown.update(header, draws, n, weights && Float32Array.from(weights), hidesLater);
        return look();
      };
      const looks = [
        marked(2, null, false), marked(1, null, true), marked(2, [0.25, 0.5, 0.125], false), marked(0, [0.5], true),
      ];
      const all = [...shown.room.children];
      for (const one of all) one.click();
      const titles = all.map((one) => one.title);
      shown.update(header, { ids: [1], probability: () => 0.75 }, 0, null, false);
      return { looks, chosen, titles, all: text(shown.room), kept: all[0] === shown.room.firstChild };
    """
    found = run("generation/text.ts", GIVEN + body)
    plain, playing, head, first = found["looks"]
    assert plain == [[0], [0], [0.25], [1], [0.5, "chosen"]]
    assert playing == [[0], [0], [0.25], [1, "chosen"], [0.5, "later"]]
    # The context of the third character: the three before it, of which the second has most weight.
    assert head == [[0, "outside"], [0.5], [1], [0.25], [0, "chosen"]]
    assert first == [[0, "outside"], [1], [0, "chosen"], [0, "later"], [0, "later"]]
    assert found["chosen"] == [0, 1, 2]
    assert found["titles"] == ["", "", *(f"“{name}”: probability {share} %" for name, share in
                                         (("⏎", "25.0"), ("␣", "100.0"), ("b", "50.0")))]  # fmt: skip
    assert found["all"] == ["a", "↵\n", "b"]  # nothing of the text before
    assert found["kept"]


def test_two_seeds_part_where_their_numbers_fall_on_other_characters(run: Run) -> None:
    body = """
      const numbers = [0.125, 0.25, 0.5];
      const draws = { ids: [0, 1, 2], one: (name, n) => numbers[n] };
      const look = (ids, own = {}, seed = 7) => {
        const other = ids && { ids: packed(ids), number: packed([0.625, 0.75, 0.875]) };
        write(document.body, ...m.seedsPanel({ ...header, ...own, values: { seed } }, draws, other));
        const sides = [...find(".pair").children].map(({ firstChild, lastChild }) =>
          [firstChild.textContent, ...[...lastChild.children].map((one) => `${one.className} ${one.textContent}`)]);
        return [find(".said").textContent, find(".pair").hidden ? null : sides];
      };
      return [
        look(null), look([0, 1, 3]), look([0, 2, 2]), look([1, 1, 2], {}, 999_999), look([0, 1, 2]),
        look([0, 1, 2], { temperature: 0 }), look([0, 1, 2], { top_k: 1 }),
      ];
    """
    coming, third, second, first, chance, greedy, only = run("generation/seeds.ts", GIVEN + body)
    both = "both have the same probabilities, but the number"
    ends = "From there on each is predicted from another text."
    assert coming == ["The text of the next seed is being generated …", None]
    assert third[0] == (
        f"The first 2 characters are the same. At character 3 {both} 0.5000 falls on “c”, and 0.8750 on “⏎”. {ends}"
    )
    assert third[1] == [
        ["Seed 7", "common a", "common b", "parting c"],
        ["Seed 8", "common a", "common b", "parting ↵\n"],
    ]
    assert second[0].startswith("The first character is the same. At character 2")
    assert second[1][1] == ["Seed 8", "common a", "parting c", "own c"]
    assert first[0].startswith("At character 1 both")
    assert [side[0] for side in first[1]] == ["Seed 999999", "Seed 0"]
    assert chance[0].startswith("By chance the two are the same here.")
    assert chance[1][0] == ["Seed 7", "common a", "common b", "common c"]
    assert greedy[0] == only[0] == "The same text: the likeliest character is always taken, so the seed plays no part."


def test_the_true_other_half_is_compared_as_far_as_it_was_generated(run: Run) -> None:
    body = """
      const read = { likeliest: packed([1, 0, 2, 4]), probability: packed([0.5, 0.25, 0.125, 1]) };
      const look = (truth, ids, read) => {
        write(document.body, ...m.halfPanel({ ...header, truth }, ids, read));
        const classes = (side) => [...side.lastChild.children].map((one) => one.className);
        const sides = [...find(".pair").children].map(classes);
        return [...[...document.querySelectorAll(".said")].map((one) => one.textContent), sides];
      };
      return [look([1, 2, 2, 4], [1, 1, 2], null), look([1, 2, 2, 4], [1, 1, 2], read), look([0, 1], [0, 1, 1], read)];
    """
    alone, told, short = run("generation/half.ts", GIVEN + body)
    assert alone[0].startswith("2 of 3 characters stand at the same place in both: 66.7 %.")
    assert alone[1] == "\u00a0"
    assert alone[2] == [["match", "own", "match"]] * 2
    loss = -(math.log(0.5) + math.log(0.25) + math.log(0.125)) / 3
    assert told[1] == (
        "Given the true text before each character, the model's likeliest one is right for 2 of 3: 66.7 %; "
        f"its mean loss is {loss:.3f} nats a character."
    )
    assert short[0].startswith("2 of 2 characters")
    assert short[2] == [["match", "match", "own"], ["match", "match"]]


def test_what_the_cache_saves_is_counted_up_to_the_chosen_character(run: Run) -> None:
    body = """
      const panel = new m.CachePanel(() => {});
      const of = (computed, multiplications, seconds) => ({
        ids: packed([0, 1, 2]), computed: packed(computed), multiplications: packed(multiplications),
        seconds: packed(seconds),
      });
      const kept = of([4, 1, 1], [4e6, 1e6, 1e6], [0.25, 0.125, 0.5]);
      const again = of([4, 5, 6], [4e6, 6e6, 8e6], [0.5, 1, 2]);
      const look = (cached, other, n, own = {}) => {
        const arrays = cached ? kept : again;
        const parts = panel.parts({ cached, model: { ...model, ...own } }, { arrays, ids: [0, 1, 2] }, other, n);
        write(document.body, ...parts);
        const rows = find("table").hidden ? null : [...document.querySelectorAll("tr")].map(text);
        const lines = panel.curves.drawn?.lines.map(({ look, values }) => [look, [...values]]);
        return [find(".said").textContent, rows, lines];
      };
      const first = look(true, null, 1);
      const rest = [
        look(true, again, 1), look(false, kept, 1), look(true, again, 2), look(false, null, 1),
        look(true, { ...again, ids: packed([0, 1, 1]) }, 1), look(true, null, 1, { has_cache: false }),
      ];
      return [first, ...rest];
    """
    coming, with_, without, last, other, differs, none = run("generation/cache.ts", GIVEN + body)
    assert coming[:2] == ["The same text is being generated without the cache …", None]
    assert other[0] == "The same text is being generated with the cache …"
    assert with_[0] == without[0] == "With and without: the same text, character by character."
    assert (
        with_[1]
        == without[1]
        == [
            ["up to character 2", "without", "with", "saves"],
            ["tokens run through the layers", "9", "5", "1.8 ×"],
            ["multiplications (counted)", "10.00 million", "5.00 million", "2.0 ×"],
            ["processor time (measured here)", "1.50 s", "375 ms", "4.0 ×"],
        ]
    )
    assert with_[2] == without[2] == [["without", [4, 9, 15]], ["with", [4, 5, 6]]]
    assert last[1][1] == ["tokens run through the layers", "15", "6", "2.5 ×"]
    assert differs[0] == "The texts differ."
    assert none[:2] == ["This model has no attention, so it has no keys and values to keep.", None]


def test_a_cell_of_the_attention_says_its_head_and_how_far_back_it_looks(run: Run) -> None:
    body = """
      const chosen = [];
      const text_ = () => find(".reading").textContent;
      const panel = new m.AttentionPanel(document.body, (head) => chosen.push(head));
      const weights = Float32Array.from({ length: 24 }, (_, n) => n / 32);
      panel.update(header, weights, [0, 3, 1, 4], null, "light");
      Object.assign(panel.canvas.style, { width: "80px", height: "60px" });
      const { left, top } = panel.canvas.getBoundingClientRect();
      const at = (kind, x, y) =>
        panel.canvas.dispatchEvent(new PointerEvent(kind, { clientX: left + x, clientY: top + y }));
      const said = [[25, 45], [79, 5], [-9, 90]].map(([x, y]) => (at("pointermove", x, y), text_()));
      at("pointerleave", 0, 0);
      const hint = find(".reading").textContent;
      at("click", 5, 45);
      panel.update(header, weights, [0, 3, 1, 4], 4, "light");
      const { hidden, style } = find(".frame");
      const frame = [hidden, style.top, style.height, text_()];
      at("click", 5, 45);
      at("click", 5, 15);
      const label = panel.canvas.getAttribute("aria-label");
      panel.update({ ...header, model: { ...model, layers: 3, heads: 2 } }, weights, [0, 3, 1, 4], null, "light");
      const labels = text(find(".layers"));
      panel.update({ ...header, model: { ...model, heads: 0 } }, new Float32Array(0), [0], null, "light");
      return { said, hint, frame, chosen, label, labels, none: [find(".strip").hidden, find(".reading").textContent] };
    """
    found = run("generation/attention.ts", GIVEN + body)
    assert found["said"] == [
        "layer 1, head 1 looks at “⏎”, 2 before the last: 0.5312",  # 17 / 32, rounded to even
        "layer 0, head 0 looks at “␣”, the last: 0.0938",
        "layer 1, head 2 looks at “a”, 3 before the last: 0.6250",
    ]
    assert found["hint"].startswith("Point at a cell")
    hidden, top, height, text = found["frame"]
    assert (hidden, [round(float(one.rstrip("%")), 2) for one in (top, height)]) == (False, [66.67, 16.67])
    assert text == "The text shows layer 1, head 1: a stronger colour is more weight. Click its row to end it."
    assert found["chosen"] == [4, None, 1]
    assert found["label"] == ("Attention of the last character, 2 layers of 3 heads: 6 rows: head, 4 columns: key (to)")
    assert found["labels"] == ["layer 0", "layer 1", "layer 2"]
    assert found["none"] == [True, "This model has no attention."]


DRAW = """
  const shares = [0.5, 0.25, 0.125, ...Array(11).fill(0.125 / 11)];
  const { kept, own, number } = given;
  const rows = shares.map((share, rank) => ({
    id: rank % 5, rank, logit: -rank / 2, scaled: -rank, probability: rank < kept ? share : 0,
    sum: shares.slice(0, rank + 1).reduce((sum, x) => sum + x, 0),
  }));
  const one = { rows, own: rows[own], kept, total: 1.5, number, context: 3 };
  const draw = () => write(document.body, ...m.drawPanel(one, header, pointer));
  draw();
"""


def test_the_table_of_a_draw_ends_with_the_drawn_character_and_its_line_has_each_share(run: Run) -> None:
    body = """
      const table = [...document.querySelectorAll("tr")];
      const parts = [...document.querySelectorAll(".part")].map((one) =>
        [one.textContent, one.style.left, one.style.width, one.classList.contains("own")]);
      const ownSaid = find(".reading").textContent;
      table[2].dispatchEvent(new PointerEvent("pointerenter"));
      const other = find(".reading").textContent;
      table[2].dispatchEvent(new PointerEvent("pointerleave"));
      const marks = table.map((one) => [one.classList.contains("own"), one.classList.contains("out")]);
      return {
        rows: table.map(text), marks: marks.slice(1), parts, mark: find(".mark")?.style.left,
        other, back: find(".reading").textContent === ownSaid && ownSaid !== other,
      };
    """
    for own, last in ((12, "13"), (11, "12"), (0, "12")):
        found = run("generation/draw.ts", GIVEN + DRAW + body, {"kept": 14, "own": own, "number": 0.75})
        assert found["rows"][-1][0] == last
        assert len(found["rows"]) == 1 + 12 + (own == 12)
    late = run("generation/draw.ts", GIVEN + DRAW + body, {"kept": 14, "own": 12, "number": 0})
    assert late["mark"] == "0%"
    assert late["rows"][3] == found["rows"][3]  # exponentials of what is left over, whichever was drawn
    heads = ["rank", "character", "logit", "logit / 0.5", "exp", "softmax", "sum", "share as a bar"]
    assert found["rows"][0] == heads
    assert found["rows"][3] == ["3", "c", "−1.000", "−2.000", "0.1353", "0.1250", "0.8750", ""]
    assert found["parts"][:3] == [
        ["a", "0%", "50%", True], ["b", "50%", "25%", False], ["c", "75%", "12.5%", False]
    ]  # fmt: skip
    assert found["parts"][3][0] == ""  # its part of the line is too narrow for its name
    assert (found["mark"], found["back"]) == ("75%", True)
    assert found["other"].startswith("“b”: (−0.5000) / 0.5")
    greedy = run("generation/draw.ts", GIVEN + DRAW + body, {"kept": 2, "own": 1, "number": None})
    assert greedy["rows"][3] == ["3", "c", "−1.000", "−2.000", "–", "0.0000", "–", "top-p"]
    assert greedy["marks"][:3] == [[False, False], [True, False], [False, True]]
    assert (len(greedy["parts"]), greedy["mark"]) == (2, None)


def test_each_draw_is_read_from_its_own_part_of_the_arrays(run: Run) -> None:
    body = """
      const counted = (from, ...shape) => packed(
        Array.from({ length: shape.reduce((one, other) => one * other) }, (_, n) => from + n), ...shape);
      const arrays = {
        ids: packed([7, 8]), context: packed([2, 3]), order: counted(0, 2, 3), logits: counted(10, 2, 3),
        scaled: counted(20, 2, 3), probabilities: counted(30, 2, 3), sums: counted(40, 2, 3), own: counted(50, 2, 4),
        number: packed([NaN, 0.5]), rank: packed([60, 61]), kept: packed([62, 63]), total: packed([64, 65]),
        lens_tokens: counted(0, 2, 3, 2), lens_probabilities: counted(100, 2, 3, 2),
      };
      const draws = new m.Draws(arrays, model);
      const bare = new m.Draws({ ...arrays, lens_tokens: undefined }, model);
      return {
        at: [0, 1].map((n) => draws.at(n)), share: draws.probability(1), lens: draws.lens(1), none: bare.lens(0),
      };
    """
    found = run("generation/draws.ts", GIVEN + body)
    first, second = found["at"]
    assert second["rows"][2] == {"id": 5, "rank": 2, "logit": 15, "scaled": 25, "probability": 35, "sum": 45}
    assert second["own"] == {"id": 8, "rank": 61, "logit": 54, "scaled": 55, "probability": 56, "sum": 57}
    assert (first["number"], second["number"], found["share"]) == (None, 0.5, 56)
    assert (second["kept"], second["total"], second["context"]) == (63, 65, 3)
    lens = np.arange(12).reshape(2, 3, 2)[1]
    assert [[one["id"] for one in state] for state in found["lens"]] == lens.tolist()
    assert [[one["probability"] for one in state] for state in found["lens"]] == (100 + lens).tolist()
    assert found["none"] is None


def test_the_lens_names_each_state_and_marks_the_drawn_character(run: Run) -> None:
    body = """
      const lens = [[0, 1], [2, 1], [1, 3]].map((ids) => ids.map((id, n) => ({ id, probability: n ? 0.25 : 0.5 })));
      let shown = lens;
      const draw = () => write(document.body, ...m.lensPanel(shown, header, 1, pointer));
      draw();
      const rows = [...document.querySelectorAll("tr")];
      const own = rows.map((row) => [...row.querySelectorAll("td")].map((one) => one.classList.contains("own")));
      const plain = find(".reading").textContent;
      const cell = rows[2].querySelectorAll("td")[1];
      cell.dispatchEvent(new PointerEvent("pointerenter"));
      const said = find(".reading").textContent;
      cell.dispatchEvent(new PointerEvent("pointerleave"));
      const back = find(".reading").textContent === plain;
      shown = null;
      draw();
      const names = rows.map((row) => row.firstChild.textContent);
      return { names, own, said, back, none: [find(".table").hidden, find(".reading").textContent] };
    """
    found = run("generation/lens.ts", GIVEN + body)
    assert found["names"] == ["embeddings", "after block 0", "after block 1"]
    assert found["own"] == [[False, True], [False, True], [True, False]]
    assert (found["said"], found["back"]) == ("after block 1: “⏎” 25.0 %", True)
    assert found["none"] == [True, "There is no logit lens: the layers of this model do not add to one stream."]


GENERATION = """
  const generation = new m.default(document.body, { send() {} });
  const { view } = generation;
  let [arrays, failure] = [{}, {}];
  const asked = [];
  for (const name of ["drawn", "other"]) {
    generation[name] = {
      of: (address) => (asked.push(address), arrays[address] ?? null), destroy() {},
      get failed() { return failure[name] ?? ""; },
    };
  }
  const floats = (n, ...shape) => packed(Array(n).fill(0.25), ...shape);
  const each = (names, of) => Object.fromEntries(names.map((name) => [name, of()]));
  const draws = (ids) => {
    const { length } = ids;
    return {
      ids: packed(ids), context: packed(ids.map(() => 2)), weights: floats(length * 12),
      ...each(["order", "logits", "scaled", "probabilities", "sums"], () => floats(length * 2, length, 2)),
      ...each(["number", "rank", "kept", "total"], () => floats(length)), own: floats(length * 4, length, 4),
    };
  };
  const show = (own = {}, values = {}) => {
    generation.take({ header: { ...header, ...own, values: { ...header.values, ...values } } });
    generation.draw();
  };
  const chosen = () => generation.updates.values;
  arrays = { d: draws([0, 1, 2]) };
"""


def test_what_is_chosen_of_a_text_stays_inside_of_it(run: Run) -> None:
    body = """
      show();
      const { ids: context } = view.attention.given;
      const went = [0, 1, 2, 9, -1, null].map((n) => (generation.go(n === null ? null : n + 1), chosen().drawn));
      const n = [null, 1, 9].map((drawn) => (generation.updates.drop(), show({}, { drawn }), generation.n));
      const heads = ["decoder.1.2", "decoder.1.3", "decoder.2.0", "", "nonsense"].map((watch) =>
        (generation.updates.drop(), show({}, { watch }), generation.head));
      const walked = [];
      const walk = (by) => (generation.nextHead(by), walked.push(chosen().watch));
      for (const by of [1, 1, -1, -1]) walk(by);
      generation.change({ watch: "" });
      for (const by of [-1, 1, -1]) walk(by);
      const next = (seed) => (generation.updates.drop(), show({}, { seed }), generation.again(), chosen().seed);
      const seeds = [7, 999_999].map(next);
      const press = (key) => document.body.dispatchEvent(
        new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true }));
      generation.updates.drop();
      show({}, { watch: "decoder.0.1", drawn: null });
      for (const key of ["ArrowLeft", "PageUp", "ArrowRight", "Escape"]) press(key);
      return { context, went, n, heads, walked, seeds, end: [chosen().drawn, chosen().watch] };
    """
    found: dict[str, Any] = run("generation/generation.ts", GIVEN + GENERATION + body)
    assert found["context"] == [0, 1]  # the last two before the third character, from which it was predicted
    assert found["went"] == [0, 1, None, None, 0, None]  # the last one is the newest, however long the text becomes
    assert found["n"] == [2, 1, 2]
    assert found["heads"] == [5, None, None, None, None]
    names = ["0.0", "0.1", "0.0", "0.0", "1.2", "1.2", "1.1"]
    assert found["walked"] == [f"decoder.{name}" for name in names]
    assert found["seeds"] == [8, 0]
    assert found["end"] == [1, ""]


def test_while_a_text_is_played_nothing_is_spoken_and_the_next_seed_or_the_end_of_the_view_stops_it(run: Run) -> None:
    body = """
      const cleared = [];
      const { clearInterval: clear } = window;
      window.clearInterval = (timer) => (timer && cleared.push(timer), clear.call(window, timer));
      const said = () => view.announcement.textContent;
      show({}, { drawn: 0 });
      const spoken = [said()];
      view.scrubber.toggle();
      const { playing } = view.scrubber;
      view.announcement.textContent = "";
      generation.go(1);
      await new Promise(requestAnimationFrame);
      spoken.push(said());
      generation.again();
      const stopped = [view.scrubber.playing, cleared.includes(playing)];
      spoken.push(said());
      view.scrubber.toggle();
      const last = view.scrubber.playing;
      generation.destroy();
      return { spoken, stopped, last: last > 0 && cleared.includes(last) };
    """
    found = run("generation/generation.ts", GIVEN + GENERATION + body)
    spoken, quiet, again = found["spoken"]
    assert spoken.startswith("The number 0.2500 falls into")
    assert quiet == ""
    assert again.startswith("The number")
    assert found["stopped"] == [0, True]
    assert found["last"]


def test_a_panel_compares_with_what_there_is_and_a_text_that_fails_leaves_nothing(run: Run) -> None:
    body = """
      const of = (own, panel) => {
        asked.length = 0;
        show(own, { panel });
        const open = [...document.querySelectorAll(".panel:not([hidden])")].map(({ classList }) => classList[1]);
        return [asked.at(-1), open, find(".tabs").children[1].hidden];
      };
      const all = {};
      for (const panel of ["draw", "seeds", "cache", "half"]) {
        all[panel] = [of({}, panel), of({ truth: [0], model: { ...model, has_cache: false } }, panel)];
      }
      const again = [0.5, 0].map((temperature) => (show({ temperature }), find(".again").disabled));
      const state = () => {
        const { section } = generation;
        const [coming, trouble] = [find(".coming"), find(".trouble")];
        return [section.dataset.state, generation.draws?.ids ?? null, coming.textContent, trouble.hidden];
      };
      const states = [state()];
      show({ digest: "e" });  // another text is on its way
      states.push(state());
      failure = { drawn: "The server does not answer." };
      show({ digest: "e" });
      states.push(state(), find(".trouble").textContent);
      failure = {};
      arrays.e = draws([1, 0]);
      show({ digest: "e" });
      states.push(state());
      return { all, again, states };
    """
    found = run("generation/generation.ts", GIVEN + GENERATION + body)
    assert found["all"] == {
        "draw": [["", ["draw"], True], ["", ["draw"], False]],
        "seeds": [["d~again", ["seeds"], True], ["d~again", ["seeds"], False]],
        "cache": [["d~cache", ["cache"], True], ["", ["cache"], False]],
        "half": [["", ["draw"], True], ["d~half", ["half"], False]],
    }
    assert found["again"] == [False, True]  # greedy choice needs no seed
    here, coming, failed, notice, back = found["states"]
    assert here == ["ready", [0, 1, 2], "", True]
    assert coming == ["waiting", [0, 1, 2], "The text is being generated …", True]
    assert (failed, notice) == (["failed", None, "", False], "The server does not answer.")
    assert back == ["ready", [1, 0], "", True]
