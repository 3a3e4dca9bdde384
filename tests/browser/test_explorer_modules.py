"""The explorer's grid, choice, store and fetching: one module at a time, against numpy and Python."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from playwright.sync_api import Page

from attnviz.measures.thumbnails import hidden_thumbnail, thumbnails
from tests.browser.apps.attention import softmax_rows
from tests.browser.modules import Run

# ---- grid_pool.js, grid_paint.js


@pytest.mark.parametrize(("rows", "cols"), [(1, 1), (7, 48), (49, 5), (100, 131)])
def test_thumbnails_are_pooled_as_python_pools_them(run: Run, rows: int, cols: int) -> None:
    weights = np.stack([softmax_rows(seed, rows, cols, sharp=4) for seed in (1, 2)])
    codes = np.rint(weights * 65535).astype(int).reshape(2, -1).tolist()
    body = """
      const { rows, cols } = given;
      const heads = given.codes.map((head) => Uint16Array.from(head));
      const { data, height, width } = m.poolWeights(heads, rows, cols);
      const hidden = m.poolHidden({ rows, cols, causal: true, hidden: null }, height, width);
      return [[...data], height, width, [...hidden]];
    """
    data, height, width, hidden = run("grid_pool.js", body, {"codes": codes, "rows": rows, "cols": cols})
    ours = thumbnails(weights)
    assert (height, width) == ours.shape[1:]
    assert np.abs(np.array(data) - ours.ravel()).max() <= 1  # rounded twice here
    masked = hidden_thumbnail(np.triu(np.ones((rows, cols), bool), 1))
    assert hidden == masked.ravel().tolist()


@pytest.mark.parametrize("ranked", [False, True])
@pytest.mark.parametrize(
    ("layers", "heads", "width"), [(6, 12, 328), (12, 12, 328), (24, 16, 430), (1, 1, 300), (6, 12, 240)]
)
def test_every_thumbnail_has_a_place_of_its_own(run: Run, layers: int, heads: int, width: int, ranked: bool) -> None:
    body = """
      const layout = m.layOut(given);
      const boxes = Array.from({ length: layout.count }, (_, n) => m.boxAt(layout, n));
      const corners = ({ x, y, side }) => [[x, y], [x + side - 1, y + side - 1]];
      const hit = boxes.map((box) => corners(box).map((at) => m.placeAt(layout, ...at)));
      return [layout, boxes, hit, m.placeAt(layout, -5, 40), m.placeAt(layout, layout.width + 5, 40)];
    """
    given = {"layers": layers, "heads": heads, "width": width, "most": 360, "ranked": ranked}
    layout, boxes, hit, before, beyond = run("grid_paint.js", body, given)
    assert len(boxes) == layers * heads
    assert hit == [[n, n] for n in range(layers * heads)]
    assert (before, beyond) == (None, None)
    assert layout["width"] <= width
    assert layout["side"] >= 12
    assert max(box["x"] + box["side"] for box in boxes) <= layout["width"]
    assert max(box["y"] + box["side"] for box in boxes) <= layout["height"]


# ---- explorer_choice.js, explorer_scene.js, explorer_pictures.js


@pytest.mark.parametrize(
    ("current", "chosen", "left"),
    [
        ([1, 2], [[0, 0], [1, 2]], [[1, 2], [[0, 0], [1, 2]]]),
        ([9, 2], [[0, 0], [9, 2]], [[0, 0], [[0, 0]]]),
        ([1, 2], [[0, 1], [0, 1], [1, 99]], [[1, 2], [[1, 2], [0, 1]]]),
        ([1, -1], [[1, -1]], [[1, -1], [[1, -1]]]),
        ([1, -2], [], [[0, 0], [[0, 0]]]),
    ],
)
def test_only_heads_that_there_are_can_be_chosen(run: Run, current: list[int], chosen: list[Any], left: Any) -> None:
    body = """
      const [layer, head] = given.current;
      const view = m.checked({ layer, head, chosen: given.chosen }, { layers: 2, heads: 3, rollout: true });
      return [[view.layer, view.head], view.chosen];
    """
    assert run("explorer_choice.js", body, {"current": current, "chosen": chosen}) == left


def test_no_more_heads_are_chosen_than_can_be_distinguished(run: Run) -> None:
    body = """
      let view = m.only([0, 0]);
      for (let head = 1; head < 40; head += 1) view = m.added(view, [0, head]);
      return [view.chosen.length, m.MOST, view.head];
    """
    assert run("explorer_choice.js", body) == [24, 24, 23]


@pytest.mark.parametrize(("count", "width", "height"), [(1, 300, 300), (2, 700, 400), (6, 760, 520), (24, 500, 500)])
def test_heatmaps_are_tiled_as_large_as_they_can_be(run: Run, count: int, width: int, height: int) -> None:
    columns, fit, side = run(
        "explorer_pictures.js",
        "const t = m.tiling(...given); return [t.columns, t.fit, t.side]",
        [count, width, height],
    )
    assert 1 <= columns <= fit <= count
    assert fit == 1 or side >= 110


# ---- explorer_fetch.js


FETCH = """
  const here = new Set(['0 0']);
  const store = {
    received: 1e6, frame: { rows: 256, cols: 256 }, header: { layers: 3, heads: 4 },
    has: (head) => here.has(head.join(' ')),
  };
  const asked = [];
  const lost = [];
  const fetcher = new m.Fetcher(store, { ask: (heads) => asked.push(heads), onLost: () => lost.push(1) });
  const answer = () => { for (const head of asked.at(-1)) here.add(head.join(' ')); fetcher.answered(); };
  Object.assign(window, { store, asked, lost, fetcher, answer });
