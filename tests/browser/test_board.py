"""The board's modules one at a time in the browser: layout, pooling, numbers, and the morph as a function of t."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from playwright.sync_api import Page

from tests.browser.board import TEXT_PEN
from tests.browser.modules import imported

pytestmark = pytest.mark.page("plain_page")


def product(rows: int, inner: int, cols: int) -> dict[str, Any]:
    """Describe left (rows, inner) @ right (inner, cols) = result as the board receives it."""
    panels = [
        {"name": "key_t", "title": "Kᵀ", "shape": [inner, cols], "rows": "dim", "cols": "key"},
        {"name": "query", "title": "Q", "shape": [rows, inner], "rows": "query", "cols": "dim"},
        {"name": "scores", "title": "scores", "shape": [rows, cols], "rows": "query", "cols": "key", "bar": True},
    ]
    labels = {"query": [f"word{i}" for i in range(rows)], "key": [f"word{i}" for i in range(cols)]}
    grid = [[None, 0], [1, 2]]
    return {"panels": panels, "grid": grid, "widths": [0.4, 0.6], "heights": [0.4, 0.6], "labels": labels}


PLACE = """
  const span = (kind, count) => count;
  return given.map(({ picture, width, height }) => {
    const found = m.place(picture, { width, height }, { widthOf: (text) => 7 * text.length, span });
    return found.map(({ panel, x, y, width, height, rowLabels, columnLabels, turned }) =>
      ({ name: panel.name, x, y, width, height, rowLabels, columnLabels, turned, turn: m.TURN }));
  });
