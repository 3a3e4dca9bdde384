"""The modules of boards, and those that all views share, one at a time: places, zoom, focus, keys, by cases by hand."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import torch

from attnviz.figures.colour_limit import colour_limit
from attnviz.formatting import percent
from tests.browser.modules import Run

PANELS = """
  const { axisOf } = await import("/frontend/board/panels.ts");
  const panel = (name, rows, cols, [height, width], [x, y], own = {}) => ({
    name, rows, cols, height, width, z: [], x: axisOf(x, width * 10, [0, width]), y: axisOf(y, height * 20, [0,
      height]), ...own,
  });
  const scores = panel("scores", "query", "key", [3, 4], [100, 50]);
  const query = panel("query", "query", "dim", [3, 2], [10, 50]);
  const zoomed = { ...panel("weights", "query", "key", [30, 40], [0, 0]), x: axisOf(0, 100, [10, 20]), y: axisOf(0,
    100, [5, 15]) };
"""


def test_a_point_is_of_the_cell_that_is_drawn_there(run: Run) -> None:
    body = """
      const all = [scores, query];
      const at = (...point) => { const found = m.cellAt(all, ...point); return found && [found.panel, found.i,
        found.j]; };
      const zoom = (...point) => { const { i, j } = m.cellAt([zoomed], ...point); return [i, j]; };
      const find = (own) => m.findPanel(all, { panel: "scores", rows: "query", cols: "key", i: 2, j: 3,
        ...own })?.name ?? null;
      return {
        at: [at(100, 50), at(139, 109), at(109.9, 69.9), at(110.1, 70.1), at(99, 60), at(141, 60), at(120, 111),
          at(11, 51), at(29, 109), at(140, 60), at(120, 110)],
        zoom: [zoom(0, 0), zoom(99, 99)], find: [find({}), find({ i: 3 }), find({ j: 4 }), find({ cols: "dim" }),
          find({ panel: "x" })],
        boxes: [m.rowBox(scores, 1), m.columnBox(scores, 3), m.columnBox(scores, 3, 1), m.cellBox(scores, 2, 0),
          m.cellBox(zoomed, 5, 10),
          m.cellBox(zoomed, 4, 10), m.cellBox(zoomed, 15, 10), m.rowBox(zoomed, 14)],
      };
    """
    found = run("board/panels.ts", PANELS + body)
    assert found["at"] == [
        ["scores", 0, 0], ["scores", 2, 3], ["scores", 0, 0], ["scores", 1, 1], None, None, None, ["query", 0, 0],
        ["query", 2, 1], None, None,
    ]  # fmt: skip
    assert found["zoom"] == [[5, 10], [14, 19]]
    assert found["find"] == ["scores", None, None, None, None]

    def box(x: float, y: float, width: float, height: float) -> Any:
        return pytest.approx({"x": x, "y": y, "width": width, "height": height})

    assert found["boxes"] == [
        box(100, 70, 40, 20), box(130, 50, 10, 60), box(130, 50, 10, 40), box(100, 90, 10, 20), box(0, 0, 10, 10),
          None, None,
        box(0, 90, 100, 10),
    ]  # fmt: skip


def test_what_shares_an_axis_lights_up_and_operands_by_their_own_side(run: Run) -> None:
    body = """
      const [left, right] = [panel("embeddings", "query", "model", [3, 5], [0, 0]), panel("W", "model", "dim", [5,
        2], [0, 0])];
      const square = panel("square", "dim", "dim", [2, 2], [0, 0]);
      const column = panel("embeddings_k", "key", "model", [4, 5], [0, 0]);
      const products = { query: { left: "embeddings", right: "W" }, norm: { kind: "norm", of: ["x"] } };
      const look = (at, panels) => {
        const meant = m.lit(at, products);
        return panels.map((one) => { const { row, column, own, last } = m.litIn(one, meant); return [row, column,
          own, last]; });
      };
      const cell = (panel, rows, cols, i, j) => ({ panel, rows, cols, i, j });
      return [
        look(cell("scores", "query", "key", 1, 3), [scores, query]), look(cell("query", "query", "dim", 2, 1),
          [query, left, right, scores]),
        look(cell("square", "dim", "dim", 0, 1), [square, query]), look(cell("norm", "query", "dim", 1, 0), [query]),
        look(cell("by_loop", "query", "model", 2, 4), [column]), look(cell("scores", "query", "key", 7, 3), [scores]),
        look({ panel: "scores", rows: "query", cols: "key", i: null, j: 2 }, [scores]),
      ];
    """
    found = run("board/panels.ts", PANELS + body)
    assert found[0] == [[1, 3, True, 2], [1, None, False, 2]]
    assert found[1] == [[2, 1, True, 2], [2, None, False, 2], [None, 1, False, 4], [2, None, False, 2]]
    assert found[2] == [[0, 1, True, 1], [None, 0, False, 2]]
    assert found[3] == [[1, 0, False, 2]]
    assert found[4] == [[None, 4, False, 2]]  # what the loop adds up: down to its own row
    assert found[5] == [[None, 3, True, 2]]
    assert found[6] == [[None, 2, True, 2]]


KEYS: list[tuple[str, list[int | None], list[int] | None]] = [
    ("ArrowUp", [1, 2], [0, 2]), ("ArrowUp", [0, 2], [0, 2]), ("ArrowDown", [1, 2], [2, 2]), ("ArrowDown", [2, 2],
      [2, 2]),
    ("ArrowLeft", [1, 2], [1, 1]), ("ArrowRight", [1, 2], [1, 3]), ("ArrowRight", [1, 3], [1, 3]), ("ArrowRight", [1,
      None], [1, 1]),
    ("ArrowDown", [None, 2], [1, 2]), ("Enter", [None, None], [0, 0]), ("Enter", [1, 2], None), ("ArrowUp", [None,
      None], None),
    ("x", [1, 2], None),
]  # fmt: skip


def test_arrow_keys_move_a_pin_and_stop_at_the_ends(run: Run) -> None:
    body = """
      const labels = { query: ["a", "b", "c"], key: ["d", "e", "f", "g"] };
      const press = (key, pin, own = {}, target = document.body) => {
        const event = new KeyboardEvent("keydown", { key, cancelable: true, bubbles: true, ...own });
        let to = null;
        target.addEventListener("keydown", (one) => (to = m.moved(one, { query: pin[0], key: pin[1] }, labels)),
          { once: true });
        target.dispatchEvent(event);
        return [to && [to.query, to.key], event.defaultPrevented];
      };
      const button = document.createElement("button");
      document.body.append(button);
      return [given.map(([key, pin]) => press(key, pin)),
        [press("ArrowUp", [1, 1], { ctrlKey: true }), press("ArrowUp", [1, 1], { altKey: true }), press("Enter",
          [null, null], {}, button)]];
    """
    moves, none = run("board/picture.ts", body, [[key, pin] for key, pin, _ in KEYS])
    assert moves == [[to, to is not None] for *_, to in KEYS]
    assert none == [[None, False]] * 3


def test_a_narrow_picture_is_stacked_with_its_result_above(run: Run) -> None:
    body = """
      const panel = (name, rows, cols, bar = false) => ({ name, shape: [rows, cols], bar });
      const look = (panels, grid) => {
        const { grid: made, widths, heights, panels: shown, apart, tall } = m.stacked({ panels, grid });
        return [made, widths ?? null, heights ?? null, shown.some(({ bar }) => bar), apart ?? false, tall];
      };
      const three = (rows) => [panel("query", rows, 8), panel("key_t", 4, rows), panel("scores", rows, rows, true)];
      return [
        look(three(5), [[0, 1, 2]]), look(three(6), [[0, null, 2]]), look([panel("weights", 7, 7, true),
          panel("row_sum", 7, 1)], [[0, 1]]),
        look([panel("a", 5, 2), panel("b", 5, 3, true)], [[0, 1]]), look([panel("b", 5, 3), panel("c", 5, 3)], [[0,
          1]]),
        look(three(5), [[0], [2]]), look(three(5), [[0], [1], [2]]), look(three(5), [[2]]),
      ];
    """
    found = run("board/stack.ts", body)
    assert found[0] == [[[2], [0], [1]], [1], [1, 1, 1], False, True, False]  # 5 + 5 + 4 rows
    assert found[1] == [[[2], [0]], [1], [1, 1], False, True, False]
    assert found[2] == [[[0, 1]], [1, 0.1], [1], False, True, False]
    assert found[3][0] == [[1], [0]]
    assert found[4][0] == [[0], [1]]
    assert found[5] == [[[0], [2]], None, None, True, False, False]
    assert found[6][5] is True
    assert found[7][0] == [[2]]
    taller = run("board/stack.ts", body.replace("three(5), [[0, 1, 2]]", "three(6), [[0, 1, 2]]"))
    assert taller[0][5] is True


IMAGES = """
  const images = new m.BoardImages();
  const size = (rows, cols = rows) => ({ rows, cols });
  /** A matrix of n x n, shown on `px` pixels. */
  const place = (name, n, px, data = Float32Array.from({ length: n * n }, (_, at) => (at % 7) / 7)) => ({
    panel: { name, data, shape: [n, n], low: 0, high: 1, scale: "weights" }, px,
  });
  const draw = (...places) => places.map((at) => images.of(at, "light", (end) => size(end.px)));
