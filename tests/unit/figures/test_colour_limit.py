"""Where the colours of weights end when they are darkened."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from attnviz.figures.colour_limit import as_array, colour_limit, darkened_limit, end_text


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
