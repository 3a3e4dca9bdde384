"""The divergence of heads from one of them, against scipy; rows without weights, and equal heads."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.distance import jensenshannon

from attnviz.compare.matrices import divergences


def random_rows(seed: int, heads: int, queries: int, keys: int) -> np.ndarray:
    drawn = np.random.default_rng(seed).dirichlet(np.full(keys, 0.3), (heads, queries))
    return drawn.astype(np.float32)


@pytest.mark.parametrize("of", [0, 2, 4])
def test_each_is_the_mean_of_scipy_s_squared_distances(of: int) -> None:
    weights = random_rows(of, 5, 7, 9)
    found = divergences(dict(enumerate(weights)), of)
    with np.errstate(invalid="ignore"):  # of a matrix beside itself, where rounding leaves less than 0
        roots = [jensenshannon(one, weights[of], base=2, axis=1) for one in weights.astype(float)]
    theirs = [np.nan_to_num(one**2).mean() for one in roots]
    np.testing.assert_allclose(found.bits, theirs, atol=1e-7)
    assert found.bits[of] == 0
    assert found.most == int(np.argmax(theirs))


def test_rows_whose_keys_are_all_hidden_do_not_count() -> None:
    weights = random_rows(1, 2, 3, 4)
    weights[:, 0] = 0
    theirs = jensenshannon(*weights[:, 1:].astype(float), base=2, axis=1) ** 2
    assert divergences(dict(enumerate(weights)), 0).bits[1] == pytest.approx(theirs.mean())
    assert divergences(dict(enumerate(np.zeros((2, 3, 4), np.float32))), 0).most is None
    for side in (0, 1):  # hidden on one side only
        weights = random_rows(1, 2, 3, 4)
        weights[side, 0] = 0
        assert divergences(dict(enumerate(weights)), 0).bits[1] == pytest.approx(theirs.mean())


def test_a_single_head_has_no_other_and_of_equal_heads_the_first_other_one_is_taken() -> None:
    one = random_rows(3, 1, 3, 3)
    assert divergences(dict(enumerate(one)), 0).most is None
    assert divergences(dict(enumerate(np.repeat(one, 3, axis=0))), 0).most == 1


def test_layers_go_by_their_numbers() -> None:
    weights = random_rows(4, 3, 3, 3)
    found = divergences(dict(zip((1, 3, 7), weights, strict=True)), 3)
    assert found.bits_at(3) == 0
    assert found.most in (1, 7)
    assert found.bits_at(found.most) == max(found.bits)
