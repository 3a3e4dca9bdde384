"""Which weights the browser draws as lines, against numpy."""

from __future__ import annotations

import numpy as np
import pytest
from playwright.sync_api import Page

from tests.browser.apps.lines_page import CHOICE, heads_of, kept, softmax_rows
from tests.browser.evaluate import evaluate


def chosen(page: Page, served: str, weights: np.ndarray, rules: dict[str, float], cap: int = 20_000) -> np.ndarray:
    """Return which weights the browser chooses, as a mask of their shape."""
    page.goto(f"{served}/_stcore/health")
    body = f"""async ([heads, rules, cap]) => {{
      const {{ Choice }} = await import('{CHOICE}');
      const decoded = heads.map((head) => ({{ ...head, at: new Float32Array(
        Uint8Array.from(atob(head.bytes), (letter) => letter.charCodeAt(0)).buffer) }}));
      const lines = new Choice(decoded, rules, cap).lines();
      const listed = Array.from(lines.order, (i) => [lines.head[i], lines.query[i], lines.key[i]]);
      return [lines.length, listed];
    }}"""
    count, listed = evaluate(page, body, [heads_of(weights), {"low": 0, "high": 1, **rules}, cap])
    assert count == len(listed)
    mask = np.zeros(weights.shape, bool)
    for cell in listed:
        assert not mask[tuple(cell)]
        mask[tuple(cell)] = True
    return mask


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize(
    ("threshold", "strongest"), [(0, 0), (0.05, 0), (0, 1), (0, 4), (0.1, 2), (0, 23), (0.9999, 3)]
)
def test_threshold_and_strongest_choose_what_numpy_does(
    plain_page: Page, served: str, threshold: float, strongest: int, causal: bool
) -> None:
    weights = softmax_rows(3, 3, 17, 23, causal=causal)
    found = chosen(plain_page, served, weights, {"threshold": threshold, "strongest": strongest})
    assert np.array_equal(found, kept(weights, threshold, strongest))


@pytest.mark.parametrize("strongest", [1, 2, 5])
def test_of_equal_weights_as_many_as_wanted_are_drawn(plain_page: Page, served: str, strongest: int) -> None:
    weights = np.random.default_rng(1).choice(np.array([0, 0.25, 0.5, np.nan], np.float32), size=(2, 9, 11))
    found = chosen(plain_page, served, weights, {"threshold": 0, "strongest": strongest})
    assert np.array_equal(found, kept(weights, 0, strongest))


@pytest.mark.parametrize(("cap", "strongest"), [(1, 0), (40, 0), (40, 6), (500, 0), (20_000, 0)])
@pytest.mark.parametrize("steps", [0, 50], ids=["all different", "many equal"])
def test_over_the_limit_the_largest_are_drawn(
    plain_page: Page, served: str, cap: int, strongest: int, steps: int
) -> None:
    weights = softmax_rows(5, 3, 40, 60)
    if steps:
        weights = (np.ceil(weights * steps) / steps).astype(np.float32)
    allowed = kept(weights, 0, strongest)
    found = chosen(plain_page, served, weights, {"threshold": 0, "strongest": strongest}, cap)
    expected = np.sort(weights[allowed])[::-1][:cap]
    assert not (found & ~allowed).any()
    assert np.array_equal(np.sort(weights[found])[::-1], expected)


def test_a_misleading_sample_does_not_change_what_is_drawn(plain_page: Page, served: str) -> None:
    weights = np.full((1, 34, 51), 0.001, np.float32)
    weights.reshape(-1)[::17] = 0.5  # just what a look at every 17th cell sees
    found = chosen(plain_page, served, weights, {"threshold": 0, "strongest": 0}, 150)
    assert found.sum() == 150
    assert weights[found].sum() == pytest.approx(102 * 0.5 + 48 * 0.001)


def test_faint_weights_are_still_seen_and_no_line_is_paler_than_its_weight(plain_page: Page, served: str) -> None:
    """A line's level is the lowest that is at least as dark as its weight; levels are 24, weights any number."""
    plain_page.goto(f"{served}/_stcore/health")
    values = np.linspace(0.001, 1, 400)
    body = f"""async (values) => {{
      const {{ Bundle, darkness, opacity }} = await import('{CHOICE}');
      const scale = {{ low: 0, high: 1 }};
      const lines = new Bundle(values.length, 1, scale);
      for (const value of values) lines.add(0, 0, 0, value);
      return values.map((value, i) => [opacity(value, scale), darkness(lines.level[i]), darkness(lines.level[i] - 1)]);
    }}"""
    opacity, drawn, paler = np.array(plain_page.evaluate(body, values.tolist())).T
    assert np.all(opacity[values < 0.9] > values[values < 0.9])
    assert opacity[np.searchsorted(values, 0.05)] > 0.09
    assert np.all(drawn >= opacity - 1e-9)
    assert np.all((paler < opacity) | (drawn < 1 / 100))
