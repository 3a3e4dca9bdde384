"""The explorer's plain JavaScript modules, one at a time in the browser, against numpy and Python."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from playwright.sync_api import Page

from attnviz.figures.thumbnails import hidden_thumbnail, thumbnails

STEP = 1 / 65535
ERROR = 7.7e-6

Run = Callable[..., Any]


@pytest.fixture
def run(page: Page, explorer_url: str) -> Run:
    """Run a function's body in the browser with a module `m` and one argument `given`."""
    page.goto(f"{explorer_url}/_stcore/health")

    def run_it(module: str, body: str, argument: Any = None) -> Any:
        url = f"/_stcore/bidi-components/attnviz.explorer/{module}"
        return page.evaluate(f"async (given) => {{ const m = await import('{url}'); {body} }}", argument)

    return run_it


def softmax_rows(seed: int, rows: int, cols: int, *, sharp: float = 2.0, causal: bool = False) -> np.ndarray:
    """Attention weights, (rows, cols), whose rows sum to 1."""
    scores = np.random.default_rng(seed).normal(size=(rows, cols)) * sharp
    if causal:
        scores[np.triu(np.ones((rows, cols), bool), 1)] = -np.inf
    lifted = np.exp(scores - scores.max(-1, keepdims=True))
    return lifted / lifted.sum(-1, keepdims=True)


# ---- explorer_values.js

FILTER = """
  const { codes, frame, filters, norms } = given;
  const shown = m.filtered(Uint16Array.from(codes), frame, filters, norms && Float32Array.from(norms));
  const plain = (x) => (Number.isNaN(x) ? null : x);
  const { high, seen, short } = shown;
  return { at: [...shown.at].map(plain), errors: [...shown.errors], high, seen, short };
"""


def filtered(run: Run, weights: np.ndarray, groups: tuple[list[int], list[int]], **more: Any) -> dict[str, Any]:
    """Filter one head in the browser; hidden cells come back as NaN."""
    rows, cols = weights.shape
    frame = {
        "rows": rows, "cols": cols, "causal": more.pop("causal", False), "hidden": more.pop("hidden", None),
        "groups": {"query": groups[0], "key": groups[1]},
    }  # fmt: skip
    norms = more.pop("norms", None)
    filters = {"special": "keep", "between": "all", **more}
    given = {"codes": np.rint(weights * 65535).astype(int).ravel().tolist(), "frame": frame, "filters": filters}
    said: dict[str, Any] = run("explorer_values.js", FILTER, {**given, "norms": norms})
    said["at"] = np.array([np.nan if x is None else x for x in said["at"]]).reshape(rows, cols)
    return said


def expected(weights: np.ndarray, groups: tuple[list[int], list[int]], special: str, between: str) -> np.ndarray:
    """Filter one head with numpy, from the exact weights."""
    query, key = (np.array(side) for side in groups)
    rows, cols = np.ones(len(query), bool), np.ones(len(key), bool)
    shown = weights.copy()
    if special != "keep":
        rows, cols = query != 0, key != 0
    if special == "renormalise":
        with np.errstate(all="ignore"):  # a row of which nothing is left is not compared
            shown = shown / shown[:, key != 0].sum(-1, keepdims=True)
    if between != "all":
        rows, cols = rows & (query == "_ab".index(between[0])), cols & (key == "_ab".index(between[1]))
    return np.where(rows[:, None] & cols, shown, np.nan)


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    seed=st.integers(0, 10**6),
    query=st.lists(st.integers(0, 2), min_size=1, max_size=9),
    key=st.lists(st.integers(0, 2), min_size=1, max_size=9),
    special=st.sampled_from(["keep", "hide", "renormalise"]),
    between=st.sampled_from(["all", "aa", "ab", "ba", "bb"]),
)
def test_filters_do_what_numpy_does(
    run: Run, seed: int, query: list[int], key: list[int], special: str, between: str
) -> None:
    weights = softmax_rows(seed, len(query), len(key))
    said = filtered(run, weights, (query, key), special=special, between=between)
    left = weights[:, np.array(key) != 0].sum(-1)
    oracle = expected(weights, (query, key), special, between)
    certain = (left > 1.1e-3) if special == "renormalise" else np.ones(len(query), bool)
    assert np.array_equal(np.isnan(said["at"][certain]), np.isnan(oracle[certain]))
    off = np.abs(said["at"] - oracle)[certain]
    allowed = np.array(said["errors"])[certain, None] + 1e-7
    assert np.all((off <= allowed) | np.isnan(off))
    assert said["seen"] == np.count_nonzero(~np.isnan(said["at"]))
    if said["seen"]:
        assert said["high"] == pytest.approx(np.nanmax(said["at"]), rel=1e-6)


def test_a_rest_is_better_known_than_the_sum_of_the_others(run: Run) -> None:
    """512 keys: summed up, their steps would make the rest of 0.02 uncertain by up to 0.004."""
    n = 512
    weights = np.full((1, n), 0.02 / (n - 1))
    weights[0, 0] = 0.98
    said = filtered(run, weights, ([1], [0] + [1] * (n - 1)), special="renormalise")
    assert np.nansum(said["at"]) == pytest.approx(1, abs=0.25)  # each weight is only 2.6 steps
    error = 2 * ERROR / 0.02
    assert said["errors"] == pytest.approx([error], rel=1e-3)
    assert np.nanmax(np.abs(said["at"] - weights / 0.02)) <= error


