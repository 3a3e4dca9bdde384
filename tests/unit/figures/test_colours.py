"""Where the colours of weights end when they are darkened; and whether the roles' colours can be read as text."""

from __future__ import annotations

import re

import numpy as np
import pytest
import torch

from attnviz.components.styles import SOURCES
from attnviz.export.drawing.marks import THEMES
from attnviz.figures.colour_limit import as_array, colour_limit, darkened_limit, end_text
from attnviz.figures.style import Palette


@pytest.mark.parametrize("keys", [1, 39, 40, 300])
def test_in_a_long_text_a_few_rows_do_not_make_the_others_faint(keys: int) -> None:
    weights = torch.randn(50, keys, generator=torch.Generator().manual_seed(0)).softmax(-1).numpy()
    weights[0], weights[0, 0] = 0, 1
    weights[1:, -1] = -np.inf if keys > 1 else 1  # hidden
    largest = np.sort(weights.max(axis=1))
    assert darkened_limit(weights) == pytest.approx(1 if keys < 40 else largest[int(0.9 * 49)])
    if keys >= 40:
        assert (weights.max(axis=1) > darkened_limit(weights)).mean() <= 0.1
    assert darkened_limit(weights, weights) == pytest.approx(
        1 if keys < 40 else np.sort(np.tile(largest, 2))[int(0.9 * 99)]
    )


def test_colours_are_not_darkened_where_that_would_hardly_be_seen() -> None:
    assert [darkened_limit(np.float32([[0.2, end]])) for end in (0.8, 0.81, 0.996, 1)] == [1, 1, 1, 1]
    assert darkened_limit(np.float32([[0.2, 0.799]])) == pytest.approx(0.799)
    assert end_text(0.994) == "0.99"


def test_without_weights_the_colours_end_at_1() -> None:
    assert darkened_limit(np.zeros((0, 0), np.float32)) == 1
    assert darkened_limit(np.full((2, 2), np.nan, np.float32)) == 1
    assert [end_text(end) for end in (0.0801, 0.361, 1.0)] == ["0.08", "0.36", "1"]


def test_several_matrices_share_their_largest_finite_magnitude() -> None:
    a, b = torch.tensor([1.0, -torch.inf]), torch.tensor([[-3.5, 2.0]])
    assert (colour_limit(a), colour_limit(a, b), colour_limit(b, a)) == (1, 3.5, 3.5)
    assert [colour_limit(*one) for one in ((), (torch.zeros(2),), (torch.empty(0),), (a[1:],))] == [1] * 4
    assert colour_limit(torch.tensor([0.25]), torch.empty(0)) == 0.25


@pytest.mark.parametrize("count", [4, 50, 51, 100, 101, 6144])
@pytest.mark.parametrize("outlier", [0.0, 2.9, 3.1, 40.0])
def test_colours_end_within_the_middle_98_percent_where_more_would_bleach_the_rest(count: int, outlier: float) -> None:
    values = torch.randn(count, generator=torch.Generator().manual_seed(count)).clamp(-2, 2)
    whole = np.percentile(values.abs().numpy(), 98, method="higher")
    values[count // 2] = -outlier * float(whole)
    values = torch.cat((values, torch.tensor([torch.inf, torch.nan])))
    magnitudes = np.abs(values.numpy()[:count])
    end = colour_limit(values)
    assert (magnitudes > end).mean() <= 0.02
    expected = np.percentile(magnitudes, 98, method="higher")
    assert end == (expected if 3 * expected < magnitudes.max() else magnitudes.max())
    assert colour_limit(values, 3 * values) == pytest.approx(3 * end)
    if count > 50:
        assert (end < magnitudes.max()) == (outlier > 3), "one number of many"


def test_a_matrix_of_zeros_but_for_a_few_ends_at_its_largest() -> None:
    assert colour_limit(torch.eye(100).flatten()[:9900] * 7) == 7


def test_hidden_cells_have_no_number_and_others_keep_theirs() -> None:
    found = as_array(torch.tensor([[1.5, -torch.inf], [torch.inf, 0]], dtype=torch.double))
    np.testing.assert_array_equal(found, np.float32([[1.5, np.nan], [np.inf, 0]]))
    assert found.dtype == np.float32


def test_rows_of_zeros_count_as_rows() -> None:
    assert darkened_limit(np.float32([[0, 0], [0.25, 0.5]])) == 0.5
    assert darkened_limit(np.zeros((2, 2), np.float32)) == 1
    many = np.zeros((11, 40), np.float32)
    many[:, 0] = np.arange(11) / 20  # 0, 0.05, …, 0.5
    assert darkened_limit(many) == pytest.approx(0.45)
    assert darkened_limit(many[:, :39]) == pytest.approx(0.5)


ROLES = ("query", "key", "value", "attention")
SIDE_BAR = {"light": "#F4F4F8", "dark": "#20202B"}
"""The second ground of .streamlit/config.toml"""
LESSON_BAR = ("#EDEAF7", "#232033")
"""A lesson's bar, light and dark: 14 % of #8064C8 on the page"""


def luminance(colour: str) -> float:
    """Return the relative luminance, as WCAG defines it."""
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    red, green, blue = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one: str, other: str) -> float:
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("name", THEMES)
def test_text_has_a_contrast_of_four_and_a_half(name: str) -> None:
    theme = THEMES[name]
    palette: Palette = theme
    for ground in (palette.canvas, theme.paper, theme.boxed, SIDE_BAR[name]):
        for ink in (palette.text, *(palette.text_ink.of(role) for role in ROLES)):
            assert contrast(ink, ground) >= 4.5, (ink, ground)
    assert contrast(theme.quiet, theme.paper) >= 4.5
    assert contrast(theme.link, theme.paper) >= 4.5
    assert contrast(theme.text, theme.highlight) >= 4.5


def test_lines_under_marked_words_have_the_roles_colours_and_are_seen_on_a_lessons_bar() -> None:
    style = (SOURCES / "core" / "values.css").read_text()
    found = re.findall(r"--(?:attention|query|key|value): light-dark\((#\w{6}), (#\w{6})\)", style)
    inks = [THEMES[name].text_ink for name in ("light", "dark")]
    order = ("attention", "query", "key", "value")
    assert [tuple(map(str.upper, pair)) for pair in found] == [tuple(ink.of(role) for ink in inks) for role in order]
    for pair in found:
        for ink, ground in zip(pair, LESSON_BAR, strict=True):
            assert contrast(ink.upper(), ground) >= 4.5, (ink, ground)


def test_the_measure_is_that_of_the_standard() -> None:
    assert contrast("#000000", "#FFFFFF") == pytest.approx(21)
    assert contrast("#767676", "#FFFFFF") == pytest.approx(4.54, abs=0.005)