"""


def test_missing_heads_are_requested_once_and_again_after_a_timeout(run: Run, page: Page) -> None:
    page.clock.install()
    run("explorer_fetch.js", FETCH)
    page.evaluate("fetcher.need([[0, 0], [2, 3]]), fetcher.need([[2, 3]])")
    assert page.evaluate("asked") == [[[2, 3]]]
    page.clock.run_for(4200)
    assert page.evaluate("[asked.length, fetcher.lost([2, 3])]") == [2, False]
    page.clock.run_for(9000)
    assert page.evaluate("[asked.length, fetcher.lost([2, 3]), lost.length > 0]") == [3, True, True]
    page.evaluate("fetcher.retry(), fetcher.need([[2, 3]]), answer()")
    page.clock.run_for(20_000)
    assert page.evaluate("[asked.length, fetcher.lost([2, 3])]") == [4, False]


def test_prefetching_starts_nearby_and_is_bounded(run: Run, page: Page) -> None:
    run("explorer_fetch.js", FETCH)
    page.evaluate("fetcher.fetchAhead([1, 2]), fetcher.fetchAhead([1, 2])")
    # 256 tokens: 131,072 bytes a head, so 7 of them are an answer of less than 1 MB. Those one key away come first.
    assert page.evaluate("asked") == [[[2, 2], [1, 3], [0, 2], [1, 1], [1, 0], [1, 2], [2, 0]]]
    page.evaluate("answer(), fetcher.fetchAhead([1, 2])")
    assert page.evaluate("asked[1]") == [[2, 1], [2, 3], [0, 1], [0, 3]]
    page.evaluate("answer(), fetcher.fetchAhead([1, 2])")
    assert page.evaluate("asked.length") == 2  # all is here
    run("explorer_fetch.js", FETCH)
    page.evaluate("store.received = 6.3e6, fetcher.fetchAhead([0, 0])")
    assert page.evaluate("asked") == [[[1, 0]]]
    page.evaluate("answer(), store.received = 6.5e6, fetcher.fetchAhead([0, 0])")
    assert page.evaluate("asked[1]") == [[0, 1]]  # what one key away is, and no more
    page.evaluate("answer(), fetcher.fetchAhead([0, 0])")
    assert page.evaluate("asked.length") == 2


def test_the_store_evicts_the_least_recently_used_head(run: Run) -> None:
    body = """
      const store = new m.Store();
      const side = 1024;
      const header = (trace, sent) => ({
        trace, layers: 1, heads: 99, rows: side, cols: side, sent, measures: [], query_groups: [], key_groups: [],
      });
      const weights = { data: new Uint16Array(side * side), shape: [1, side, side] };
      for (let head = 0; head < 34; head += 1) {
        store.take(header('a', [[0, head]]), { weights, overview: { data: new Uint8Array(1), shape: [1, 1, 1, 1] } });
        store.codes([0, 0]);
      }
      return [0, 1, 2, 3, 33].map((head) => store.has([0, head]));
    """
    # 2 MiB a head, 64 MiB in all: 32 heads stay, and the first is looked at again and again.
    assert run("explorer_store.js", body) == [True, False, False, True, True]


def test_the_initial_payload_is_requested_again_if_it_is_missing(run: Run, page: Page) -> None:
    page.clock.install()
    run("explorer_fetch.js", FETCH)
    page.evaluate("fetcher.start(), fetcher.start()")
    assert page.evaluate("asked") == [[]]
    page.clock.run_for(5000)
    page.evaluate("fetcher.start()")
    assert page.evaluate("asked.length") == 2


def test_each_head_has_its_own_norms_and_measures(run: Run) -> None:
    """Norms (L, H, Tk) and measures (L, H, M), where L, H and the rest all differ."""
    norms, measures = np.arange(2 * 3 * 5).reshape(2, 3, 5), np.arange(2 * 3 * 4).reshape(2, 3, 4) + 100
    body = """
      const store = new m.Store();
      const header = {
        trace: "norms", layers: 2, heads: 3, rows: 5, cols: 5, sent: [], query_groups: [], key_groups: [],
        measures: ["a", "b", "c", "d"].map((name) => ({ name })),
      };
      const array = (data, ...shape) => ({ data: Float32Array.from(data), shape });
      store.take(header, {
        overview: { data: new Uint8Array(6), shape: [2, 3, 1, 1] },
        key_norms: array(given.norms, 2, 3, 5), measures: array(given.measures, 2, 3, 4),
      });
      const heads = [[0, 0], [0, 2], [1, 0], [1, 2]];
      return heads.map((head) => [[...store.keyNorms(head)], [...store.measuresOf(head)]]);
    """
    given = {"norms": norms.ravel().tolist(), "measures": measures.ravel().tolist()}
    found = run("explorer_store.js", body, given)
    heads = [(0, 0), (0, 2), (1, 0), (1, 2)]
    assert found == [[norms[head].tolist(), measures[head].tolist()] for head in heads]


# ---- explorer_scene.js


def test_heads_are_ranked_by_a_measure_and_those_without_it_come_last(run: Run) -> None:
    values = [0.3, None, 0.9, 0.3, -1.0, None]
    body = """
      const store = {
        header: { layers: 2, heads: 3, measures: [{ name: "other" }, { name: "entropy" }] },
        measures: Float32Array.from(given.flatMap((value) => [0, value ?? NaN])),
      };
      return [[...m.ranked(store, "entropy")], m.ranked(store, "unknown")];
    """
    order = sorted(range(6), key=lambda n: (values[n] is None, -(values[n] or 0.0)))  # equal ones stay in order
    assert run("explorer_scene.js", body, values) == [order, None]
