"""Which weights the browser draws as lines, against numpy."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import pytest

from tests.browser.apps.lines_page import heads_of, kept, softmax_rows
from tests.browser.modules import Run

CHOSEN = """
  const decoded = given.heads.map((head) => ({ ...head, at: new Float32Array(
    Uint8Array.from(atob(head.bytes), (letter) => letter.charCodeAt(0)).buffer) }));
  return given.rules.map(([threshold, strongest, most]) => {
    const lines = new m.Choice(decoded, { low: 0, high: 1, threshold, strongest }, most).lines();
    return [lines.length, Array.from(lines.order, (i) => [lines.head[i], lines.query[i], lines.key[i]])];
  });
"""

Rule = tuple[float, int] | tuple[float, int, int]
"""A threshold, how many are the strongest of a query (0: all), and how many may be drawn at most"""


def chosen(run: Run, weights: np.ndarray, rules: Sequence[Rule]) -> Iterator[tuple[Rule, np.ndarray]]:
    """Yield each rule with the weights that the browser chooses by it, as a mask of their shape."""
    given = {"heads": heads_of(weights), "rules": [(*rule, 20_000)[:3] for rule in rules]}
    for rule, (count, listed) in zip(rules, run("lines/choice.ts", CHOSEN, given), strict=True):
        assert count == len(listed)
        mask = np.zeros(weights.shape, bool)
        for cell in listed:
            assert not mask[tuple(cell)]
            mask[tuple(cell)] = True
        yield rule, mask


@pytest.mark.parametrize("causal", [False, True])
def test_threshold_and_strongest_choose_what_numpy_does(run: Run, causal: bool) -> None:
    weights = softmax_rows(3, 3, 17, 23, causal=causal)
    rules = [(0, 0), (0.05, 0), (0, 1), (0, 4), (0.1, 2), (0, 23), (0.9999, 3)]
    for rule, found in chosen(run, weights, rules):
        assert np.array_equal(found, kept(weights, *rule[:2])), rule


def test_of_equal_weights_as_many_as_wanted_are_drawn(run: Run) -> None:
    weights = np.random.default_rng(1).choice(np.array([0, 0.25, 0.5, np.nan], np.float32), size=(2, 9, 11))
    for rule, found in chosen(run, weights, [(0, 1), (0, 2), (0, 5)]):
        assert np.array_equal(found, kept(weights, *rule[:2])), rule


@pytest.mark.parametrize("steps", [0, 50], ids=["all different", "many equal"])
def test_over_the_limit_the_largest_are_drawn(run: Run, steps: int) -> None:
    weights = softmax_rows(5, 3, 40, 60)
    if steps:
        weights = (np.ceil(weights * steps) / steps).astype(np.float32)
    for rule, found in chosen(run, weights, [(0, 0, 1), (0, 0, 40), (0, 6, 40), (0, 0, 500), (0, 0, 20_000)]):
        allowed = kept(weights, *rule[:2])
        expected = np.sort(weights[allowed])[::-1][: rule[-1]]
        assert not (found & ~allowed).any(), rule
        assert np.array_equal(np.sort(weights[found])[::-1], expected), rule


def test_a_misleading_sample_does_not_change_what_is_drawn(run: Run) -> None:
    weights = np.full((1, 34, 51), 0.001, np.float32)
    weights.reshape(-1)[::17] = 0.5  # just what a look at every 17th cell sees
    ((_, found),) = chosen(run, weights, [(0, 0, 150)])
    assert found.sum() == 150
    assert weights[found].sum() == pytest.approx(102 * 0.5 + 48 * 0.001)


def test_faint_weights_are_still_seen_and_no_line_is_paler_than_its_weight(run: Run) -> None:
    """A line's level is the lowest that is at least as dark as its weight; levels are 24, weights any number."""
    values = np.linspace(0.001, 1, 400)
    body = """
      const { Bundle, darkness, opacity } = m;
      const scale = { low: 0, high: 1 };
      const lines = new Bundle(given.length, 1, scale);
      for (const value of given) lines.add(0, 0, 0, value);
      return given.map((value, i) => [opacity(value, scale), darkness(lines.level[i]), darkness(lines.level[i] - 1)]);
    """
    opacity, drawn, paler = np.array(run("lines/choice.ts", body, values.tolist())).T
    assert np.all(opacity[values < 0.9] > values[values < 0.9])
    assert opacity[np.searchsorted(values, 0.05)] > 0.09
    assert np.all(drawn >= opacity - 1e-9)
    assert np.all((paler < opacity) | (drawn < 1 / 100))