"""


def test_a_board_keeps_the_images_of_what_it_shows_and_of_little_else(run: Run) -> None:
    """Of a text of 1,024 tokens every step would take 8 MB more."""
    body = """
      const steps = Array.from({ length: 6 }, (_, n) => place(`step ${n}`, 600, 600));
      const held = () => images.known.size;
      const counts = steps.map((at) => (draw(at), images.rest(), held()));
      const [last] = draw(steps[5]);
      const isKept = last === draw(steps[5])[0];
      images.rest();
      const small = Array.from({ length: 6 }, (_, n) => place(`small ${n}`, 12, 300));
      for (const at of small) draw(steps[5], at), images.rest();
      const first = draw(small[0])[0];
      const isSmallKept = first === draw(small[0])[0];
      draw(...steps), images.rest();
      return [counts, isKept, isSmallKept, held() >= 6];
    """
    counts, is_kept, is_small_kept, are_all_kept = run("board/images.ts", IMAGES + body)
    assert counts == [1, 1, 1, 1, 1, 1]  # 4.3 MB each, with the matrix
    assert (is_kept, is_small_kept, are_all_kept) == (True, True, True)


def test_a_matrix_that_moves_to_the_next_step_is_coloured_when_it_rests(run: Run) -> None:
    """A morph has a dozen frames: each would colour a million cells."""
    body = """
      const data = Float32Array.from({ length: 64 }, (_, at) => (at % 7) / 7);
      const [from, to] = [place("scores", 8, 8, data), place("scores", 8, 4, data)];
      const [before] = draw(from);
      images.rest();
      const moving = [0.2, 0.8].map((t) => draw({ ...to, mix: { from, to, t } })[0] === before);
      const [after] = draw(to);
      const made = { ...place("scaled", 8, 4), mix: null };
      made.mix = { from: to, to: place("scaled", 8, 4, made.panel.data), t: 0 };
      const first = [draw(made)[0] === after, images.known.has(made.panel.data)];
      made.mix.t = 0.5;
      draw(made);
      const during = images.mixing.size;
      draw(made.mix.to);
      images.rest();
      const fresh = new m.BoardImages().of({ ...to, mix: { from, to, t: 0.5 } }, "light", (end) => size(end.px));
      return [moving, [before.width, after.width], first, [during, images.mixing.size], fresh.width];
    """
    moving, sizes, first, mixing, fresh = run("board/images.ts", IMAGES + body)
    assert (moving, sizes, mixing, fresh) == ([True, True], [8, 4], [1, 0], 4)
    assert first == [True, False], "the first frame shows the step before, and colours nothing"


def test_a_matrix_whose_limits_change_on_its_way_is_coloured_half_way(run: Run) -> None:
    body = """
      const data = Float32Array.from({ length: 64 }, (_, at) => (at % 7) / 7);
      const [from, to] = [place("scores", 8, 8, data), place("scores", 8, 8, data)];
      to.panel.high = 4;
      const pixel = (t) => {
        const [canvas] = draw({ ...to, mix: { from, to, t } });
        return [...canvas.getContext("2d").getImageData(6, 0, 1, 1).data].join();
      };
      const still = (at) => [...draw(at)[0].getContext("2d").getImageData(6, 0, 1, 1).data].join();
      const before = still(from);
      const moving = [0, 0.4, 0.6, 1].map(pixel);
      const after = still(to);
      return [before, moving, after, [1, 0.6, 0.4, 0].map(pixel)];
    """
    before, moving, after, back = run("board/images.ts", IMAGES + body)
    assert before != after
    assert moving == [before, before, after, after]
    assert back == [after, after, before, before]


def test_a_morph_begins_with_its_first_frame_however_long_the_page_took_to_lay_it_out(run: Run) -> None:
    body = """
      let now = 1000;
      performance.now = () => (now += 0.1);
      const place = (name, x) => ({ panel: { name, shape: [2, 2] }, x, y: 0, width: 10, height: 10 });
      return [false, true].map((backwards) => {
        const morph = new m.Morph();
        morph.start([place("scores", 0)], [place("scores", 100)], backwards);
        now += 90;
        const seen = () => (morph.advance(), morph.places?.[0].x ?? null);
        return [seen(), (now += 130, seen()), (now += 130, seen())];
      });
    """
    for start, middle, end in run("board/morph.ts", body):
        assert start == 0
        assert middle == pytest.approx(50, abs=1)
        assert end is None, "the picture rests"


def test_pictures_of_two_sizes_mix_to_the_second(run: Run) -> None:
    """A matrix of a long text is pooled to other pixels where the next step leaves it another place."""
    body = """
      const grey = (x) => (0xff000000 | (x << 16) | (x << 8) | x) >>> 0;
      const of = (width, height, values) => ({ width, height,
        pixels: Uint32Array.from(values, (x) => (x === null ? 0 : grey(x))) });
      const [a, b] = [of(4, 2, [0, 10, 20, 30, 40, 50, 60, 70]), of(2, 1, [100, 200])];
      const look = (from, to, share) => [...m.mixPixels(from, to, share).pixels].map((x) => [x >>> 24, x & 255]);
      return [
        look(a, b, () => 0), look(a, b, () => 0.5), look(a, b, () => 1), look(b, a, (i, j) => (j < 2 ? 0 : 1)),
        look(of(2, 1, [null, 80]), of(2, 1, [60, null]), () => 0.5),
      ];
    """
    start, middle, end, larger, hidden = run("board/image.ts", body)
    assert start == [[255, 0], [255, 20]]
    assert middle == [[255, 50], [255, 110]]
    assert end == [[255, 100], [255, 200]]
    assert larger == [[255, 100], [255, 100], [255, 20], [255, 30], [255, 100], [255, 100], [255, 60], [255, 70]]
    assert hidden == [[127, 60], [127, 80]]


def test_a_step_s_matrix_turns_into_one_of_its_shape_only(run: Run) -> None:
    body = """
      const place = (name, shape, from) => ({ panel: { name, shape, made_from: from && { name: from } } });
      const look = (before, after) => m.pairs(before, after).map(({ from, to }) => [from?.panel.name ?? null,
        to?.panel.name ?? null]);
      return [
        look([place("a", [2, 3])], [place("a", [2, 3])]), look([place("a", [2, 3])], [place("a", [2, 4])]),
        look([place("a", [2, 3])], [place("b", [2, 3], "a"), place("a", [2, 3])]), look([place("a", [3, 2])],
          [place("b", [2, 3], "a")]),
      ];
    """
    assert run("board/morph.ts", body) == [
        [["a", "a"]], [[None, "a"], ["a", None]], [["a", "b"], ["a", "a"]], [[None, "b"], ["a", None]],
    ]  # fmt: skip


def test_a_number_in_a_cell_has_a_true_minus_and_no_negative_zero(run: Run) -> None:
    texts = {(0.004, 2): "0.00", (-0.004, 2): "0.00", (-0.006, 2): "−0.01", (1.25, 1): "1.2", (-3, 1): "−3.0"}
    texts[12.346, 2] = "12.35"
    assert run("core/format.ts", "return given.map((one) => m.fixed(...one))", [*texts]) == [*texts.values()]


def test_what_is_known_of_a_matrix_is_looked_at_once(run: Run) -> None:
    body = """
      const look = (...data) => {
        const kinds = { rows: "query", cols: "other" };
        const panel = { data: Float32Array.from(data), shape: [2, data.length / 2], title: "T", ...kinds };
        const { z, gaps, seen, largest } = m.complete(panel);
        return [z.map((row) => row.length), gaps, seen, largest, m.complete(panel).z === z, m.describe(panel)];
      };
      const logits = { title: "T", rows: "query", cols: "vocabulary", data: Float32Array.from([1]), shape: [1, 1] };
      return [look(-3, 1, 2, 0), look(NaN, 1, 2, NaN), look(NaN, NaN),
        look(...Array(2400).fill(1)).slice(3), [m.describe(logits, true), m.rowsText(logits)]];
    """
    assert run("board/panel.ts", body) == [
        [[2, 2], False, [-3, 2], 3, True, "T, 2 rows: query (from), 2 columns, numbers from −3.00 to 2.00"],
        [[2, 2], True, [1, 2], 2, True, "T, 2 rows: query (from), 2 columns, numbers from 1.00 to 2.00"],
        [[1, 1], True, None, 0, True, "T, 2 rows: query (from), 1 column"],
        [1, True, "T, 2 rows: query (from), 1,200 columns, numbers from 1.00 to 1.00"],
        ["T, 1 row: position, 1 column: token of the vocabulary", "rows: position"],
    ]  # fmt: skip


REGION = """
  const regions = new m.Regions(document.createElementNS("http://www.w3.org/2000/svg", "svg"));
  const draw = (region) => {
    regions.begin();
    regions.draw({ panel: scores, rows: [0, 2], columns: [0, 3], ...region }, "red");
    regions.end();
    return regions.paths.filter((one) => one.dataset.state === "hovered").map((one) => [one.dataset.shape,
      one.getAttribute("d")]);
  };
