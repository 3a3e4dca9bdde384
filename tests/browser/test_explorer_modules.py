"""The explorer's grid, choice, store and fetching: one module at a time, against numpy and Python."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import numpy as np
import pytest
from PIL import ImageColor

from attnviz.figures.style import AXIS_TITLE, DARK, LIGHT
from attnviz.mask_reasons import MaskReasons
from attnviz.measures.thumbnails import hidden_thumbnail, thumbnails
from tests.browser.apps.attention import softmax_rows
from tests.browser.modules import Run

# ---- grid/pool.ts, paint.ts


@pytest.mark.parametrize(("rows", "cols"), [(1, 1), (7, 48), (49, 5), (100, 131)])
def test_thumbnails_are_pooled_as_python_pools_them(run: Run, rows: int, cols: int) -> None:
    weights = np.stack([softmax_rows(seed, rows, cols, sharp=4) for seed in (1, 2)])
    codes = np.rint(weights * 65535).astype(int).ravel().tolist()
    body = """
      const { rows, cols } = given;
      const { data, height, width } = m.poolWeights(Uint16Array.from(given.codes), 2, rows, cols);
      const hidden = m.poolHidden({ rows, cols, causal: true, hidden: null }, height, width);
      return [[...data], height, width, [...hidden]];
    """
    data, height, width, hidden = run("grid/pool.ts", body, {"codes": codes, "rows": rows, "cols": cols})
    ours = thumbnails(weights)
    assert (height, width) == ours.shape[1:]
    assert np.abs(np.array(data) - ours.ravel()).max() <= 1  # rounded twice here
    masked = hidden_thumbnail(np.triu(np.ones((rows, cols), np.uint8), 1))
    assert hidden == masked.ravel().tolist()


@pytest.mark.parametrize(("rows", "cols"), [(3, 5), (60, 7)])
def test_keys_that_a_mask_hides_are_pooled_as_python_pools_them(run: Run, rows: int, cols: int) -> None:
    """A padded text: of some columns every cell is hidden, of others some; also where the mask is causal too."""
    own = (np.random.default_rng(1).random((rows, cols)) < 0.3).astype(np.uint8)
    own[:, 1] = 1
    body = """
      const { rows, cols, cells, size: [height, width] } = given;
      const pooled = (causal, hidden) => m.poolHidden({ rows, cols, causal, hidden }, height, width);
      return [pooled(false, Uint8Array.from(cells)), pooled(true, Uint8Array.from(cells)), pooled(false, null)].map(
        (found) => found && [...found]);
    """
    size = hidden_thumbnail(own).shape
    given = {"rows": rows, "cols": cols, "size": size, "cells": own.ravel().tolist()}
    padded, both, none = run("grid/pool.ts", body, given)
    causal = np.triu(np.ones((rows, cols), np.uint8), 1)
    assert padded == hidden_thumbnail(own).ravel().tolist()
    assert both == hidden_thumbnail(own | causal).ravel().tolist()
    assert none is None


@pytest.mark.parametrize("n", [5, 48, 61, 100])
def test_why_blocks_are_hidden_is_pooled_as_python_pools_it(run: Run, n: int) -> None:
    """Also where a block is hidden for two reasons: the first one counts in both."""
    reasons = MaskReasons(causal=True, window=(n // 8, 0), padding=(0, 1, 2))
    body = """
      const [height, width] = given.size;
      const { n, reasons } = given;
      return [...m.poolHidden({ rows: n, cols: n, causal: false, hidden: null, reasons }, height, width)];
    """
    expected = hidden_thumbnail(reasons.codes(n, n))
    found = run("grid/pool.ts", body, {"n": n, "reasons": asdict(reasons), "size": expected.shape})
    assert found == expected.ravel().tolist()
    assert set(found) == {0, 1, 2, 3}


@pytest.mark.parametrize("ranked", [False, True])
def test_every_thumbnail_has_a_place_of_its_own(run: Run, ranked: bool) -> None:
    body = """
      const corners = ({ x, y, side }) => [[x, y], [x + side - 1, y + side - 1]];
      return given.map((one) => {
        const layout = m.layOut(one);
        const boxes = Array.from({ length: layout.count }, (_, n) => m.boxAt(layout, n));
        const hit = boxes.map((box) => corners(box).map((at) => m.placeAt(layout, ...at)));
        return [layout, boxes, hit, m.placeAt(layout, -5, 40), m.placeAt(layout, layout.width + 5, 40)];
      });
    """
    sizes = [(6, 12, 328), (12, 12, 328), (24, 16, 430), (1, 1, 300), (6, 12, 240)]
    given = [{"layers": layers, "heads": heads, "width": width, "most": 360, "ranked": ranked}
             for layers, heads, width in sizes]  # fmt: skip
    for (layers, heads, width), found in zip(sizes, run("grid/paint.ts", body, given), strict=True):
        layout, boxes, hit, before, beyond = found
        assert len(boxes) == layers * heads
        assert hit == [[n, n] for n in range(layers * heads)]
        assert (before, beyond) == (None, None)
        assert layout["width"] <= width
        assert layout["side"] >= 12
        assert max(box["x"] + box["side"] for box in boxes) <= layout["width"]
        assert max(box["y"] + box["side"] for box in boxes) <= layout["height"]


PAINTED = """
  const drawn = { images: [], frames: [], texts: [] };
  const own = {
    putImageData: (image, x, y) => drawn.images.push([[...image.data], x, y]),
    strokeRect: (x, y) =>
      drawn.frames.push([own.strokeStyle.toUpperCase(), own.lineWidth, own.globalAlpha, x, y]),
    fillText: (text, x, y) => drawn.texts.push([text, Math.round(x), Math.round(y)]),
    measureText: (text) => ({ width: 10 * text.length }),
  };
  const context = new Proxy(own, { get: (of, name) => of[name] ?? (() => {}) });
  const paint = ({ layers, heads, order = null, least = 0, density = 1, ...looks }) => {
    const layout = m.layOut({
      layers: layers.length, heads, width: 120, most: 300, ranked: order !== null, least, mostSide: 12,
    });
    m.paintGrid({ style: {}, getContext: () => context }, {
      layout, layers, heads, order, faded: null, overview: null, theme: "light", density, font: "serif", ...looks,
    });
    return { ...drawn, layout, boxes: Array.from({ length: layout.count }, (_, n) => m.boxAt(layout, n)) };
  };
