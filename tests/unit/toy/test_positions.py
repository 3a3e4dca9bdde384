"""Positions that are computed: the paper's and a lab's, each against its formula in plain Python."""

from __future__ import annotations

from math import cos, sin

import pytest
import torch

from attnviz.toy import lab_positions, sinusoidal_positions

SIZES = [(0, 4), (1, 1), (5, 16), (40, 7), (3, 0)]


@pytest.mark.parametrize(("n", "width"), SIZES)
def test_the_papers_formula(n: int, width: int) -> None:
    waves = [(sin, cos)[j % 2] for j in range(width)]
    expected = [[waves[j](position / 10000 ** (2 * (j // 2) / width)) for j in range(width)] for position in range(n)]
    torch.testing.assert_close(sinusoidal_positions(n, width), torch.tensor(expected).view(n, width))


@pytest.mark.parametrize(("n", "width"), SIZES)
def test_the_labs_formula(n: int, width: int) -> None:
    waves = [(sin, cos)[j % 2] for j in range(width)]
    expected = [[waves[j](position / 10000 ** (2 * j / width)) for j in range(width)] for position in range(n)]
    torch.testing.assert_close(lab_positions(n, width), torch.tensor(expected).view(n, width))


def test_only_the_papers_rows_have_one_norm_and_products_of_the_distance_alone() -> None:
    for positions, holds in ((sinusoidal_positions(30, 32), True), (lab_positions(30, 32), False)):
        norms = positions.norm(dim=1)
        assert torch.allclose(norms, torch.tensor(4.0), atol=1e-5) is holds
        products = positions @ positions.T
        spread = max(float(products.diagonal(k).max() - products.diagonal(k).min()) for k in range(1, 29))
        assert (spread < 1e-4) is holds


def test_negative_sizes_are_refused() -> None:
    for make in (sinusoidal_positions, lab_positions):
        with pytest.raises(ValueError, match=r"-1 positions of width 4"):
            make(-1, 4)