"""


def test_a_part_of_a_matrix_is_outlined_where_it_ends(run: Run) -> None:
    body = """
      return [
        draw({ columns: [1, 2] }), draw({ isInside: (i, j) => j > i }), draw({ isInside: () => false }),
        draw({ panel: zoomed, rows: [0, 29], columns: [0, 39] }), draw({ panel: zoomed, rows: [0, 3], columns: [0,
          39] }),
      ];
    """
    whole, upper, nothing, cut, away = run("board/overlay_regions.ts", PANELS + REGION + body)
    box = "M110 50H130V110H110Z"  # columns 1 and 2, of 10 px each, from 100 px on
    assert whole == [["region", box], ["region-edge", box]]
    assert upper[0] == ["region", "M110 50H140V70H110ZM120 70H140V90H120ZM130 90H140V110H130Z"]
    edges = {f"M{one}" for one in upper[1][1].split("M")[1:]}
    assert edges == {
        "M110 50H140", "M110 70H120", "M120 90H130", "M130 110H140", "M110 50V70", "M120 70V90", "M130 90V110",
        "M140 50V110",
    }  # fmt: skip
    assert nothing == away == []
    assert cut[0][1] == "M0 0H100V100H0Z"


def test_cells_that_are_not_computed_yet_or_left_out_are_not_hatched(run: Run) -> None:
    body = """
      const root = document.createElement("div");
      Object.assign(root.style, { width: "400px", height: "300px" });
      document.body.append(root);
      const { Pen } = await import("/frontend/pen/pen.ts");
      const board = new m.Board(root, {});
      const all = [{ row: 0, column: 0, rows: 2, columns: 3 }];
      return [{ is_blank: true }, { blank: all }, {}].map((own) => {
        const data = new Float32Array(6).fill(NaN);
        const panel = { name: "a", title: "a", role: null, rows: "r", cols: "c", low: 0, high: 1, scale: "weights",
          shape: [2, 3], data, ...own };
        board.show({ panels: [panel], grid: [[0]], labels: {} });
        const pen = new Pen();
        board.paint(pen, { theme: "light" });
        return pen.marks.flatMap(({ fill, stroke }) => [fill, stroke]).filter(Boolean);
      });
    """
    blank, left_out, masked = run("board/board.ts", body)
    ground, hatching = "#f3f3f7", "#afafbb"
    assert ground in blank
    assert hatching not in blank
    assert left_out[-1] != hatching
    assert ground in left_out
    assert ground not in masked
    assert hatching in masked


def test_all_marks_of_a_zoomed_matrix_stand_at_their_cells(run: Run) -> None:
    body = """
      const { typeFor } = await import("/frontend/core/type.ts");
      const { COVER, INK } = await import("/frontend/core/colours.ts");
      const calls = [];
      const known = { globalAlpha: 1, measureText: (text) => ({ width: 7 * text.length }), createPattern: () => null };
      const context = new Proxy(known, {
        get: (own, name) => own[name] ?? ((...given) => void calls.push([name, own.fillStyle, ...given])),
      });
      const image = { width: 12, height: 3 };
      const panel = { name: "a", title: "a", role: null, rows: "r", cols: "c", low: 0, high: 17, largest: 17,
        seen: [0, 17], scale: "weights", shape: [3, 6], data: Float32Array.from({ length: 18 }, (_, n) => n),
        numbered: true, bar: true, parts: { width: 2, followed: 2 } };
      const place = { panel, x: 100, y: 50, width: 400, height: 120, titleRoom: { title: 200, about: 200, axis: 200 },
        covers: (i, j) => i === 1 && j === 3, blank: [{ row: 2, column: 4, rows: 1, columns: 2 }] };
      const view = (kind) => (kind === "r" ? [1, 3] : [2, 6]);
      m.paintPlace({ context, theme: "light", font: "serif", type: typeFor(), view, written: [] }, place, image);
      const of = (name, style) => calls.filter(([called, filled]) => called === name && (!style || filled === style))
        .map(([, , ...given]) => given);
      return {
        image: of("drawImage").map(([, ...given]) => given), covers: of("fillRect", COVER.light),
        blank: of("fillRect", "#F3F3F7"), grid: of("fillRect", INK.light.canvas), heads: of("fillRect", INK.light.rule),
        followed: of("strokeRect"), texts: of("fillText"), bar: of("fillRect").filter(([left]) => left === 510),
      };
    """
    found = run("board/paint.ts", body)  # four columns of 100 px and two rows of 60 px are in view
    assert found["image"] == [[4, 1, 8, 2, 100, 50, 400, 120]]
    assert found["covers"] == [[200.5, 50.5, 99, 59]]
    assert found["blank"] == [[300, 110, 200, 60]]
    down = [[x - 0.5, 50, 1, 120] for x in (100, 200, 300, 400, 500)]
    assert found["grid"] == down + [[100, y - 0.5, 400, 1] for y in (50, 110, 170)]
    assert found["heads"] == [down[0], down[2]], "between each two heads"
    assert found["followed"] == [[100, 50, 400, 120], [300, 50, 200, 120]]
    numbers = [["?", 250, 80.5], ["8.0", 150, 80.5], ["10.0", 350, 80.5], ["11.0", 450, 80.5], ["14.0", 150, 140.5],
               ["15.0", 250, 140.5]]  # fmt: skip
    title = [["a", 100, 29], ["3 × 6", 100, 44]]  # numbers of a matrix with covered cells would tell what they hide
    assert found["texts"] == numbers + title + [["17.0", 523, 97], ["8.5", 523, 131], ["0", 523, 165]]
    assert (len(found["bar"]), found["bar"][0][1], found["bar"][-1][1]) == (64, 92, pytest.approx(92 + 78 * 63 / 64))


def test_fingers_and_wheels_zoom_and_scroll_the_matrix_under_them(run: Run) -> None:
    body = """
      const element = document.body.appendChild(document.createElement("div"));
      Object.assign(element.style, { position: "fixed", left: "20px", top: "30px", width: "300px", height: "300px" });
      let calls = [];
      const views = {
        zoom: (kind, count, at, factor) => calls.push(["zoom", kind, count, at, factor]),
        scroll: (kind, count, by) => calls.push(["scroll", kind, count, by]), span: (kind, count) => count / 2,
        reset: () => calls.push(["reset"]),
      };
      const board = { element, views, panels: () => [scores, query], viewChanged: () => calls.push(["changed"]),
        zoomBy: (factor) => calls.push(["by", factor]), toggleTable: async () => {} };
      const pointer = new m.BoardPointer(board);
      const did = (Made, name, own) => {
        calls = [];
        const event = new Made(name, { cancelable: true, bubbles: true, buttons: 1, ...own });
        element.dispatchEvent(event);
        return [...calls, ...(event.defaultPrevented ? ["prevented"] : [])];
      };
      const finger = (name, pointerId, x, y) =>
        did(PointerEvent, `pointer${name}`, { pointerId, clientX: 20 + x, clientY: 30 + y });
      const wheel = (own, x = 110, y = 60) => did(WheelEvent, "wheel", { clientX: 20 + x, clientY: 30 + y, ...own });
      const key = (own) => did(KeyboardEvent, "keydown", own);
      finger("down", 1, 105, 55);
      const drags = [finger("move", 1, 108, 59), finger("move", 1, 109, 59), finger("move", 1, 119, 69)];
      const pinch = [finger("down", 2, 119, 99), finger("move", 2, 119, 84)];
      const left = ["up", "cancel", "leave"].map((how) => {
        finger("down", 2, 119, 99);
        finger(how, 2, 119, 99);
        return finger("move", 1, 119, 69);
      });
      finger("down", 3, 5, 5);
      const beside = finger("move", 3, 100, 100);
      const wheels = [wheel({ deltaY: 20 }), wheel({ deltaX: 10, deltaY: 20 }), wheel({ deltaY: 20, shiftKey: true }),
        wheel({ deltaY: 25, ctrlKey: true }), wheel({ deltaY: 25, metaKey: true }, 15, 60),
        wheel({ deltaY: 25 }, 5, 5)];
      const keys = [{ key: "+" }, { key: "=" }, { key: "-" }, { key: "0" }, { key: "x" }, { key: "0", altKey: true },
        { key: "0", ctrlKey: true }, { key: "+", metaKey: true }].map(key);
      pointer.destroy();
      return { drags, pinch, left, beside, wheels, keys, after: [key({ key: "0" }), wheel({ deltaY: 20 })] };
    """
    found = run("board/pointer.ts", PANELS + body)  # scores: 4 columns of 10 px and 3 rows of 20 px, half of them seen
    across, down = ["scroll", "key", 4], ["scroll", "query", 3]
    assert found["drags"] == [
        [],  # 5 px are a click
        [[*across, pytest.approx(-0.05)], ["changed"]],
        [[*across, pytest.approx(-0.5)], [*down, pytest.approx(-0.25)], ["changed"]],
    ]
    zooms = [["zoom", "key", 4, pytest.approx(1.9), 2], ["zoom", "query", 3, pytest.approx(1.325), 2]]
    assert found["pinch"] == [[], [*zooms, ["changed"]]]
    assert found["left"] == [[]] * 3, "one finger, which does not move"
    assert found["beside"] == []
    larger = pytest.approx(math.exp(0.1))
    assert found["wheels"] == [
        [[*down, 0.5], ["changed"], "prevented"],
        [[*across, 0.5], [*down, 0.5], ["changed"], "prevented"],
        [[*across, 1], ["changed"], "prevented"],
        [["zoom", "key", 4, 1, larger], ["zoom", "query", 3, 0.5, larger], ["changed"], "prevented"],
        [["zoom", "dim", 2, 0.5, larger], ["zoom", "query", 3, 0.5, larger], ["changed"], "prevented"],
        [],
    ]
    closer, away, whole = (
        [*calls, "prevented"] for calls in ([["by", 1 / 1.6]], [["by", 1.6]], [["reset"], ["changed"]])
    )
    assert found["keys"] == [closer, closer, away, whole, [], [], [], []]
    assert found["after"] == [[], []]


def test_one_matrix_takes_the_picture_and_gives_it_back(run: Run) -> None:
    body = """
      const { Board } = await import("/frontend/board/board.ts");
      const root = document.createElement("div");
      Object.assign(root.style, { width: "600px", height: "300px" });
      document.body.append(root);
      const board = new Board(root, {});
      const chosen = [];
      const focus = new m.Focus(board, (name) => chosen.push(name));
      const panel = (name) => ({ name, title: `the ${name}` });
      const picture = { panels: [panel("a"), panel("b")], grid: [[0, 1]], widths: [1, 2], heights: [1], between: "=",
        labels: {} };
      const whole = focus.of(picture) === picture;
      focus.name = "b";
      const { panels, away, grid, widths, between } = focus.of(picture);
      const alone = [panels.map(({ name, bar }) => [name, bar]), away.map(({ name }) => name), grid, widths, between];
      focus.name = "gone";
      const gone = focus.of(picture) === picture;
      const places = (...names) => names.map((name) => ({ panel: { ...panel(name), shape: [40, 3] }, x: 50, y: 80,
        width: 9, height: 9 }));
      const buttons = (name, ...names) => {
        focus.name = name;
        Object.defineProperty(board, "places", { value: places(...names), configurable: true });
        Object.defineProperty(board, "changing", { value: false, configurable: true });
        focus.placeButtons();
        return [...focus.buttons.children].map((one) => [one.title, one.textContent, one.hasAttribute("data-needed")]);
      };
      const shown = [buttons(null, "a", "b"), buttons(null, "a"), buttons("a", "a")];
      focus.buttons.children[0].click();
      buttons(null, "a", "b");
      focus.buttons.children[1].click();
      const key = (name, query = null) => {
        board.lights.pinned = { query, key: null };
        focus.key(new KeyboardEvent("keydown", { key: name, cancelable: true }));
      };
      key("Escape");
      focus.name = "a";
      key("Escape", 1); key("x"); key("Escape");
      return { whole, alone, gone, shown, chosen };
    """
    found = run("board/focus.ts", body)
    assert found["whole"] and found["gone"]
    assert found["alone"] == [[["b", True]], ["a"], [[0]], [1], None]
    assert found["shown"] == [
        [["Focus on the a", "⤢", False], ["Focus on the b", "⤢", False]], [], [["Show all matrices", "✕", True]],
    ]  # fmt: skip
    assert found["chosen"] == [None, "b", None]


def test_axes_scroll_only_where_they_are_zoomed(run: Run) -> None:
    body = """
      const views = new m.AxisViews();
      const seen = [views.scroll("key", 100, 5), views.zoom("", 100, 5, 0.5), views.zoomed, views.zoom("dim", 4, 1,
        0.5), views.zoomed];
      views.zoom("key", 100, 50, 0.2);
      seen.push(views.of("key", 100), views.of("key", 99), views.span("key", 100), views.scroll("key", 100, -3),
        views.of("key", 100));
      views.reveal("key", 100, 37); seen.push(views.of("key", 100));
      views.reveal("key", 100, 36); seen.push(views.of("key", 100));
      views.reveal("key", 100, 56); seen.push(views.of("key", 100));
      seen.push(views.scroll("key", 100, 900), views.scroll("key", 100, 1), views.scroll("", 100, 1));
      views.reset();
      return [...seen.map((one) => one ?? null), views.zoomed];
    """
    assert run("board/view.ts", body) == [
        False, None, False, None, False, [40, 60], [0, 99], 20, True, [37, 57], [37, 57], [36, 56], [37, 57], True,
          False, False, False,
    ]  # fmt: skip


# ---- what all views share


def test_darkened_colours_end_where_nine_rows_of_ten_do(run: Run) -> None:
    cases: list[tuple[list[Any], int, float]] = [
        ([[0.2, 0.5], [0.4, 0.62]], 2, 0.62),
        ([[0.2, 0.799], [0.1, 0.2]], 2, 0.799),
        ([[0.2, 0.801], [0.1, 0.2]], 2, 1),  # that would hardly be seen
        ([[None, None]], 2, 1),
        ([[None, 0.25], [None, None]], 2, 0.25),
        ([[0.01 * n] + [0.0] * 39 for n in range(1, 11)], 40, 0.09),  # of ten rows, one has a weight above it
        ([[None] * 40] * 20 + [[0.01 * n] + [0.0] * 39 for n in range(1, 11)], 40, 0.09),  # hidden rows do not count
        ([[0.01 * n] + [0.0] * 38 for n in range(1, 11)], 39, 0.1),
    ]  # fmt: skip
    body = """return given.map(([rows, columns]) =>
      m.darkenedLimit([Float32Array.from(rows.flat(), (x) => x ?? NaN)], columns))"""
    ends = run("core/colour_limit.ts", body, [case[:2] for case in cases])
    assert ends == pytest.approx([end for *_, end in cases], abs=1e-6)


def test_colours_end_where_pythons_do(run: Run) -> None:
    """Numbers with and without a few that would make all others almost white, and hidden ones."""
    random = np.random.default_rng(0)
    matrices = [random.normal(size=n).astype(np.float32) for n in (1, 4, 50, 51, 101, 6144)]
    for factor in (4, 60):
        other = matrices[-1].copy()
        other[::97] *= factor
        matrices.append(other)
    few = np.zeros(400, np.float32)
    few[:6] = [-7, 5, 0.25, -0.0, 1e-40, 1e-44]  # and below what floats hold in full
    matrices[:0] = [few, np.where(few == 0, np.float32(1e-40), few)]
    matrices += [np.zeros(9, np.float32), np.eye(60, dtype=np.float32).ravel()]
    expected = [colour_limit(values) for values in matrices]
    assert expected[-3] < np.abs(matrices[-3]).max() / 2
    given = [[None, *map(float, values)] for values in matrices]
    body = """
      const data = given.map((values) => Float32Array.from(values, (x) => x ?? NaN));
      // In a file, one matrix lies behind another.
      const behind = data.map((values) => Float32Array.of(99, ...values, 99).subarray(1, values.length + 1));
      return [data.map((one) => m.colourLimit([one])), m.colourLimit(data), behind.map((one) => m.colourLimit([one]))];
    """
    found, together, in_file = run("core/colour_limit.ts", body, given)
    assert found == in_file == expected
    assert together == max(expected)


def test_a_switch_darkens_by_itself_in_a_long_text(run: Run) -> None:
    body = """
      return [39, 40].map((columns) => ["0", "1", "off"].map((stretch) => [m.darkens(stretch, columns),
        m.turned(stretch, columns)])).concat(
        [[0.125, 0.115, 0.1349, 0.0625, 0.00012, 0.5, 1].map(m.endText)]);
    """
    short, long, texts = run("core/colour_limit.ts", body)
    assert short == [[False, "1"], [True, "0"], [False, "1"]]
    assert long == [[True, "off"], [True, "off"], [False, "0"]]
    # Python's rule: of two that are equally near, the even one.
    assert texts == [f"{x:.2g}" for x in (0.125, 0.115, 0.1349, 0.0625, 0.00012, 0.5, 1)]


def test_keys_are_shortcuts_unless_somebody_types_or_answers_them(run: Run) -> None:
    body = """
      const press = (own = {}, target = document.body, before = () => {}) => {
        let is = null;
        target.addEventListener("keydown", before, { once: true });
        document.addEventListener("keydown", (event) => (is = m.isShortcut(event)), { once: true });
        target.dispatchEvent(new KeyboardEvent("keydown", { key: "h", bubbles: true, cancelable: true,
          composed: true, ...own }));
        return is;
      };
      const inside = (html) => {
        const box = document.createElement("div");
        box.innerHTML = html;
        document.body.append(box);
        const found = press({}, box.querySelector("[data-at]") ?? box.firstElementChild);
        box.remove();
        return found;
      };
      const names = [["h", false], ["H", true], ["H", false], ["?", true], ["PageDown", true], ["ß", true], ["1", true]]
        .map(([key, shiftKey]) => m.pressed({ key, shiftKey }));
      return {
        names, plain: press(), held: ["ctrlKey", "altKey", "metaKey",
          "isComposing"].map((name) => press({ [name]: true })), shift: press({ shiftKey: true }),
        answered: press({}, document.body, (event) => event.preventDefault()),
        typed: ["<input>", "<textarea></textarea>", "<select></select>", "<div contenteditable></div>",
          "<div role=slider></div>",
          "<div role=listbox><p data-at></p></div>", "<dialog open><button data-at></button></dialog>"].map(inside),
        free: ["<input type=checkbox>", "<input type=radio>", "<button></button>", "<p></p>"].map(inside),
        modal: inside("<div role=dialog aria-modal=true></div><p data-at></p>"),
      };
    """
    found = run("core/keys.ts", body)
    assert found["names"] == ["h", "Shift+h", "h", "?", "PageDown", "Shift+ß", "1"]
    assert (found["plain"], found["shift"], found["answered"], found["modal"]) == (True, True, False, False)
    assert found["held"] == [False] * 4
    assert found["typed"] == [False] * 7
    assert found["free"] == [True] * 4


def test_a_lecture_has_a_clock_and_a_black_screen(run: Run) -> None:
    body = """
      let now = 1_000_000;
      Date.now = () => now;
      sessionStorage.clear();
      const hall = new m.Hall(document.body);
      const look = () => [hall.timer.hidden, hall.timer.textContent, hall.black.hidden];
      hall.set(true);
      const looks = [look()];
      hall.acts.timer();
      looks.push(look());
      now += 65_900;
      hall.set(true);  // another page of the same lecture
      looks.push(look());
      hall.acts.black();
      looks.push(look());
      const key = () => {
        const event = new KeyboardEvent("keydown", { key: "h", bubbles: true, cancelable: true });
        document.body.dispatchEvent(event);
        return event.defaultPrevented;
      };
      const woken = [key(), key()];
      hall.acts.black();
      hall.black.click();
      looks.push(look());
      hall.acts.timer();
      looks.push(look());
      hall.acts.timer(); hall.acts.black();
      hall.set(false);
      looks.push(look());
      hall.set(true);
      hall.acts.timer();
      looks.push(look());
      hall.destroy();
      return { looks, woken, times: [0, 59, 60, 3661].map(m.minutes) };
    """
    found = run("core/hall.ts", body)
    assert found["looks"] == [
        [True, "0:00", True], [False, "0:00", True], [False, "1:05", True], [False, "1:05", False], [False, "1:05",
        True],
        [True, "1:05", True], [True, "0:00", True], [False, "0:00", True],
    ]  # fmt: skip
    assert found["woken"] == [True, False]  # the key that wakes does nothing else
    assert found["times"] == ["0:00", "0:59", "1:00", "61:01"]


def test_type_grows_with_the_least_that_may_be_on_the_screen(run: Run) -> None:
    body = """
      const least = [m.leastType()];
      document.documentElement.style.cssText = "--least-type: 1.5; font-size: 20px";
      least.push(m.leastType());
      let measured = 0;
      const width = m.measurer({ measureText: (text) => (measured += 1, { width: text.length }) }, "f");
      const widths = [width("ab"), width("ab"), width("c"), measured];
      return { least, types: [m.typeFor(), m.typeFor(18), m.typeFor(9), m.typeFor(18, { label: 9, fine: 20 })],
        widths };
    """
    found = run("core/type.ts", body)
    assert found["least"] == [0, 30]
    assert found["widths"] == [2, 2, 1, 2]
    assert found["types"] == [
        {"least": 0, "unit": 1, "label": 12, "fine": 11}, {"least": 18, "unit": 1.5, "label": 18, "fine": 18},
        {"least": 9, "unit": 1, "label": 12, "fine": 11}, {"least": 18, "unit": 2, "label": 18, "fine": 20},
    ]  # fmt: skip


def test_elements_are_made_of_text_and_the_theme_is_the_background_s(run: Run) -> None:
    body = """
      const made = m.element("button", { class: "a b", dataset: { x: "1" }, type: "button", "aria-label": "L" },
        "<b>", m.span("c", "d"));
      const shade = (colour) => {
        document.body.style.setProperty("--st-background-color", colour);
        return m.theme(document.body);
      };
      const { result, write } = await import("/frontend/core/template.ts");
      const room = m.element("p");
      write(room, result(0.126, "0.13", "result", "t"));
      let changes = 0;
      const text = m.element("p", {}, "same");
      const watch = new MutationObserver((all) => (changes += all.length));
      watch.observe(text, { childList: true });
      m.setText(text, "same");
      changes += watch.takeRecords().length;
      const works = [];
      const task = m.perFrame(() => works.push(1));
      task(); task();
      await new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
      task(); task.cancel();
      await new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
      task();
      await new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
      return {
        html: made.outerHTML, number: room.innerHTML, changes, works: works.length,
        shades: ["#fff", "#20202b", "#808080", "#7f7f7f", "rgb(0, 255, 0)", "rgb(255, 0, 255)"].map(shade),
        same: [m.isAsBefore([1, NaN], [1, NaN]), m.isAsBefore([1, 2], [1, 2]), m.isAsBefore([1], [1, 2]),
          m.isAsBefore([], [])],
      };
    """
    found = run("core/dom.ts", body)
    assert found["html"] == (
        '<button class="a b" data-x="1" type="button" aria-label="L">&lt;b&gt;<span class="c">d</span></button>'
    )
    assert found["number"] == '<b class="result" title="t" data-value="0.126" data-result="">0.13</b>'
    assert found["changes"] == 0
    assert found["works"] == 2
    assert found["shades"] == ["light", "dark", "light", "dark", "light", "dark"]
    assert found["same"] == [False, True, False, True]


def test_names_and_numbers_are_written_as_the_figures_write_them(run: Run) -> None:
    body = """
      const cell = (name, rows, cols, i, j) => m.cellName({ name, rows, cols }, i, j);
      return [
        cell("query", "query", "dim", 3, 5), cell("key_t", "dim", "key", 1, 2), cell("W_output", "concat", "model",
          0, 1),
        cell("feed_forward_hidden", "query", "hidden", 2, 9), cell("embeddings_k", "key", "model", 4, 0),
          cell("by_data", "query", "head", 1, 1),
        m.number(Infinity), m.number(NaN), m.number(999999.99999), m.number(1e6), m.number(-2.5e7, 1), m.number(0, 2),
        m.fixed(0.125), m.fixed(0.375), m.fixed(-0.001), m.fixed(2.5, 0), m.fixed(3.5, 0),
        m.weightText(0.00005), m.weightText(0.00004999), m.weightText(0.05, 1), m.weightText(0.04, 1), m.subscript(-10),
      ];
    """
    assert run("core/format.ts", body) == [
        "query[3, dim 5]", "keyᵀ[dim 1, 2]", "W_O[column 0, feature 1]", "feed_forward_hidden[2, neuron 9]",
        "X[4, feature 0]",
        "Y[1, head 1]", "∞", "NaN", "1000000.0000", "1.0000e6", "−2.5e7", "0.00", "0.12", "0.38", "0.00", "2", "4",
        "0.0001",
        "< 0.0001", "≈ 0.1", "< 0.1", "-₁₀",
    ]  # fmt: skip


def test_attention_is_torch_s_with_masks_of_each_kind(run: Run) -> None:
    body = """
      const none = [m.maskTerm(null, 0, 3, 4), m.maskTerm("causal", 1, 1, 4), m.maskTerm("causal", 1, 2, 4),
        m.maskTerm(Uint8Array.of(1, 0, 1, 1), 1, 1, 2), m.maskTerm(Uint8Array.of(1, 0, 1, 1), 0, 1, 2),
        m.maskTerm(Float32Array.of(0, -0.5, 2, 0), 1, 0, 2)];
      const soft = (...row) => { const { weights, shift, sum,
        allHidden } = m.softmax(Float64Array.from(row)); return [[...weights], shift, sum, allHidden]; };
      return [none, soft(0, Math.log(3)), soft(-Infinity, -Infinity), soft(-Infinity, 80), soft(81, 81), soft(-90,
        -Infinity),
        [...m.weighted(Float64Array.of(0.5, 0, 0.5), Float32Array.of(1, 2, NaN, NaN, 5, 6), 2)], m.dot([9, 9, 1, 2],
          1, [3, 4, 9, 9], 0, 2)];
    """
    found = run("core/attention.ts", body)
    hidden = float("-inf")
    assert found[0] == [0, 0, hidden, 0, hidden, 2]
    assert found[1] == [pytest.approx([0.25, 0.75]), 0, pytest.approx(4), False]
    assert found[2] == [[0, 0], 0, 0, True]
    assert found[3][:2] == [[0, 1], 0]
    assert found[4] == [[0.5, 0.5], 81, 2, False]
    assert found[5] == [[1, 0], -90, 1, False]
    assert found[6:] == [[3, 4], 11]


def test_rows_in_words_name_torch_s_largest_shares_and_ends_and_tell_nothing_that_is_covered(run: Run) -> None:
    names = [f"w{j}" for j in range(9)]
    weights = torch.softmax(4 * torch.randn(9, 9, generator=torch.Generator().manual_seed(3)), dim=1)
    scores = torch.randn(2, 700, generator=torch.Generator().manual_seed(4))
    scores[1, 5:] = torch.nan
    body = """
      const said = ({ data, ...panel }, covers) =>
        [...m.rowsSaid({ data: Float32Array.from(data, (x) => x ?? NaN), ...panel }, { query: given.names, key:
          given.names }, covers)];
      return [said(given.weights, (i, j) => i === 4 && j !== 2), said(given.scores, null), said(given.high, null)];
    """
    known = [None if torch.isnan(x) else float(x) for x in scores.flatten()]
    given = {
        "names": names,
        "weights": {"data": weights.flatten().tolist(), "shape": [9, 9], "rows": "query", "cols": "key",
                    "scale": "weights"},
        "scores": {"data": known, "shape": [2, 700], "rows": "query", "cols": "dim", "scale": "signed"},
        "high": {"data": [1.0] * 600, "shape": [600, 1], "rows": "dim", "cols": "key", "scale": "signed"},
    }  # fmt: skip
    shares, ends, high = run("board/rows.ts", body, given)
    assert len(shares) == 9
    assert shares[4] == "row 4 “w4”: covered"
    for i in (0, 3, 8):
        top = weights[i].topk(5)
        needed = 1 + int((top.values.cumsum(0) < 0.95).sum())
        said = shares[i].removeprefix(f"row {i} “w{i}”: ").split(", ")
        assert [one.split(" ")[0] for one in said[:needed]] == [str(int(j)) for j in top.indices[:needed]]
        first = float(top.values[0])
        assert said[0] == f"{int(top.indices[0])} “w{int(top.indices[0])}” {percent(first)}"
        assert said[-1].startswith(f"{9 - min(needed, 5)} others ")
    low, most = int(scores[0].argmin()), int(scores[0].argmax())
    largest, smallest = f"{scores[0, most]:.2f} at dim {most}", f"−{-scores[0, low]:.2f} at dim {low}"
    assert ends[0] == f"row 0 “w0”: largest {largest}, smallest {smallest}"
    assert ends[1].endswith("; 695 hidden")
    assert high[0] == "row dim 0: 1.00 everywhere"
    assert high[512:] == ["88 further rows are not listed"]


def test_a_token_from_right_to_left_leaves_what_stands_around_it_in_its_order(run: Run) -> None:
    body = """
      const line = document.body.appendChild(document.createElement("p"));
      const order = (quoted) => {
        line.textContent = `${quoted("שלום")}: 97 %, ${quoted("עולם")}: 1 %`;
        const [text] = line.childNodes;
        const left = (word) => {
          const range = document.createRange();
          const at = text.data.indexOf(word);
          range.setStart(text, at);
          range.setEnd(text, at + word.length);
          return range.getBoundingClientRect().left;
        };
        const words = ["שלום", "97", "עולם", "1 "];
        return words.slice().sort((a, b) => left(a) - left(b));
      };
      return [order(m.quoted), order((token) => `“${token}”`), m.quoted("it")];
    """
    isolated, plain, latin = run("core/format.ts", body)
    assert isolated == ["שלום", "97", "עולם", "1 "]
    assert plain != isolated, "without it the numbers change places"
    assert latin == "“it”"


def test_matrices_stand_in_the_grid_in_which_their_cells_are_largest(run: Run) -> None:
    rows = {
        (1, 1200, 300): [1], (5, 1200, 240): [5], (5, 700, 900): [1, 2, 2], (9, 1200, 340): [4, 5],
        (5, 390, 300): [1, 1, 1, 1, 1], (9, 390, 300): [1, 2, 2, 2, 2],
    }  # fmt: skip
    body = "return given.map(([count, width, height]) => m.gridOf(Array(count).fill([16, 16]), { width, height }));"
    for case, grid in zip(rows, run("matrix/arrange.ts", body, [*rows]), strict=True):
        assert [place for row in grid for place in row if place is not None] == list(range(case[0])), case
        assert [sum(place is not None for place in row) for row in grid] == rows[case], case
        assert len({len(row) for row in grid}) == 1, case


def test_matrices_of_different_shapes_stand_in_one_row_or_one_below_the_other(run: Run) -> None:
    body = "return [900, 390].map((width) => m.gridOf([[5, 16], [5, 5]], { width, height: 300 }));"
    assert run("matrix/arrange.ts", body) == [[[0, 1]], [[0], [1]]]


MATRIX = """
  const host = { send: (message) => (sent.push(message.values), false), server: "" };
  const sent = [];
  const root = document.body.appendChild(document.createElement("div"));
  root.style.cssText = "width: 900px; height: 400px";
  const component = new m.default(root, host);
  const panel = (name, rows, cols, own = {}) => ({ name, title: name, role: "attention", rows, cols, low: 0, high: 1,
    scale: "weights", numbered: true, ...own });
  const header = { labels: {}, alt: "", hidden: "0 (masked)", readings: null, hint: "Point at a cell.", row: null,
    chosen: null, click_effects: null, click_results: null, acknowledged: 0 };
  const array = (rows) => ({ data: Float32Array.from(rows.flat(), (x) => x ?? NaN), shape: [rows.length,
    rows[0].length] });
  const show = (own, numbers) => component.update({ header: { ...header, ...own }, arrays: Object.fromEntries(
    Object.entries(numbers).map(([name, rows]) => [name, array(rows)])) });
  const lines = () => [component.line.textContent, component.announcement.textContent];
  const click = (panel, q, k) => (component.click({ panel, q, k }), lines());
  const key = (name, own = {}) => {
    const event = new KeyboardEvent("keydown", { key: name, cancelable: true, ...own });
    component.board.element.dispatchEvent(event);
    return event.defaultPrevented;
  };
  const at = () => [component.pin.panel, component.pin.q, component.pin.k];