"""


@pytest.mark.parametrize(("width", "height"), [(366, 420), (640, 430), (1150, 800)])
def test_operands_line_up_with_their_product_and_nothing_leaves_the_picture(
    page: Page, served: str, width: int, height: int
) -> None:
    shapes = [(1, 2, 1), (4, 8, 4), (11, 8, 11), (16, 32, 16), (512, 64, 512)]
    given = [{"picture": product(*shape), "width": width, "height": height} for shape in shapes]
    for shape, found in zip(shapes, imported(page, served, "board/layout.ts", PLACE, given), strict=True):
        places = {place["name"]: place for place in found}
        left, right, result = places["query"], places["key_t"], places["scores"]
        assert (left["y"], left["height"]) == pytest.approx((result["y"], result["height"])), shape
        assert (right["x"], right["width"]) == pytest.approx((result["x"], result["width"])), shape
        assert left["x"] + left["width"] < result["x"], shape
        assert right["y"] + right["height"] < result["y"], shape
        for place in found:
            assert min(place["width"], place["height"]) > 0, shape
            assert place["x"] >= 0, shape
            assert place["x"] + place["width"] <= width, shape
            assert place["y"] + place["height"] <= height, shape
        assert (left["rowLabels"], result["rowLabels"], result["columnLabels"]) == (True, False, True), shape


def test_cells_have_one_size_where_there_is_room(page: Page, served: str) -> None:
    given = {"picture": product(6, 8, 6), "width": 900, "height": 600}
    (found,) = imported(page, served, "board/layout.ts", PLACE, [given])
    places = {place["name"]: place for place in found}
    sizes = {(round(p["width"] / n, 6), round(p["height"] / m, 6)) for p, (m, n) in (
        (places["query"], (6, 8)), (places["key_t"], (8, 6)), (places["scores"], (6, 6)),
    )}  # fmt: skip
    assert len(sizes) == 1


def test_labels_of_columns_turn_where_they_would_touch_and_have_their_room(page: Page, served: str) -> None:
    panels = [{"name": "weights", "title": "A", "shape": [3, 5], "rows": "query", "cols": "key"}]
    picture = {"panels": panels, "grid": [[0]], "widths": [1], "heights": [1]}
    cases = ((8, False), (9, True))  # a label of 7 px a letter, with 4 px to the next
    labels = [{"query": ["a"] * 3, "key": ["x" * letters, *"bcde"]} for letters, _ in cases]
    given = [{"picture": {**picture, "labels": each}, "width": 840, "height": 200} for each in labels]
    found = imported(page, served, "board/layout.ts", PLACE, given)
    for (letters, turned), (place,) in zip(cases, found, strict=True):
        assert (place["width"], place["turned"]) == (5 * 60, turned)
        label = 7 * letters * math.sin(place["turn"]) + 12 if turned else 18
        end = min(38 + 3 * 42, 200 - 2 - label - 18)  # and the axis title
        assert place["y"] + place["height"] == pytest.approx(end), letters


def test_eleven_tokens_fill_a_hall_s_screen(page: Page, served: str) -> None:
    panels = [{"name": "embeddings", "title": "X", "shape": [11, 32], "rows": "query", "cols": "feature", "bar": True}]
    picture = {"panels": panels, "grid": [[0]], "widths": [1], "heights": [1], "labels": {"query": ["word"] * 11}}
    given = {"picture": picture, "width": 1150, "height": 800}
    ((place,),) = imported(page, served, "board/layout.ts", PLACE, [given])
    assert 740 < place["y"] + place["height"] < 800


def test_a_long_label_shortens_in_the_middle_to_its_room(page: Page, served: str) -> None:
    body = "return given.map(([text, room]) => m.shorten(text, room, (t) => 10 * Array.from(t).length))"
    given = [["short", 50], ["abcdefghij", 60], ["🙂🙃🙂🙃", 30], ["🙂🙃🙂🙃", 29], ["xyz", 10], ["x", 1]]
    shortened = imported(page, served, "board/layout.ts", body, given)
    assert shortened == ["short", "abc…ij", "🙂…🙃", "🙂…", "…", "…"]


def test_a_formula_breaks_then_shrinks_then_goes(page: Page, served: str) -> None:
    broken = ["A · X", "= Y"]
    rooms = {90: ["A · X = Y"], 89: broken, 50: broken, 36: broken, 34: None, 0: None}
    body = """return given.map((room) =>
      m.fitFormula('A · X = Y', room, (text) => text.length * 0.5, { size: 20, least: 14 }))"""
    found = imported(page, served, "board/layout.ts", body, [*rooms])
    assert [made and made["lines"] for made in found] == [*rooms.values()]
    for room, made in zip(rooms, found, strict=True):
        assert not made or made["size"] == min(20, room / (0.5 * max(map(len, made["lines"])))), room


WRITTEN = """
  const root = document.createElement("div");
  root.style.cssText = `width: ${given.width}px; height: 500px; font-family: sans-serif`;
  document.body.append(root);
  const board = new m.Board(root);
  for (const panel of given.picture.panels) panel.data = new Float32Array(panel.shape[0] * panel.shape[1]);
  for (const panel of given.picture.panels) Object.assign(panel, { low: -1, high: 1, scale: "signed" });
  board.show(given.picture);
  const texts = [];
  board.paint((TEXT_PEN)((target, text, x, y) => {
    const [before, { a }] = [{ center: 0.5, right: 1 }[target.textAlign] ?? 0, target.getTransform()];
    const [width, size] = [target.measureText(text).width, parseFloat(target.font.match(/[\\d.]+px/)[0])];
    const box = [x - before * width, x + (1 - before) * width];
    const at = [0, 1].map((end) => target.getTransform().transformPoint({ x: box[end], y }).x);
    texts.push([text, ...(Math.abs(a) < 1e-9 ? [at[0] - size, at[0] + size / 2] : at)]);
  }));
  return texts;
""".replace("TEXT_PEN", TEXT_PEN)
"""All that a board writes, each with its left and right end; what stands upright is as wide as its letters are high."""


@pytest.mark.parametrize("word", ["it", "internationalisation"])
def test_the_formula_in_the_corner_lies_over_nothing(page: Page, served: str, word: str) -> None:
    picture = product(6, 8, 6)
    picture["panels"][0]["rows"] = "key"  # an axis of tokens, with a title of its own
    picture["labels"] = {"query": [word] * 6, "key": [word] * 8}
    picture["between"] = "weights · X = Y"
    widths = (320, 366, 640, 1150)
    body = f"const written = (given) => {{ {WRITTEN} }}; return given.map(written);"
    found = imported(page, served, "board/board.ts", body, [{"picture": picture, "width": width} for width in widths])
    for width, texts in zip(widths, found, strict=True):
        formula = [right for text, _, right in texts if text in ("weights · X = Y", "weights · X", "= Y")]
        title = min(left for text, left, _ in texts if text == "key (to)" and left > 0.2 * width)
        assert formula or word != "it", width
        assert max(formula, default=0) <= min(title, width), width


NAMED = """
  const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  svg.style.cssText = "position: absolute; width: 800px; height: 600px";
  document.body.append(svg);
  const names = new m.Names(svg);
  const axis = (offset, length, count) => ({ _offset: offset, _length: length });
  const panel = { name: "weights", rows: "query", cols: "key", x: axis(100, 300), y: axis(0, 300),
    labelled: { rows: true, columns: true, turned: given.turned, room: 20 } };
  const written = given.labels.map(([side, at]) => side === "rows"
    ? { panel: "weights", side, x: 94, y: at, turn: 0, box: [-40, -6, 40, 12] }
    : { panel: "weights", side, x: at, y: given.turned ? 306 : 313, turn: given.turned ? -Math.PI * 55 / 180 : 0,
        box: given.turned ? [-40, -6, 40, 12] : [-12, -9, 24, 12] });
  const labels = { query: Array(99).fill("w"), key: Array(99).fill("w") };
  names.begin({ graph: {}, panels: [panel], labels, written, colours: {} });
  if (given.side === "rows") names.row(panel, 3, { x: 100, y: given.at - 1, width: 300, height: 2 }, "pinned");
  else names.column(panel, 3, { x: given.at - 1, y: 0, width: 2, height: 300 }, "pinned");
  names.end();
  const at = (cover) => cover.transform.baseVal.consolidate().matrix;
  const covers = [...svg.querySelectorAll("g rect")].filter((one) => one.getAttribute("display") !== "none");
  return covers.map((one) => [at(one).e, at(one).f].map(Math.round));
