"""Thumbnails against the largest weight of each block, found one cell at a time."""

import numpy as np
import pytest

from attnviz.measures.thumbnails import SIZE, hidden_thumbnail, thumbnails


def attention(heads: int, queries: int, keys: int) -> np.ndarray:
    x = np.random.default_rng(queries * keys).normal(size=(heads, queries, keys)) * 3
    x = np.exp(x)
    return (x / x.sum(-1, keepdims=True)).astype(np.float32)


@pytest.mark.parametrize(("queries", "keys"), [(1, 1), (7, 7), (48, 48), (49, 49), (100, 53), (3, 512), (512, 512)])
def test_each_cell_is_the_largest_of_its_block(queries: int, keys: int) -> None:
    weights = attention(2, queries, keys)
    small = thumbnails(weights)
    n, m = min(queries, SIZE), min(keys, SIZE)
    assert small.shape == (2, n, m)
    assert small.dtype == np.uint8
    rows = [i * queries // n for i in range(n)] + [queries]
    cols = [j * keys // m for j in range(m)] + [keys]
    for i in range(n):
        for j in range(m):
            block = weights[:, rows[i] : rows[i + 1], cols[j] : cols[j + 1]]
            assert small[:, i, j].tolist() == np.rint(block.max((1, 2)) * np.float32(255)).astype(int).tolist()


def test_a_single_peak_among_many_cells_stays_at_full_strength() -> None:
    weights = np.zeros((1, 512, 512), np.float32)
    weights[0, 317, 42] = 1
    small = thumbnails(weights, 48)
    assert small.max() == 255
    assert np.count_nonzero(small) == 1


def test_up_to_the_size_nothing_is_pooled() -> None:
    weights = attention(1, 5, 4)
    assert thumbnails(weights, 5).tolist() == np.rint(weights * np.float32(255)).astype(int).tolist()


def test_what_is_no_weight_is_cut_to_the_range() -> None:
    weights = np.array([[[np.nan, -0.5, 1.0000001, 0.5]]], np.float32)
    assert thumbnails(weights).tolist() == [[[0, 0, 255, 128]]]


def test_only_blocks_hidden_throughout_are_marked_hidden() -> None:
    hidden = np.triu(np.ones((6, 6), bool), 1)
    assert hidden_thumbnail(hidden, 3).tolist() == [[0, 1, 1], [0, 0, 1], [0, 0, 0]]
    assert hidden_thumbnail(hidden, 6).tolist() == hidden.astype(int).tolist()


def test_a_thumbnail_of_no_cells_is_refused() -> None:
    with pytest.raises(ValueError, match=r"^a thumbnail needs at least 1 cell per side, not 0$"):
        thumbnails(attention(1, 2, 2), 0)
    assert thumbnails(np.float32([[[0.2, 0.8], [1.0, 0.0]]]), 1).tolist() == [[[255]]]