"""


def test_a_click_on_one_of_several_matrices_pins_its_cell_in_those_that_have_it(run: Run) -> None:
    body = """
      const panels = [panel("a", "query", "key"), panel("b", "query", "key"), panel("c", "token", "class")];
      const labels = { query: ["x", "y"], key: ["u", "v", "w"], token: ["s"], class: ["no", "yes"] };
      const numbers = { a: [[1, 0, null], [0.25, 0.5, 0.25]], b: [[0.00001, 1, 0], [0, 0, 1]], c: [[0.125, 0.875]] };
      show({ panels, labels }, numbers);
      const pins = [lines(), click("b", 1, 2), click("a", 1, 2), click("a", 0, 2), click("c", 0, 1), click("b", 0, 1)];
      const keys = [["ArrowDown"], ["ArrowLeft"], ["ArrowRight", { ctrlKey: true }], ["x"]].map((pressed) =>
        [key(...pressed), at()]);
      component.pin = { panel: "a", q: 1, k: null };
      const row = [key("Enter"), at(), key(" ")];
      component.setFocus("b");
      const focus = [component.focus.name, key("Escape"), at(), component.focus.name, key("Escape"),
        component.focus.name, key("Escape")];
      click("a", 1, 1);
      show({ panels, labels: { ...labels, query: ["z", "y"] } }, numbers);
      const others = at();
      component.nameTarget({ row: 1, column: 2, layer: null, head: null });
      const named = component.line.textContent;
      component.nameTarget(null);
      return { pins, keys, row, focus, others, named: [named, component.line.textContent], sent };
    """
    found = run("matrix/matrix.ts", MATRIX + body)
    hint, none = "Point at a cell.", "Nothing is pinned."
    cell = "1 y → 2 w: a 0.2500 · b 1.0000"
    masked = "0 x → 2 w: a 0 (masked) · b 0.0000"
    alone = "s · yes: 0.8750"
    tiny = "0 x → 1 v: a 0.0000 · b 1.0000"
    assert found["pins"] == [
        [hint, ""], [cell, cell], [hint, none], [masked, masked], [alone, alone], [tiny, tiny]
    ]  # fmt: skip
    assert found["keys"] == [
        [True, ["b", 1, 1]], [True, ["b", 1, 0]], [False, ["b", 1, 0]], [False, ["b", 1, 0]],
    ]  # fmt: skip
    assert found["row"] == [True, ["a", 1, 0], False]
    assert found["focus"] == ["b", True, ["", None, None], "b", True, None, False]
    assert found["others"] == ["", None, None], "other rows"
    assert found["named"] == [cell, hint]
    assert found["sent"] == []


def test_heads_are_chosen_and_taken_back_by_a_click_and_a_row_stays_pinned(run: Run) -> None:
    body = """
      const heads = { panels: [panel("heads", "layer", "head")], labels: {}, chosen: "1.2",
        readings: [..."abcdef"], click_effects: ["take", "back"], click_results: ["taken", "returned"] };
      const numbers = { heads: [[1, 2, 3], [4, 5, 6]] };
      show(heads, numbers);
      const now = () => Object.values(component.updates.values).join();
      const clicks = [[0, 1], [1, 2], [0, 1]].map((place) => [click("heads", ...place)[1], now()]);
      component.nameTarget({ row: null, column: null, layer: 1, head: 0 });
      const named = component.line.textContent;
      component.nameTarget(null);
      component.pin = { panel: "heads", q: 1, k: 0 };
      const keys = [key("Enter"), now(), key(" "), now()];
      const labels = { query: ["x", "y", "z"], key: ["u", "v"] };
      const rows = { panels: [panel("w", "query", "key")], labels, row: 2 };
      show(rows, { w: [[1, 0], [0.5, 0.5], [0.25, 0.75]] });
      const row = [at(), click("w", 1, 0), at(), click("w", 1, 0), at(), now()];
      component.destroy();
      return { clicks, named, keys, row, left: root.children.length };
    """
    found = run("matrix/matrix.ts", MATRIX + body)
    assert found["clicks"] == [["b; taken", "1.2_0.1,"], ["f; returned", "0.1,"], ["b; returned", ","]]
    assert found["named"] == "d; take"
    assert found["keys"] == [True, "1.0,", True, ","]
    words = "1 y → 0 u: 0.5000"
    assert found["row"] == [["w", 2, None], [words, words], ["w", 1, 0], ["Point at a cell.", "Row 1 y"],
                            ["w", 1, None], ",1"]  # fmt: skip
    assert found["left"] == 0


def test_what_is_lit_has_outlines_in_every_matrix_that_shares_it(run: Run) -> None:
    body = """
      const { INK } = await import("/frontend/core/colours.ts");
      const overlay = new m.Overlay();
      const graph = document.body.appendChild(document.createElement("div"));
      const loop = panel("by_loop", "query", "model", [3, 2], [200, 50]);
      const x = panel("embeddings_k", "key", "model", [3, 2], [300, 50]);
      const all = [scores, query, loop, x];
      const draw = (own) => {
        overlay.draw({ graph, panels: all, products: { scores: { left: "query", right: "key_t" },
          by_loop: { left: "triangle", right: "embeddings_k" } }, labels: {}, hovered: null, pinned: null,
          theme: "light", ...own });
        return [...overlay.svg.querySelectorAll("rect[data-shape]")].filter((mark) => mark.dataset.state !== "off")
          .map((mark) => [mark.dataset.panel, mark.dataset.shape, mark.dataset.state, ["x", "y", "width", "height"].map(
            (name) => Number(mark.getAttribute(name))), mark.getAttribute("stroke-dasharray")]);
      };
      const cell = { panel: "scores", rows: "query", cols: "key", i: 2, j: 1 };
      const sum = { panel: "by_loop", rows: "query", cols: "model", i: 1, j: 0 };
      const pinned = { kinds: { query: 0, key: 3 }, operands: {}, at: null };
      return [draw({ hovered: cell }), draw({ pinned }), draw({ pinned, hovered: { ...cell, i: 0, j: 0 } }),
        draw({ hovered: sum }), draw({ framed: [[1, 2]] }), draw({}), overlay.svg.parentNode === graph];
    """
    pointed, pinned, both, added, framed, nothing, is_there = run("board/overlay.ts", PANELS + body)

    def lit(state: str, *marks: tuple[str, str, list[float]], dashes: str = "none") -> list[Any]:
        return [
            [name, shape, state, pytest.approx(at), dashes if shape == "cell" else "none"] for name, shape, at in marks
        ]

    def crossing(row: int, column: int) -> list[tuple[str, str, list[float]]]:
        at: list[float] = [100 + 10 * column, 50 + 20 * row, 10, 20]
        return [("scores", "halo", at), ("scores", "cell", at)]

    def around(row: int, column: int) -> list[tuple[str, str, list[float]]]:
        across, down = [100, 50 + 20 * row, 40, 20], [100 + 10 * column, 50, 10, 60]
        return [("scores", "row", across), ("scores", "column", down), *crossing(row, column)]

    def rows(query: int, key: int | None) -> list[tuple[str, str, list[float]]]:
        places = [("query", 10, query), ("by_loop", 200, query), ("embeddings_k", 300, key)]
        return [(name, "row", [x, 50 + 20 * row, 20, 20]) for name, x, row in places if row is not None]

    assert pointed == lit("hovered", *around(2, 1), *rows(2, 1))
    assert pinned == lit("pinned", *around(0, 3), *rows(0, None)), "X has no row 3"
    behind = lit("pinned-behind", *crossing(0, 3), dashes="4 3")
    assert both == [*behind, *lit("hovered", *around(0, 0), *rows(0, 0))]
    cell: list[float] = [200, 70, 10, 20]
    own = [("by_loop", "row", [200, 70, 20, 20]), ("by_loop", "column", [200, 50, 10, 60]), ("by_loop", "halo", cell),
           ("by_loop", "cell", cell)]  # fmt: skip
    summed = ("embeddings_k", "column", [300, 50, 10, 40])  # down to the row of the sum
    first = [("scores", "row", [100, 70, 40, 20]), ("query", "row", [10, 70, 20, 20])]
    assert added == lit("hovered", *first, *own, summed)
    assert framed == lit("pinned-frame", ("scores", "cell", [120.7, 71.4, 8.6, 17.2]))
    assert (nothing, is_there) == ([], True)


def test_a_board_knows_the_tokens_of_its_axes_lets_a_page_scroll_and_frames_what_is_chosen(run: Run) -> None:
    body = """
      const root = document.body.appendChild(document.createElement("div"));
      Object.assign(root.style, { width: "600px", height: "300px" });
      const board = new m.Board(root, {});
      const panel = (name, rows, cols, shape) => ({ name, title: name, role: null, rows, cols, low: 0, high: 1,
        scale: "weights", shape, data: new Float32Array(shape[0] * shape[1]) });
      const labels = { query: [..."abc"], key: [..."defgh"] };
      board.show({ panels: [panel("a", "query", "key", [3, 5]), panel("b", "query", "dim", [3, 2])], grid: [[0, 1]],
        labels });
      const touches = [board.element.style.touchAction];
      board.zoomBy(0.5);
      touches.push(board.element.style.touchAction);
      board.pointer.reset();
      touches.push(board.element.style.touchAction);
      const frames = (own) => {
        board.light({ hovered: null, pinned: null, ...own });
        return board.lights.framed;
      };
      return { kinds: Object.fromEntries(board.kinds()), touches, frames: [frames({ framed: [[0, 1], [2, 0]] }),
        frames({})] };
    """
    found = run("board/board.ts", body)
    assert found["kinds"] == {"query": 3, "key": 5}
    assert [touch or "pan-x pan-y" for touch in found["touches"]] == ["pan-x pan-y", "none", "pan-x pan-y"]
    assert found["frames"] == [[[0, 1], [2, 0]], []]


def test_what_has_no_room_above_and_below_a_narrow_matrix_is_its_symbol_and_the_numbers_that_do_not_touch(
    run: Run,
) -> None:
    body = """
      const widthOf = (text) => 8 * text.length;
      const heads = Array.from({ length: 12 }, (_, head) => [32 * head + 15, String(head)]);
      const texts = (named, cell) => m.spaced(named, cell, widthOf).map(([, text]) => text);
      const words = (...all) => all.map((text, n) => [n, text]);
      return [
        ["K key", "X hidden states"].map((title) => m.fitTitle(title, 20, widthOf)),
        ["A · tired", "+ content → position", "x · W₁ + b₁", "W query"].map((title) => m.fitTitle(title, 48, widthOf)),
        [m.fitTitle("K key", 40, widthOf), m.fitTitle("head outputs", 48, widthOf)],
        ["weights = softmax of each row", "difference: half the sum of |p − q|"].map((title) =>
          m.fitTitle(title, 80, widthOf)),
        texts(heads, 0.3), texts(heads, 0.5), texts(heads, 1).length,
        texts(words("one", "a long name", "two", "ten", "six"), 30),
        texts(words("a long name", "one", "two"), 30), texts(words("one", "two", "ten", "six"), 25),
      ];
    """
    heads = [str(head) for head in range(12)]
    assert run("board/layout.ts", body) == [
        ["K", "X"],
        ["A ·…ed", "+ c…on", "x ·…b₁", "W que…"],
        ["K key", "hea…ts"],
        ["weights", "difference"],
        heads[::2],
        [*heads[:11]],
        12,
        ["one", "two", "ten", "six"],  # only the long one is left out
        ["one", "two"],
        ["one", "ten"],
    ]


def test_a_title_without_room_begins_with_its_symbol(run: Run) -> None:
    titles = ["W key", "X encoder's", "U query", "Y averages so far", "Y = A · X", "Q · Kᵀ", "X + output", "scores"]
    body = "return given.map((title) => m.fitTitle(title, 20, (text) => 8 * text.length))"
    assert run("board/layout.ts", body, titles) == ["W", "X", "U", "Y", "Y", "Q…", "X…", "s…"]


def test_a_board_is_drawn_once_a_picture_and_for_another_size_before_that_is_painted(run: Run) -> None:
    body = """
      const root = document.body.appendChild(document.createElement("div"));
      Object.assign(root.style, { width: "400px", height: "300px" });
      const board = new m.Board(root, {});
      Object.assign(board.element.style, { position: "relative", height: "100%" });
      const frame = () => new Promise((done) => requestAnimationFrame(() => setTimeout(done)));
      await frame();
      let drawn = 0;
      board.element.addEventListener("attnviz-drawn", () => (drawn += 1));
      const panel = { name: "a", title: "a", role: null, rows: "r", cols: "c", low: 0, high: 1, scale: "weights",
        shape: [2, 3], data: new Float32Array(6) };
      const picture = { panels: [panel], grid: [[0]], labels: {} };
      root.style.height = "200px"; // as when the formula of another step takes more room
      board.show(picture);
      await frame();
      await frame();
      const once = drawn;
      root.style.width = "300px";
      // A callback asked for now runs before the page is laid out and the observers are called; a task comes after.
      const wide = () => Math.round(board.canvas.width / devicePixelRatio);
      await new Promise((done) => requestAnimationFrame(() => queueMicrotask(done)));
      const before = wide();
      await new Promise((done) => setTimeout(done, 0));
      return [once, before, wide(), drawn];
    """
    once, before, after, drawn = run("board/board.ts", body)
    assert (once, before, after, drawn) == (1, 400, 300, 2)


QKV = """
  const panel = (name, title, rows, cols, shape) => ({ name, title, rows, cols, shape });
  const tokens = ["the", "animal", "because", "Donaudampfschifffahrt"];
  const picture = (keys) => ({
    panels: [
      panel("w_q", "W query", "model", "dim", [16, 8]), panel("w_k", "W key", "model", "dim", [16, 8]),
      panel("w_v", "W value", "model", "dim", [16, 8]), panel("x", "X", "query", "model", [4, 16]),
      panel("query", "Q query", "query", "dim", [4, 8]), panel("key", "K key", "key", "dim", [4, 8]),
      panel("value", "V value", "key", "dim", [4, 8]),
    ],
    grid: [[null, 0, 1, 2], [3, 4, 5, 6]], widths: [1, 1, 1, 1], heights: [1, 1],
    labels: { query: tokens, key: keys },
  });
  const { stacked } = await import("/frontend/board/stack.ts");
  const { typeFor } = await import("/frontend/core/type.ts");
  const widthOf = (text) => 6.5 * text.length;
  const span = (kind, count) => count;
  const places = (shown, width, least = 0) =>
    m.place(shown, { width, height: 420 }, { widthOf, span, type: typeFor(least) });