"""


@pytest.mark.parametrize(("side", "turned", "line"), [("rows", False, 1), ("columns", True, 1.2208)])
def test_a_name_takes_the_place_of_the_labels_that_it_would_touch_whole(
    page: Page, served: str, side: str, turned: bool, line: float
) -> None:
    """Labels stand every 10 px, of 12 px each, as at 128 tokens; `line` is how far apart turned ones must be."""
    other = "columns" if side == "rows" else "rows"
    labels = [(side, place) for place in range(0, 300, 10)] + [(other, place) for place in range(0, 300, 10)]
    places = (50, 53, 57, 60, 64)
    given = [{"labels": labels, "side": side, "at": at, "turned": turned} for at in places]
    body = f"const named = (given) => {{ {NAMED} }}; return given.map(named);"
    found = imported(page, served, "board/overlay_names.ts", body, given)
    high = (12.5 + 0.8 * 12) / 2 * line
    for at, covers in zip(places, found, strict=True):
        covered = sorted(cover[1 if side == "rows" else 0] for cover in covers)
        assert covered == [place for place in range(0, 300, 10) if abs(place - at) < high], at
        assert 2 <= len(covered) <= 3, at


WHOLE = """
  const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  svg.style.cssText = "position: absolute; width: 800px; height: 600px";
  document.body.append(svg);
  const pen = document.createElement("canvas").getContext("2d");
  pen.font = "12px sans-serif";
  const axis = (offset, length, count) => ({ _offset: offset, _length: length });
  return given.map((word) => {
    const names = new m.Names(svg);
    const panel = { name: "weights", rows: "query", cols: "key", x: axis(200, 300), y: axis(0, 300),
      labelled: { rows: true, columns: true, turned: true, room: pen.measureText(word).width } };
    const labels = { query: [word], key: [word] };
    names.begin({ graph: {}, panels: [panel], labels, written: [], colours: {} });
    names.column(panel, 0, { x: 200, y: 0, width: 30, height: 300 }, "pinned");
    names.end();
    return names.elements[0].textContent;
  });
"""


def test_the_name_of_a_slanted_column_is_shortened_no_more_than_its_label(page: Page, served: str) -> None:
    words = ["Schwester", "tired | wide", "Wissenschaftler", "WWWWWWWW", "illicitly", "straßenbahn"]
    found = imported(page, served, "board/overlay_names.ts", WHOLE, words)
    assert found == [f"0 {word}" for word in words]


def test_a_token_of_dots_keeps_its_number_and_a_name_without_room_is_its_number(page: Page, served: str) -> None:
    no_room = WHOLE.replace("room: pen.measureText(word).width", "room: -99")
    assert imported(page, served, "board/overlay_names.ts", WHOLE, ["…"]) == ["0 …"]
    assert imported(page, served, "board/overlay_names.ts", no_room, ["word"]) == ["0"]


SLANTED = """
  const root = document.createElement("div");
  document.body.append(root);
  const board = new m.Board(root);
  const data = new Float32Array(16 * 16);
  const panel = { name: "weights", title: "weights", role: null, rows: "query", cols: "key", data, shape: [16, 16],
    low: 0, high: 1, scale: "weights" };
  const words = Array.from({ length: 16 }, (_, n) => `word ${n} of them`);
  return given.map((width) => {
    root.style.cssText = `width: ${width}px; height: 400px; font-family: sans-serif`;
    board.placed = null;
    board.show({ panels: [panel], grid: [[0]], labels: { query: words, key: words }, always: { key: [3, 13] } });
    const [{ x, width: wide }] = board.places;
    return { x, cell: wide / 16, written: board.written.filter(({ side, turn }) => side === "columns" && turn) };
  });
