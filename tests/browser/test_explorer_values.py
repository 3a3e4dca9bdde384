"""What the explorer shows of a head, its numbers and its sentences, against numpy: one module at a time."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from attnviz.mask_reasons import MaskReasons
from attnviz.measures.summary import BROAD_HEAD, MIN_BROAD_ENTROPY, choose_measures, measure_head, shown_label
from attnviz.tokens import CharVocab, Tokens, WordPiece, WordTokenizer
from attnviz.toy.block import mask_of
from attnviz.toy.config import ToyConfig
from tests.browser.apps.attention import softmax_rows
from tests.browser.modules import Run

STEP = 1 / 65535
ERROR = 7.7e-6

FILTERS = {"special": ["keep", "hide", "renormalise"], "between": ["all", "aa", "ab", "ba", "bb"]}
"""The filters and their options; the first filters nothing"""

FILTER = """
  const plain = (x) => (Number.isNaN(x) ? null : x);
  return given.map(({ codes, frame, filters, norms }) => {
    const shown = m.filtered(Uint16Array.from(codes), frame, filters, norms && Float32Array.from(norms));
    const { high, seen, short } = shown;
    return { at: [...shown.at].map(plain), errors: [...shown.errors], high, seen, short };
  });
"""

Groups = tuple[list[int], list[int]]


def filtered(run: Run, heads: list[tuple[np.ndarray, Groups, dict[str, Any]]]) -> list[dict[str, Any]]:
    """Filter heads in the browser, each with its filters; hidden cells come back as NaN."""
    given = []
    for weights, groups, more in heads:
        rows, cols = weights.shape
        frame = {
            "rows": rows, "cols": cols, "causal": more.get("causal", False), "hidden": more.get("hidden"),
            "groups": {"query": groups[0], "key": groups[1]}, "has_sinks": more.get("has_sinks", False),
            "reasons": more.get("reasons"),
        }  # fmt: skip
        filters = {name: more.get(name, options[0]) for name, options in FILTERS.items()}
        codes = np.rint(weights * 65535).astype(int).ravel().tolist()
        given.append({"codes": codes, "frame": frame, "filters": filters, "norms": more.get("norms")})
    found: list[dict[str, Any]] = run("heads/values.ts", FILTER, given)
    for shown, (weights, *_) in zip(found, heads, strict=True):
        shown["at"] = np.array([np.nan if x is None else x for x in shown["at"]]).reshape(weights.shape)
    return found


def filtered_head(run: Run, weights: np.ndarray, groups: Groups, **more: Any) -> dict[str, Any]:
    """Filter one head in the browser."""
    (shown,) = filtered(run, [(weights, groups, more)])
    return shown


def expected(weights: np.ndarray, groups: Groups, special: str, between: str) -> np.ndarray:
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


GROUPS = st.lists(st.integers(0, 2), min_size=1, max_size=9)
CASE = st.tuples(st.integers(0, 10**6), GROUPS, GROUPS, *(st.sampled_from(options) for options in FILTERS.values()))


@settings(max_examples=5, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(CASE, min_size=8, max_size=8))  # several for one load of the module
def test_filters_do_what_numpy_does(run: Run, cases: list[tuple[int, list[int], list[int], str, str]]) -> None:
    heads = [
        (softmax_rows(seed, len(query), len(key)), (query, key), {"special": special, "between": between})
        for seed, query, key, special, between in cases
    ]
    for (weights, groups, filters), shown in zip(heads, filtered(run, heads), strict=True):
        left = weights[:, np.array(groups[1]) != 0].sum(-1)
        oracle = expected(weights, groups, **filters)
        certain = (left > 1.1e-3) if filters["special"] == "renormalise" else np.ones(len(left), bool)
        assert np.array_equal(np.isnan(shown["at"][certain]), np.isnan(oracle[certain]))
        off = np.abs(shown["at"] - oracle)[certain]
        allowed = np.array(shown["errors"])[certain, None] + 1e-7
        assert np.all((off <= allowed) | np.isnan(off))
        assert shown["seen"] == np.count_nonzero(~np.isnan(shown["at"]))
        if shown["seen"]:
            assert shown["high"] == pytest.approx(np.nanmax(shown["at"]), rel=1e-6)


def test_a_rest_is_better_known_than_the_sum_of_the_others(run: Run) -> None:
    """512 keys: summed up, their steps would make the rest of 0.02 uncertain by up to 0.004."""
    n = 512
    weights = np.full((1, n), 0.02 / (n - 1))
    weights[0, 0] = 0.98
    shown = filtered_head(run, weights, ([1], [0] + [1] * (n - 1)), special="renormalise")
    assert np.nansum(shown["at"]) == pytest.approx(1, abs=0.25)  # each weight is only 2.6 steps
    error = 2 * ERROR / 0.02
    assert shown["errors"] == pytest.approx([error], rel=1e-3)
    assert np.nanmax(np.abs(shown["at"] - weights / 0.02)) <= error


def test_what_a_small_sink_takes_is_not_counted_as_a_weight(run: Run) -> None:
    """512 keys and a sink with 0.003: by its steps alone, a row that sums to 0.997 might sum to 1."""
    n = 512
    weights = np.full((1, n), 3 / 65535)
    left = weights[0, 1:].sum()
    weights[0, 0] = 1 - 0.003 - left
    shown = filtered_head(run, weights, ([1], [0] + [1] * (n - 1)), special="renormalise", has_sinks=True)
    assert shown["errors"] == pytest.approx([ERROR * n / left], rel=1e-3)
    assert shown["at"][0, 1:] == pytest.approx(weights[0, 1:] / left, rel=1e-6)


def test_a_row_that_is_hidden_throughout_is_not_divided_by_nothing(run: Run) -> None:
    weights = softmax_rows(0, 3, 4)
    weights[1] = 0
    hidden = [0] * 4 + [1] * 4 + [0] * 4
    shown = filtered_head(run, weights, ([1] * 3, [0, 1, 1, 1]), special="renormalise", hidden=hidden)
    assert np.isnan(shown["at"][1]).all()
    assert shown["at"][[0, 2], 1:].sum(-1) == pytest.approx([1, 1], abs=1e-3)
    assert shown["short"] == 1


def test_masked_cells_are_nowhere(run: Run) -> None:
    weights = softmax_rows(3, 6, 6, causal=True)
    shown = filtered_head(run, weights, ([1] * 6, [1] * 6), causal=True)
    assert np.array_equal(np.isnan(shown["at"]), np.triu(np.ones((6, 6), bool), 1))
    assert shown["seen"] == 21


def test_cells_that_a_mask_of_any_shape_hides_are_nowhere(run: Run) -> None:
    weights = softmax_rows(8, 5, 7)
    hidden = np.random.default_rng(8).random((5, 7)) < 0.4
    shown = filtered_head(run, weights, ([1] * 5, [1] * 7), hidden=hidden.astype(int).ravel().tolist())
    assert np.array_equal(np.isnan(shown["at"]), hidden)
    assert shown["at"][~hidden] == pytest.approx(weights[~hidden], abs=ERROR)
    assert shown["seen"] == np.count_nonzero(~hidden)
    assert shown["high"] == pytest.approx(weights[~hidden].max(), abs=ERROR)


def test_norms_multiply_the_weights_of_their_keys(run: Run) -> None:
    weights, norms = softmax_rows(4, 5, 3), [0.5, 12.0, 3.25]
    shown = filtered_head(run, weights, ([1] * 5, [1] * 3), norms=norms)
    assert shown["at"] == pytest.approx(weights * norms, abs=12 * ERROR)
    assert shown["errors"] == pytest.approx([12 * ERROR] * 5)


MARKS = tuple(".,“”()!?-")


@pytest.mark.parametrize(
    "keys",
    [
        WordPiece().tokenize("Well... 3.5 , “no” (or so)! and-and"),
        CharVocab.shakespeare().tokenize("a , b.! ?"),  # its spaces are tokens, and are labelled ␣
        WordTokenizer().tokenize("a , b !"),
    ],
    ids=["pieces", "characters", "words"],
)
def test_every_measure_of_weights_is_one_of_norms_too(run: Run, keys: Tokens) -> None:
    count = len(keys)
    rows, at = softmax_rows(6, count, count).astype(np.float32), np.arange(count)
    marks = [n for n in at if keys.source(int(n)).strip() in MARKS]
    expected = {
        "entropy": -(rows * np.log2(rows)).sum(-1).mean(),
        "distance": (rows * abs(at[:, None] - at)).sum(-1).mean(),
        "previous": np.diagonal(rows, -1).mean(),
        "next": np.diagonal(rows, 1).mean(),
        "same": np.diagonal(rows).mean(),
        "first": rows[:, 0].mean(),
        "cls": rows[:, 0].mean(),
        "sep": rows[:, -1].mean(),
        "punctuation": rows[:, marks].sum(-1).mean(),
    }
    measures = choose_measures(count, keys, same_text=True, causal=False)
    of_weights = measure_head(torch.from_numpy(rows), measures).tolist()
    norms = rows * np.linspace(0.01, 7, count)[:, None]  # rows are divided by their sums
    body = "return given.measures.map((one) => m.normMeasure(one, Float32Array.from(given.norms), given.count))"
    sent = [{"name": one.name, "keys": one.keys} for one in measures]
    of_norms = run("heads/norm_measures.ts", body, {"measures": sent, "norms": norms.ravel().tolist(), "count": count})
    for one, by_python, by_browser in zip(measures, of_weights, of_norms, strict=True):
        assert by_python == pytest.approx(expected[one.name], rel=1e-5), one.name
        assert by_browser == pytest.approx(expected[one.name], rel=1e-5), one.name
    assert len(measures) == (8 if keys.pieces[0] == "[CLS]" else 7)


@pytest.mark.parametrize(("rows", "causal"), [(12, False), (40, False), (17, True), (25, True), (64, True)])
def test_a_sheet_is_faint_where_half_of_its_rows_have_no_weight_to_be_seen(run: Run, rows: int, causal: bool) -> None:
    weights = np.tril(np.ones((rows, rows))) if causal else np.random.default_rng(rows).uniform(0.5, 1, (rows, rows))
    if rows == 40:  # 16 rows of another kind, every second one
        weights[:32:2, 0] = 9
    weights = weights / weights.sum(-1, keepdims=True)
    shown = [None if causal and k > q else float(weights[q, k]) for q in range(rows) for k in range(rows)]
    body = "return m.isFaint(Float32Array.from(given.shown, (x) => x ?? NaN), given.rows, given.rows);"
    wanted = bool(np.mean(weights.max(-1) > 0.1) < 0.5)
    assert run("heads/values.ts", body, {"shown": shown, "rows": rows}) == wanted
    hidden = [None] * (rows * rows) + shown  # rows that a filter has emptied count for nothing
    body = body.replace("given.rows, given.rows", "2 * given.rows, given.rows")
    assert run("heads/values.ts", body, {"shown": hidden, "rows": rows}) == wanted


@pytest.mark.parametrize(
    ("cols", "is_darkened", "high", "dark", "said"),
    [
        (64, True, 0.25, 0.25, "Colours end at 0.25, not 1."),
        (64, True, 7.5, 0.25, ""),  # norms: the largest is no weight
        (64, False, 1.0, 1.0, ""),
        (63, True, 0.25, 0.25, ""),  # who has darkened a short text sees the switch
    ],
)
def test_a_long_text_says_where_its_colours_of_weights_end(
    run: Run, cols: int, is_darkened: bool, high: float, dark: float, said: str
) -> None:
    shown = {"heads": [{"seen": 3 * cols, "short": 0}], "isLong": cols == 64, "isDarkened": is_darkened,
             "high": high, "dark": dark}  # fmt: skip
    given = {
        "view": {"show": "heatmap", "mean": False, "chosen": [[0, 1]]},
        "shown": shown, "frame": {"rows": 3, "cols": cols}, "drawn": {"shown": 0, "total": 0}, "fit": 1,
    }  # fmt: skip
    assert run("heads/reading.ts", "return m.drawnText(given);", given) == said


def test_the_grid_says_how_many_heads_stand_out(run: Run) -> None:
    body = "return m.gridSentence({ ...given, faded: given.faded && Uint8Array.from(given.faded) });"
    made = [
        run("heads/words.ts", body, given)
        for given in (
            {"measure": None, "faded": None, "label": ""},
            {"measure": {"title": "entropy"}, "faded": [0, 1, 1, 0, 1], "label": "<b>bold"},
            {"measure": None, "faded": [0, 1], "label": "broad"},
        )
    ]
    ranked = "Ranked by entropy, largest first. 2 of 5 heads: <b>bold. "
    assert made == ["", ranked, "1 of 2 heads: looks everywhere. "]


def test_a_head_that_looks_everywhere_says_by_which_rule(run: Run) -> None:
    rule = run("heads/words.ts", "return m.labelRule(given)", BROAD_HEAD)
    assert f"at least {MIN_BROAD_ENTROPY * 100:.0f} %" in rule
    assert run("heads/words.ts", "return m.labelText(given)", BROAD_HEAD) == shown_label(BROAD_HEAD)
    limited = run("heads/words.ts", "return m.labelText(m.limitedLabel(given))", BROAD_HEAD)
    assert limited == shown_label(BROAD_HEAD, limited=True) == "looks everywhere it may"
    assert run("heads/words.ts", "return m.labelRule(m.limitedLabel(given))", BROAD_HEAD) == rule
    assert run("heads/words.ts", "return m.limitedLabel(given)", "diagonal") == "diagonal"
    assert run("heads/words.ts", "return m.labelRule(given)", "diagonal") == ""


def test_what_the_mask_of_the_heads_own_layer_hides_is_nowhere_either(run: Run) -> None:
    mask = mask_of(ToyConfig(causal=True, window=2, padding=1), 6)
    hidden = mask.hidden((6, 6)).numpy()
    reasons = MaskReasons.of(mask.hidden((6, 6)))
    assert reasons is not None
    weights = np.where(hidden, 0, softmax_rows(3, 6, 6))
    shown = filtered_head(run, weights, ([1] * 6, [1] * 6), reasons=asdict(reasons))
    assert np.array_equal(np.isnan(shown["at"]), hidden)
    assert shown["seen"] == (~hidden).sum()


def test_a_mean_has_the_reasons_of_all_its_heads(run: Run) -> None:
    body = """
      const head = (window) => ({ at: new Float32Array(1), errors: new Float64Array(1), short: 0,
        reasons: window && { causal: true, window, padding: [] } });
      return given.map((windows) => m.mean(windows.map(head)).reasons?.window ?? null);
    """
    assert run("heads/values.ts", body, [[[2, 0], [2, 0]], [[2, 0], [3, 0]], [[2, 0], None]]) == [[2, 0], None, None]


def test_a_mean_takes_masked_cells_for_0_and_hides_what_no_head_has_or_one_leaves_out(run: Run) -> None:
    body = """
      const floats = (at) => Float32Array.from(at, (x) => x ?? NaN);
      const head = (at, errors, queries = [1, 1]) => ({ at: floats(at), errors: Float64Array.from(errors), short: 0,
        kept: { queries: Uint8Array.from(queries), keys: Uint8Array.of(1, 1, 1, 0) } });
      const heads = [head([0.2, 0.8, null, null, 1, 0, 0, null], [1e-5]),
        head([0.4, null, null, null, null, null, null, null], [3e-5], [1, 0])];
      const { at, errors, high, seen, kept } = m.mean(heads);
      return [[...at].map((x) => (Number.isNaN(x) ? null : x)), [...errors], high, seen, [...kept.queries]];
    """
    at, errors, high, seen, queries = run("heads/values.ts", body)
    assert (at[2:], errors, seen, queries) == ([None] * 6, [3e-5], 2, [1, 0])
    assert [at[0], at[1], high] == pytest.approx([0.3, 0.4, 0.4])


def test_a_row_of_which_less_than_a_thousandth_is_left_is_not_renormalised(run: Run) -> None:
    """Of 65 of 65,535 steps the numbers would be off by a hundredth; of 66 they are shown, and sum to 1."""
    weights = np.array([[65535 - 65, 60, 5], [65535 - 66, 60, 6], [65535, 0, 0]]) / 65535
    shown = filtered_head(run, weights, ([1, 1, 1], [0, 1, 2]), special="renormalise")
    assert shown["short"] == 2
    assert np.isnan(shown["at"][[0, 2]]).all()
    assert shown["at"][1, 1:] == pytest.approx([60 / 66, 6 / 66], abs=1e-6)
    assert np.isnan(shown["at"][1, 0])


def test_only_certain_digits_are_shown(run: Run) -> None:
    """A digit is certain where the error is at most half of its unit: 1 to 4 of them are written."""
    errors = [0.0, 7.7e-6, 4.9e-5, 5.1e-5, 2e-4, 4.9e-4, 5.1e-4, 6e-4, 4.9e-3, 5.1e-3, 9e-3, 0.04, 0.06, 3.0]
    certain = [max([1, *(d for d in (1, 2, 3, 4) if error <= 0.5 * 10**-d)]) for error in errors]
    assert run("heads/values.ts", "return given.map(m.certainDigits)", errors) == certain


def test_the_strongest_come_first_and_ties_in_order(run: Run) -> None:
    body = "return m.strongestOf(Float32Array.from([0.25, NaN, 0.5, 0.25, 0.5, 0]), 3)"
    assert run("core/arithmetic.ts", body) == [[2, 0.5], [4, 0.5], [0, 0.25]]
    assert run("core/arithmetic.ts", "return m.strongestOf(Float32Array.from([NaN]), 3)") == []


def test_weights_are_written_as_exactly_as_they_are_known(run: Run) -> None:
    shown = run(
        "core/format.ts",
        "return [m.weightText(0.12345), m.weightText(1e-5), m.weightText(0), m.weightText(0.126, 2)]",
    )
    assert shown == ["0.1235", "< 0.0001", "0.0000", "≈ 0.13"]