"""


def test_queries_keys_and_values_have_room_on_a_phone_whatever_the_tokens(run: Run) -> None:
    """The tokens stand once beside the rows of a text, and none of them takes the room of the matrices."""
    body = """
      const other = ["Donaudampfschifffahrt", "b", "c", "d"];
      const look = (keys, width) => places(stacked(picture(keys)), width).map(({ panel, x, width: wide, rowLabels,
        rowNames, titleRoom }) => ({ name: panel.name, x, wide, rowLabels, rowNames, ...titleRoom }));
      return { same: look(tokens, 366), other: look(other, 366), wide: places(picture(tokens), 850).map(
        ({ rowNames }) => rowNames) };
    """
    found = run("board/layout.ts", QKV + body)
    for case, least in (("same", 35), ("other", 23)):
        for place in found[case]:
            assert place["x"] + place["wide"] <= 366 - 28, (case, place["name"], "the zoom buttons stand beside it")
            if place["name"] != "x":
                assert place["wide"] >= least, (case, place["name"])
        by_name = {place["name"]: place for place in found[case]}
        assert by_name["key"]["rowLabels"], "the name of the axis"
        assert by_name["key"]["rowNames"] == (case == "other")
        last = by_name["w_v"]
        assert last["title"] == last["about"] == pytest.approx(366 - 28 - last["x"] - 4), "up to the buttons"
        assert by_name["value"]["axis"] == pytest.approx(366 - by_name["value"]["x"] - 4)
    assert all(found["wide"]), "with room, all rows have their labels"


def test_a_formula_does_not_touch_the_name_of_the_axis_beside_it(run: Run) -> None:
    """That name stands left of the labels, and its letters rise 2 px over the room of the labels."""
    body = """
      const { paintOperation } = await import("/frontend/board/paint.ts");
      const written = [];
      const known = { measureText: (text) => ({ width: 50 * text.length }), save() {}, restore() {},
        fillText: (...given) => written.push(given) };
      const context = new Proxy(known, { get: (own, name) => own[name] ?? (() => {}), set: () => true });
      const type = typeFor();
      const shown = { ...picture(tokens), between: "X·W" };
      const at = places(shown, 850);
      const corner = at[0].x - at[0].gutter - at.find(({ panel }) => panel.name === "x").x;
      // A letter takes half of its size of 15 px.
      const fits = (letters) => {
        written.length = 0;
        const between = "x".repeat(letters);
        paintOperation({ context, theme: "light", font: "serif", type }, { ...shown, between }, at);
        return written.length > 0;
      };
      const most = Array.from({ length: 60 }, (_, n) => n + 1).filter(fits).at(-1) * 7.5;
      return [corner, most];
    """
    corner, most = run("board/layout.ts", QKV + body)
    assert corner - 10 - 7.5 < most <= corner - 10