"""


def test_slanted_labels_of_columns_do_not_touch_however_narrow_the_matrix(page: Page, served: str) -> None:
    """Where they would, they are smaller, or only every n-th is written, and always those that must be."""
    cells, counts = [], set()
    for found in imported(page, served, "board/board.ts", SLANTED, [*range(180, 460, 8)]):
        cell, labels = found["cell"], sorted(found["written"], key=lambda label: label["x"])
        for one, other in pairwise(labels):
            apart = (other["x"] - one["x"]) * math.sin(-one["turn"])
            assert 0.8 * max(one["box"][3], other["box"][3]) <= apart + 1e-6, f"cells of {cell} px"
        assert all(label["box"][3] >= 1.2 * 9 for label in labels)
        columns = [round((label["x"] - found["x"]) / cell - 0.5) for label in labels]
        assert {3, 13} <= set(columns)
        cells.append(cell)
        counts.add(len(labels))
    assert min(cells) < 6 and max(cells) > 16
    assert len(counts) > 1 and max(counts) == 16


def test_thinned_labels_say_which_they_are(page: Page, served: str) -> None:
    many = [f"w{i}" for i in range(40)]
    body = """
      const few = given.slice(0, 10);
      return [m.labelText(given, 8, 1), m.labelText(given, 8, 4), m.labelText(few, 8, 4), m.ticks(0, 40, 3, 11),
        m.ticks(2, 20, 4, 11, [9, 10, 25]), m.ticks(0, 5, 12, 11, [3])];
    """
    alone, thinned, few, shown, always, each = imported(page, served, "board/layout.ts", body, many)
    assert (alone, thinned, few) == ("w8", "8 w8", "w8")
    assert shown == {"shown": list(range(0, 40, 4)), "every": 4}
    assert always == {"shown": [4, 9, 12, 16], "every": 4}, "changed tokens in place of those beside them, with room"
    assert each == {"shown": [0, 1, 2, 3, 4], "every": 1}


def test_pooling_keeps_the_largest_of_each_block_and_its_sign(page: Page, served: str) -> None:
    rng = np.random.default_rng(0)
    matrix = rng.normal(size=(50, 70)).astype(np.float32)
    matrix[3, 69] = -99
    matrix[10:20, 10:20] = np.nan
    body = """
      const data = Float32Array.from(given.data.map((x) => x ?? NaN));
      const { data: pooled, shape } = m.pool(data, [50, 70], { rows: 10.5, cols: 7 });
      return { shape, pooled: [...pooled].map((x) => Number.isNaN(x) ? null : x) };
    """
    listed = [None if np.isnan(x) else float(x) for x in matrix.ravel()]
    found = imported(page, served, "board/image.ts", body, {"data": listed})
    assert found["shape"] == [10, 7]
    blocks = matrix.reshape(10, 5, 7, 10).transpose(0, 2, 1, 3).reshape(10, 7, 50)
    for row, line in enumerate(blocks):
        for col, block in enumerate(line):
            seen = block[~np.isnan(block)]
            got = found["pooled"][row * 7 + col]
            if seen.size:
                assert got == pytest.approx(float(seen[np.abs(seen).argmax()]))
            else:
                assert got is None


def test_numbers_are_written_while_they_fit(page: Page, served: str) -> None:
    signed, weights = {"low": -4, "scale": "signed"}, {"low": 0, "scale": "weights"}
    cases = [
        ({**signed, "largest": 3.2}, [40, 20], (2, False)),
        ({**signed, "low": -14, "largest": 13.4}, [40, 20], (1, False)),
        ({**weights, "largest": 1}, [30, 20], (2, False)),
        ({**weights, "largest": 1}, [14, 20], (2, True)),
        ({**weights, "largest": 1}, [13, 20], None),  # they would have less than 9 px
        ({**weights, "largest": 1}, [6, 20], None),
        ({**weights, "largest": 78.7}, [34, 20], (1, False)),  # thousandths, in a weight's colours
        ({**weights, "largest": 78.7}, [12, 20], None),
        ({**signed, "low": -0.6, "largest": 0.6}, [19, 20], (2, True)),
        ({**signed, "largest": 3.2}, [40, 6], None),
    ]
    body = "return given.map(([panel, [width, height]]) => m.numbering(panel, { width, height }))"
    found = imported(page, served, "board/numbers.ts", body, [case[:2] for case in cases])
    assert [way and (way["decimals"], way["bare"]) for way in found] == [way for *_, way in cases]


MORPH = """
  const place = (name, data, x, made_from) => ({
    panel: { name, data: Float32Array.from(data), shape: [2, 2], made_from }, x, y: 0, width: 10, height: 10,
  });
  const before = [place('scaled', [1, 2, 3, 4], 0), place('masked', [1, 2, 3, 4], 20)];
  const after = [
    place('masked', [1, 2, 3, 4], 0),
    place('weights', [0.1, 0.9, 0.5, 0.5], 20, { name: 'masked', pace: 'rows' }), place('row_sum', [1, 1, 1, 1], 40),
  ];
  const pixelsOf = ({ panel }) => ({
    pixels: Uint32Array.from(panel.data, (x) => (0xff000000 | Math.round(x * 40)) >>> 0), width: 2, height: 2,
  });
  const at = (t) => m.pairs(before, after).map((pair) => {
    const shown = m.between(pair, t);
    const cells = shown.mix ? [...m.mixed(shown.mix, pixelsOf).pixels].map((p) => p & 0xff) : null;
    const [from, to] = [pair.from, pair.to].map((end) => end?.panel.name ?? null);
    return { from, to, x: shown.x, alpha: shown.alpha, cells };
  });
  return given.map(at);
