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
    """`pos / 10000 ** (dim / C)`, a sine where dim is even and a cosine where it is odd, as the lab's loop has it."""
    expected = torch.zeros(n, width)
    for pos in range(n):
        for dim in range(width):
            angle = pos / 10000 ** (dim / width)
            expected[pos, dim] = sin(angle) if dim % 2 == 0 else cos(angle)
    torch.testing.assert_close(lab_positions(n, width), expected)


def test_the_labs_printed_numbers() -> None:
    """What the lab's own code prints for T = 4, C = 8, and the squared lengths of its rows at C = 64."""
    printed = [0.8415, 0.9504, 0.0998, 0.9995, 0.0100, 1.0, 0.001, 1.0]
    torch.testing.assert_close(lab_positions(4, 8)[1], torch.tensor(printed), rtol=0, atol=5e-5)
    squares = lab_positions(64, 64).square().sum(dim=1)[:3]
    torch.testing.assert_close(squares, torch.tensor([32.0, 32.387, 32.359]), rtol=0, atol=5e-4)


def test_the_labs_sines_are_the_papers() -> None:
    ours, papers = lab_positions(50, 12), sinusoidal_positions(50, 12)
    torch.testing.assert_close(ours[:, ::2], papers[:, ::2])
    assert not torch.allclose(ours[:, 1::2], papers[:, 1::2], atol=0.1)


def test_only_the_papers_rows_have_one_norm_and_products_of_the_distance_alone() -> None:
    for positions, holds in ((sinusoidal_positions(30, 32), True), (lab_positions(30, 32), False)):
        norms = positions.norm(dim=1)
        assert torch.allclose(norms, torch.tensor(4.0), atol=1e-5) is holds
        products = positions @ positions.T
        spread = max(float(products.diagonal(k).max() - products.diagonal(k).min()) for k in range(1, 29))
        assert (spread < 1e-4) is holds


def test_negative_sizes_are_refused() -> None:
    for make in (sinusoidal_positions, lab_positions):
        with pytest.raises(ValueError, match=r"^-1 positions of width 4: neither can be negative$"):
            make(-1, 4)
        with pytest.raises(ValueError, match=r"^4 positions of width -1: neither can be negative$"):
            make(4, -1)
