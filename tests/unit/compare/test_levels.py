"""How a comparison goes to the browser: exact while small, within the stated error where it is large."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from attnviz.compare import matrices
from attnviz.compare.matrices import EXACT_CELLS, encode


def decode(coded: np.ndarray, covers: list[float]) -> np.ndarray:
    """Do what frontend/compare/compare.js does."""
    low, high = covers
    matrices = coded.astype(np.float64)
    return np.where(coded == 65535, np.nan, low + matrices * ((high - low) / 65534))


def test_small_matrices_go_as_they_are() -> None:
    matrix = np.random.default_rng(0).random((362, 362), np.float32)
    assert matrix.size <= EXACT_CELLS
    coded, covers = encode(matrix)
    assert coded is matrix
    assert covers is None


@given(st.lists(st.floats(-50, 50, width=32) | st.just(float("nan")), min_size=1, max_size=40))
def test_large_matrices_are_within_the_documented_error(numbers: list[float]) -> None:
    matrix = np.array([numbers], np.float32)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(matrices, "EXACT_CELLS", 0)
        coded, covers = encode(matrix)
    assert covers is not None
    assert coded.dtype == np.uint16
    found = decode(coded, covers)
    np.testing.assert_array_equal(np.isnan(found), np.isnan(matrix))
    error = (covers[1] - covers[0]) / 131068
    assert np.nanmax(np.abs(found - matrix), initial=0) <= error * (1 + 1e-9)


def test_weights_of_512_tokens_are_within_8e_6() -> None:
    matrix = np.random.default_rng(0).dirichlet(np.full(512, 0.05), 512).astype(np.float32)
    coded, covers = encode(matrix)
    assert covers is not None
    assert coded.nbytes == 2 * 512 * 512
    assert np.abs(decode(coded, covers) - matrix).max() <= 7.7e-6