def test_a_row_that_is_hidden_throughout_is_not_divided_by_nothing(run: Run) -> None:
    weights = softmax_rows(0, 3, 4)
    weights[1] = 0
    hidden = [0] * 4 + [1] * 4 + [0] * 4
    said = filtered(run, weights, ([1] * 3, [0, 1, 1, 1]), special="renormalise", hidden=hidden)
    assert np.isnan(said["at"][1]).all()
    assert said["at"][[0, 2], 1:].sum(-1) == pytest.approx([1, 1], abs=1e-3)
    assert said["short"] == 1


def test_masked_cells_are_nowhere(run: Run) -> None:
    weights = softmax_rows(3, 6, 6, causal=True)
    said = filtered(run, weights, ([1] * 6, [1] * 6), causal=True)
    assert np.array_equal(np.isnan(said["at"]), np.triu(np.ones((6, 6), bool), 1))
    assert said["seen"] == 21


def test_norms_multiply_the_weights_of_their_keys(run: Run) -> None:
    weights, norms = softmax_rows(4, 5, 3), [0.5, 12.0, 3.25]
    said = filtered(run, weights, ([1] * 5, [1] * 3), norms=norms)
    assert said["at"] == pytest.approx(weights * norms, abs=12 * ERROR)
    assert said["errors"] == pytest.approx([12 * ERROR] * 5)


@pytest.mark.parametrize(("rows", "causal"), [(12, False), (40, False), (17, True), (25, True), (64, True)])
def test_a_sheet_is_faint_where_half_of_its_rows_have_no_weight_to_be_seen(run: Run, rows: int, causal: bool) -> None:
    weights = np.tril(np.ones((rows, rows))) if causal else np.random.default_rng(rows).uniform(0.5, 1, (rows, rows))
    weights = weights / weights.sum(-1, keepdims=True)
    shown = [None if causal and k > q else float(weights[q, k]) for q in range(rows) for k in range(rows)]
    body = "return m.isFaint(Float32Array.from(given.shown, (x) => x ?? NaN), given.rows, given.rows);"
    wanted = bool(np.mean(weights.max(-1) > 0.1) < 0.5)
    assert run("explorer_values.js", body, {"shown": shown, "rows": rows}) == wanted
    hidden = [None] * (rows * rows) + shown  # rows that a filter has emptied count for nothing
    body = body.replace("given.rows, given.rows", "2 * given.rows, given.rows")
    assert run("explorer_values.js", body, {"shown": hidden, "rows": rows}) == wanted


def test_the_grid_says_how_many_heads_stand_out(run: Run) -> None:
    body = "return m.gridSentence({ ...given, faded: given.faded && Uint8Array.from(given.faded) });"
    made = [
        run("explorer_words.js", body, given)
        for given in (
            {"measure": None, "faded": None, "label": ""},
            {"measure": {"title": "entropy"}, "faded": [0, 1, 1, 0, 1], "label": "<b>broad"},
        )
    ]
    assert made == ["", "Ranked by entropy, largest first. 2 of 5 heads: <b>broad. "]


def test_a_mean_hides_what_is_hidden_in_any(run: Run) -> None:
    body = """
      const floats = (at) => Float32Array.from(at, (x) => x ?? NaN);
      const head = (at, errors) => ({ at: floats(at), errors: Float64Array.from(errors), short: 0 });
      const shown = m.mean([head([0.2, 0.8, 1], [1e-5]), head([0.4, null, 0], [3e-5])]);
      return [[...shown.at].map((x) => (Number.isNaN(x) ? null : x)), [...shown.errors], shown.high, shown.seen];
    """
    at, errors, high, seen = run("explorer_values.js", body)
    assert (at[1], errors, seen) == (None, [3e-5], 2)
    assert [at[0], at[2], high] == pytest.approx([0.3, 0.5, 0.5])


def test_no_more_digits_are_said_than_are_certain(run: Run) -> None:
    errors = {7.7e-6: 4, 4e-5: 4, 2e-4: 3, 4.9e-3: 2, 0.04: 1, 3.0: 1, 0.0: 4}
    assert run("explorer_values.js", "return given.map(m.certainDigits)", list(errors)) == list(errors.values())


def test_the_strongest_come_first_and_ties_in_order(run: Run) -> None:
    body = "return m.strongestOf(Float32Array.from([0.25, NaN, 0.5, 0.25, 0.5, 0]), 3)"
    assert run("explorer_values.js", body) == [[2, 0.5], [4, 0.5], [0, 0.25]]
    assert run("explorer_values.js", "return m.strongestOf(Float32Array.from([NaN]), 3)") == []


def test_weights_are_written_as_exactly_as_they_are_known(run: Run) -> None:
    said = run(
        "explorer_words.js",
        "return [m.weightText(0.12345), m.weightText(1e-5), m.weightText(0), m.weightText(0.126, 2)]",
    )
    assert said == ["0.1235", "< 0.0001", "0.0000", "≈ 0.13"]


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


def test_no_more_heads_than_can_be_told_apart(run: Run) -> None:
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


def test_what_is_missing_is_asked_for_once_and_again_when_it_is_late(run: Run, page: Page) -> None:
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


def test_heads_are_fetched_ahead_near_ones_first_and_not_without_end(run: Run, page: Page) -> None:
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


def test_the_store_forgets_what_was_looked_at_longest_ago(run: Run) -> None:
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


def test_what_only_a_first_payload_brings_is_asked_for_again(run: Run, page: Page) -> None:
    page.clock.install()
    run("explorer_fetch.js", FETCH)
    page.evaluate("fetcher.start(), fetcher.start()")
    assert page.evaluate("asked") == [[]]
    page.clock.run_for(5000)
    page.evaluate("fetcher.start()")
    assert page.evaluate("asked.length") == 2