"""
"""What is drawn of a grid: images, frames and texts, on a canvas where a letter is 10 px wide"""


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_a_thumbnail_has_the_colours_of_its_own_head_in_the_place_of_its_rank(run: Run, theme: str) -> None:
    """Two layers of two heads, of two queries and three keys: bytes of weights, of which two cells are hidden."""
    weights = np.array([[[0, 10, 0], [64, 128, 255]], [[1, 0, 0], [0, 0, 9]], [[255, 0, 0], [255, 0, 200]],
                        [[3, 0, 0], [0, 7, 7]]])  # fmt: skip
    hidden, order, faded = np.array([[0, 1, 1], [0, 0, 0]]), [2, 0, 3, 1], [1, 0, 1, 0]
    body = """
      const [data, hidden] = [given.data, given.hidden].map((numbers) => Uint8Array.from(numbers));
      const overview = { data, height: 2, width: 3, hidden };
      return paint({ layers: [3, 7], heads: 2, overview, order: Int32Array.from(given.order),
        faded: Uint8Array.from(given.faded), theme: given.theme, density: 2 });
    """
    given = {"data": weights.ravel().tolist(), "hidden": hidden.ravel().tolist(), "order": order, "faded": faded}
    found = run("grid/paint.ts", PAINTED + body, {**given, "theme": theme})
    palette = LIGHT if theme == "light" else DARK
    ground, full = (np.array(ImageColor.getrgb(colour), float) for _, colour in palette.weights)
    side = found["layout"]["side"] * 2
    for place, (pixels, x, y) in enumerate(found["images"]):
        n = order[place]
        assert (x, y) == (2 * found["boxes"][place]["x"], 2 * found["boxes"][place]["y"])
        image = np.array(pixels).reshape(side, side, 4)[..., :3]
        share = np.sqrt(weights[n] / 255)[..., None]
        expected = ground + share * (full - ground)
        if faded[n]:
            expected = ground + 0.2 * (expected - ground)
        middles = image[[side // 4, 3 * side // 4]][:, [side // 6, side // 2, 5 * side // 6]]
        assert np.abs(middles - expected)[hidden == 0].max() <= 2, n
        cell = image[: side // 2, side // 3 : 2 * side // 3].reshape(-1, 3)
        assert len(np.unique(cell, axis=0)) == 2, "hidden cells are hatched"
    ink = palette.ink.attention.upper()
    frames = [(colour == ink, width, alpha) for colour, width, alpha, *_ in found["frames"]]
    assert frames == [(False, 0.5, 0.35) if faded[n] else (True, 1.5, 1) for n in order]
    assert [text for text, *_ in found["texts"]] == ["7·0", "3·0", "7·1", "3·1", "↓ from", "→ to"]
    for (_, x, y), box in zip(found["texts"][:4], found["boxes"], strict=True):
        assert (x, y) == (round(box["x"] + box["side"] / 2), box["y"] - 3)


def test_thumbnails_of_each_layer_hatch_what_its_own_mask_hides(run: Run) -> None:
    body = """
      const { poolHidden } = await import("/frontend/grid/pool.ts");
      const of = (reasons) => poolHidden({ rows: 3, cols: 3, causal: false, hidden: null, reasons }, 3, 3);
      const hiddenIn = [of(null), of({ causal: true, window: [1, 0], padding: [0] })];
      const overview = { data: new Uint8Array(18), height: 3, width: 3, hidden: null, hiddenIn };
      return [hiddenIn.map((one) => one && [...one]), paint({ layers: [0, 1], heads: 1, overview, density: 1 }).images];
    """
    (none, codes), images = run("grid/paint.ts", PAINTED + body)
    assert (none, codes) == (None, [3, 1, 1, 3, 0, 1, 3, 0, 0])
    plain, masked = (np.array(pixels).reshape(-1, 4)[:, :3] for pixels, *_ in images)
    assert len(np.unique(plain, axis=0)) == 1
    assert len(np.unique(masked, axis=0)) == 5, "two colours of the future, two of padding, and that of 0"


def test_layers_and_heads_are_named_where_their_names_have_room(run: Run) -> None:
    body = "return given.map((one) => { drawn.texts = []; return paint(one); })"
    layers = [*range(2, 8)]
    given: list[dict[str, Any]] = [
        {"layers": layers, "heads": 3},
        {"layers": layers, "heads": 12},
        {"layers": layers, "heads": 2, "order": [*range(12)], "least": 20},
    ]
    few, many, large = run("grid/paint.ts", PAINTED + body, given)
    for found, heads in ((few, ["0", "1", "2"]), (many, ["0", "2", "4", "6", "8", "10"])):  # 16 px apart
        texts = [text for text, *_ in found["texts"]]
        assert texts == [*map(str, layers), *heads, "head", "layer", "↓ from", "→ to"]
        boxes, columns = found["boxes"], found["layout"]["columns"]
        for (_, x, y), box in zip(found["texts"], boxes[::columns], strict=False):
            assert y == pytest.approx(box["y"] + box["side"] / 2, abs=1)
            assert x < box["x"]
        for text, x, y in found["texts"][len(layers) : -4]:
            assert x == pytest.approx(boxes[int(text)]["x"] + boxes[int(text)]["side"] / 2, abs=1)
            assert y < boxes[0]["y"]
    assert len(large["texts"]) == 2, "in lecture mode a name that is wider than its thumbnail is left out"


@pytest.mark.parametrize(("width", "written"), [(400, list(AXIS_TITLE.values())[:2]), (120, ["from", "to"])])
@pytest.mark.parametrize("order", [None, [*range(6)]])
def test_under_the_thumbnails_stands_what_rows_and_columns_of_each_are(
    run: Run, width: int, written: list[str], order: list[int] | None
) -> None:
    body = """
      const layout = m.layOut({ layers: 2, heads: 3, width: given.width, most: 300, ranked: given.order !== null });
      m.paintGrid({ style: {}, getContext: () => context }, { layout, layers: [0, 1], heads: 3, order: given.order,
        faded: null, overview: null, theme: "light", density: 1, font: "serif" });
      return { texts: drawn.texts.slice(-2), layout, last: m.boxAt(layout, 5) };
    """
    found = run("grid/paint.ts", PAINTED.replace("10 *", "5 *") + body, {"width": width, "order": order})
    layout, last = found["layout"], found["last"]
    assert [text for text, *_ in found["texts"]] == [f"↓ {written[0]}", f"→ {written[1]}"]
    assert all(last["y"] + last["side"] + 8 < y < layout["height"] - 3 for *_, y in found["texts"])
    assert max(x + 5 * len(text) for text, x, _ in found["texts"]) <= layout["width"]


def test_a_grid_is_drawn_anew_for_another_density_until_it_is_gone(run: Run) -> None:
    body = """
      const queries = [];
      window.matchMedia = () => queries[queries.push(new EventTarget()) - 1];
      let fits = 0;
      class Counted extends m.Grid { fit() { fits += 1; } }
      const grid = new Counted(document.body, { onChoose() {}, onHover() {} });
      await document.fonts.ready;
      await new Promise((done) => setTimeout(done, 50));
      const changed = () => {
        const before = fits;
        queries.at(-1).dispatchEvent(new Event("change"));
        return fits - before;
      };
      const seen = [changed(), changed()];
      grid.destroy();
      return [...seen, changed()];
    """
    assert run("grid/grid.ts", body) == [1, 1, 0]


# ---- heads/choice.ts, scene.ts, pictures.ts


def test_only_heads_that_there_are_can_be_chosen(run: Run) -> None:
    cases: list[Any] = [
        ([1, 2], [[0, 0], [1, 2]], [[1, 2], [[0, 0], [1, 2]]]),
        ([9, 2], [[0, 0], [9, 2]], [[0, 0], [[0, 0]]]),
        ([1, 2], [[0, 1], [0, 1], [1, 99]], [[1, 2], [[1, 2], [0, 1]]]),
        ([1, -1], [[1, -1]], [[1, -1], [[1, -1]]]),
        ([1, -2], [], [[0, 0], [[0, 0]]]),
    ]
    body = """return given.map(([[layer, head], chosen]) => {
      const view = m.checked({ layer, head, chosen }, { layers: [0, 1], heads: 3, rollout: true });
      return [[view.layer, view.head], view.chosen];
    });"""
    assert run("heads/choice.ts", body, [case[:2] for case in cases]) == [left for *_, left in cases]


def test_a_head_is_taken_away(run: Run) -> None:
    cases: list[Any] = [
        ([0, 1], [1, 1], [[0, 1], [[0, 1], [2, 1]]]),  # another one: the current one stays
        ([1, 1], [0, 1], [[1, 1], [[1, 1], [2, 1]]]),
        ([0, 1], [0, 1], [[2, 1], [[1, 1], [2, 1]]]),  # itself: the last one takes its place
        ([2, 1], [2, 1], [[1, 1], [[0, 1], [1, 1]]]),
    ]
    body = """return given.map(([[layer, head], taken]) => {
      const view = m.toggled({ layer, head, chosen: [[0, 1], [1, 1], [2, 1]] }, taken);
      return [[view.layer, view.head], view.chosen];
    });"""
    assert run("heads/choice.ts", body, [case[:2] for case in cases]) == [left for *_, left in cases]
    body = "return m.toggled({ layer: 1, head: 2, chosen: [[1, 2]] }, [1, 2])"
    assert run("heads/choice.ts", body) == {"layer": 1, "head": 2, "chosen": [[1, 2]]}, "the only one stays"


def test_no_more_heads_are_chosen_than_can_be_distinguished(run: Run) -> None:
    body = """
      let view = m.only([0, 0]);
      for (let head = 1; head < 40; head += 1) view = m.added(view, [0, head]);
      return [view.chosen.length, view.head];
    """
    assert run("heads/choice.ts", body) == [24, 23]


def test_heatmaps_are_tiled_as_large_as_they_can_be(run: Run) -> None:
    given = [(1, 300, 300), (2, 700, 400), (6, 760, 520), (24, 500, 500)]
    body = "return given.map((one) => m.tiling(...one)).map(({ columns, fit, side }) => [columns, fit, side])"
    for (count, *_), (columns, fit, side) in zip(given, run("heads/pictures.ts", body, given), strict=True):
        assert 1 <= columns <= fit <= count
        assert fit == 1 or side >= 110, count


def test_what_a_filter_leaves_out_is_plain_and_not_hatched_like_what_a_mask_hides(run: Run) -> None:
    body = "return m.leftOut({ queries: Uint8Array.of(0, 1), keys: Uint8Array.of(1, 1, 0) });"
    assert run("heads/pictures.ts", body) == [
        {"row": 0, "column": 0, "rows": 1, "columns": 3}, {"row": 0, "column": 2, "rows": 2, "columns": 1},
    ]  # fmt: skip


# ---- heads/files.ts


FILES = """
  const weights = Array.from({ length: 12 }, (_, n) => [`${Math.floor(n / 4)}.${n % 4}`, n, 1]);
  const files = { shared: 's', weights, rollout: ['r', 'q'] };
  const header = { layers: [0, 1, 2], heads: 4, rows: 256, cols: 256, files };