"""


def test_the_morph_is_a_function_of_t_from_the_one_picture_to_the_other(page: Page, served: str) -> None:
    start, middle, end = imported(page, served, "board/morph.ts", MORPH, [0, 0.5, 1])
    assert [(pair["from"], pair["to"]) for pair in start] == [
        ("masked", "masked"), ("masked", "weights"), (None, "row_sum"), ("scaled", None),
    ]  # fmt: skip
    moved, normalised, comes, goes = start
    assert (moved["x"], normalised["x"]) == (20, 20)
    assert normalised["cells"] == [40, 80, 120, 160]
    assert (comes["alpha"], goes["alpha"]) == (0, 1)
    moved, normalised, comes, goes = end
    assert (moved["x"], normalised["x"]) == (0, 20)
    assert normalised["cells"] == [4, 36, 20, 20]
    assert (comes["alpha"], goes["alpha"]) == (1, 0)
    top, bottom = middle[1]["cells"][:2], middle[1]["cells"][2:]
    assert top == [4, 36], "the softmax normalises the upper row first"
    assert bottom[0] not in (20, 120)


def test_an_axis_zooms_about_a_cell_and_never_leaves_its_matrix(page: Page, served: str) -> None:
    body = """
      const views = new m.AxisViews();
      const seen = [];
      const note = () => seen.push(views.of('key', 100));
      views.zoom('key', 100, 30, 0.5); note();
      views.scroll('key', 100, 500); note();
      views.reveal('key', 100, 3); note();
      views.zoom('key', 100, 10, 1e-9); note();
      views.zoom('key', 100, 10, 1e9); note();
      return { seen, zoomed: views.zoomed, other: views.of('query', 7) };
    """
    found = imported(page, served, "board/view.ts", body)
    assert found["seen"] == [[15, 65], [50, 100], [3, 53], pytest.approx([10 - 4 * 7 / 50, 14 - 4 * 7 / 50]), [0, 100]]
    assert not found["zoomed"]
    assert found["other"] == [0, 7]


def test_the_name_of_an_axis_is_brief_where_it_has_no_room(page: Page, served: str) -> None:
    titles = {
        ("dim", 84): "head width D", ("dim", 83): "D", ("model", 20): "C", ("concat", 100): "H·D",
        ("key", 20): "to", ("key", 56): "key (to)", ("query", 20): "from", ("other", 20): None,
    }  # fmt: skip
    body = "return given.map(([kind, room]) => m.axisTitle(kind, room, (text) => 7 * text.length) ?? null);"
    assert imported(page, served, "board/labels.ts", body, [*titles]) == [*titles.values()]
