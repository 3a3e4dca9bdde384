"""Where the colours of weights end when they are darkened."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from attnviz.figures.colour_limit import dark_end, end_text


@pytest.mark.parametrize("keys", [1, 39, 40, 300])
def test_in_a_long_text_a_few_rows_do_not_make_the_others_faint(keys: int) -> None:
    weights = torch.randn(50, keys, generator=torch.Generator().manual_seed(0)).softmax(-1).numpy()
    weights[0], weights[0, 0] = 0, 1
    weights[1:, -1] = -np.inf if keys > 1 else 1  # hidden
    largest = np.sort(weights.max(axis=1))
    assert dark_end(weights) == pytest.approx(1 if keys < 40 else largest[int(0.9 * 49)])
    if keys >= 40:
        assert (weights.max(axis=1) > dark_end(weights)).mean() <= 0.1
    assert dark_end(weights, weights) == pytest.approx(1 if keys < 40 else np.sort(np.tile(largest, 2))[int(0.9 * 99)])


def test_an_end_that_would_be_written_as_1_is_1() -> None:
    assert [dark_end(np.float32([[0.2, end]])) for end in (0.996, 0.998, 1)] == [1, 1, 1]
    assert dark_end(np.float32([[0.2, 0.994]])) == pytest.approx(0.994)
    assert end_text(0.994) == "0.99"


def test_without_weights_the_colours_end_at_1() -> None:
    assert dark_end(np.zeros((0, 0), np.float32)) == 1
    assert dark_end(np.full((2, 2), np.nan, np.float32)) == 1
    assert [end_text(end) for end in (0.0801, 0.361, 1.0)] == ["0.08", "0.36", "1"]