"""


def test_every_head_is_found_in_its_file(run: Run) -> None:
    body = """
      const files = { shared: 's', weights: [['a', 0, 3], ['b', 3, 2], ['c', 5, 3]], rollout: ['r', 'q'] };
      const heads = [[0, 0], [0, 3], [1, 0], [1, 3], [1, -1]];
      return heads.map((head) => Object.values(m.fileOf({ layers: [0, 1], heads: 4, files }, head)));
    """
    assert run("heads/files.ts", body) == [["a", 0, 3], ["b", 0, 2], ["b", 1, 2], ["c", 2, 3], ["q", 0, 1]]


def test_fetching_ahead_starts_nearby_and_is_bounded(run: Run) -> None:
    body = f"""
      {FILES}
      const ahead = (head, received, here = []) =>
        m.filesAhead(header, head, received, (digest) => here.includes(digest)).join(" ");
      return [ahead([1, 2], 1e6), ahead([1, 2], 1e6, ['1.2', '2.2', '0.0']), ahead([1, 2], 6e6),
        ahead([0, 0], 6.5e6), ahead([0, -1], 0)];
    """
    # 256 tokens: 131,072 bytes a head. Those one key away come first, and they alone where much has come.
    assert run("heads/files.ts", body) == [
        "2.2 1.3 0.2 1.1 1.0 1.2 2.0 2.1 2.3 0.0 0.1 0.3",
        "1.3 0.2 1.1 1.0 2.0 2.1 2.3 0.1 0.3",
        "2.2 1.3 0.2 1.1",
        "1.0 0.1",
        "0.0 0.1 0.2 0.3 1.0 1.1 1.2 1.3",
    ]


# ---- core/arrays.ts


def test_the_browser_keeps_what_was_used_last_and_fetches_each_once(run: Run) -> None:
    body = """
      const size = 2 ** 21;
      const entry = { dtype: "U16", shape: [size / 2], data_offsets: [0, size] };
      const head = new TextEncoder().encode(JSON.stringify({ weights: entry }).padEnd(120));
      const file = new Uint8Array(8 + head.length + size);
      new DataView(file.buffer).setUint32(0, head.length, true);
      file.set(head, 8);
      let requests = 0;
      const request = async () => { requests += 1; return new Response(file); };
      const fetched = (digest) => m.fetchArrays(digest, { request, offerAgain: async () => {} });
      await Promise.all([fetched("0"), fetched("0"), fetched("0")]);
      const once = requests;
      for (let n = 1; n < 34; n += 1) {
        await fetched(String(n));
        m.keptArrays("0");
      }
      return [once, requests, [0, 1, 2, 3, 33].map((n) => Boolean(m.keptArrays(String(n))))];
    """
    # 2 MiB each, 64 MiB in all: 32 stay, and the first is looked at again and again.
    assert run("core/arrays.ts", body) == [1, 34, [True, False, False, True, True]]


# ---- heads/store.ts


def test_each_head_has_its_own_norms_and_measures(run: Run) -> None:
    """Norms (L, H, Tk) and measures (L, H, M), where L, H and the rest all differ."""
    norms, measures = np.arange(2 * 3 * 5).reshape(2, 3, 5), np.arange(2 * 3 * 4).reshape(2, 3, 4) + 100
    body = """
      const store = new m.Store();
      const header = {
        trace: "norms", layers: [0, 1], heads: 3, rows: 5, cols: 5, query_groups: [], key_groups: [],
        measures: ["a", "b", "c", "d"].map((name) => ({ name })), files: { shared: "s", weights: [], rollout: [] },
      };
      const array = (data, ...shape) => ({ data: Float32Array.from(data), shape });
      const overview = { data: new Uint8Array(6), shape: [2, 3, 1, 1] };
      const shared = { overview, key_norms: array(given.norms, 2, 3, 5) };
      store.take(header, { measures: array(given.measures, 2, 3, 4) }, shared);
      const heads = [[0, 0], [0, 2], [1, 0], [1, 2]];
      return heads.map((head) => [[...store.keyNorms(head)], [...store.measuresOf(head)]]);
    """
    given = {"norms": norms.ravel().tolist(), "measures": measures.ravel().tolist()}
    found = run("heads/store.ts", body, given)
    heads = [(0, 0), (0, 2), (1, 0), (1, 2)]
    assert found == [[norms[head].tolist(), measures[head].tolist()] for head in heads]


# ---- heads/scene.ts


def test_heads_are_ranked_by_a_measure_and_those_without_it_come_last(run: Run) -> None:
    values = [0.3, None, 0.9, 0.3, -1.0, None]
    body = """
      const store = {
        header: { layers: [0, 1], heads: 3, measures: [{ name: "other" }, { name: "entropy" }] },
        measures: Float32Array.from(given.flatMap((value) => [0, value ?? NaN])),
      };
      return [[...m.ranked(store, "entropy")], m.ranked(store, "unknown")];
    """
    order = sorted(range(6), key=lambda n: (values[n] is None, -(values[n] or 0.0)))  # equal ones stay in order
    assert run("heads/scene.ts", body, values) == [order, None]
