"""Norms, causality and order against torch's layers and plain loops."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from attnviz.measures.changes import change_row, moments, norm_over_all, order_matters, row_differences

SOME = torch.randn(6, 8, generator=torch.Generator().manual_seed(3)) * 2 + 1


def test_moments_are_those_that_make_torchs_norm() -> None:
    found = moments(SOME)
    normed = (SOME - found.mean[:, None]) / (found.variance[:, None] + 1e-5).sqrt()
    torch.testing.assert_close(normed, nn.LayerNorm(8)(SOME).detach())
    after = moments(nn.LayerNorm(8)(SOME).detach())
    assert after.mean.abs().max() < 1e-6
    assert (after.variance - 1).abs().max() < 1e-4


def test_the_norm_over_all_is_torchs_over_two_axes() -> None:
    weight, bias = torch.linspace(0.5, 2, 8), torch.linspace(-1, 1, 8)
    theirs = nn.LayerNorm((6, 8))
    with torch.no_grad():
        theirs.weight.copy_(weight.expand(6, 8))
        theirs.bias.copy_(bias.expand(6, 8))
    torch.testing.assert_close(norm_over_all(SOME, weight, bias), theirs(SOME).detach())


def test_only_the_norm_over_all_tells_the_past_of_the_future() -> None:
    changed = SOME.clone()
    changed[4] += 3
    each = row_differences(nn.LayerNorm(8)(SOME), nn.LayerNorm(8)(changed))
    assert each[:4].max() == 0
    assert row_differences(norm_over_all(SOME), norm_over_all(changed))[:4].min() > 0


def test_differences_are_the_largest_of_each_row() -> None:
    other = SOME.clone()
    other[2, 5] += 0.5
    other[2, 1] -= 0.25
    wanted = [max(abs(float(a - b)) for a, b in zip(SOME[i], other[i], strict=True)) for i in range(6)]
    assert row_differences(SOME, other).tolist() == wanted
    with pytest.raises(ValueError, match=r"^\(6, 8\) and \(5, 8\) can't be compared row by row$"):
        row_differences(SOME, other[:5])


def test_order_matters_with_positions_alone() -> None:
    torch.manual_seed(0)
    layer = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True).eval()
    positions = torch.randn(6, 8)
    order = [1, 0, 2, 5, 4, 3]

    def model(x: torch.Tensor) -> torch.Tensor:
        return layer(x[None])[0].detach()

    assert order_matters(model, SOME, torch.zeros(6, 8), order).max() < 1e-5
    assert order_matters(model, SOME, positions, order).max() > 0.1
    with pytest.raises(ValueError, match=r"^\[0, 0, 1, 2, 3, 4\] is not an order of 6 tokens$"):
        order_matters(model, SOME, positions, [0, 0, 1, 2, 3, 4])


def test_a_changed_row_is_another_one_to_a_norm_too() -> None:
    x = torch.zeros(3, 4)
    assert change_row(x, -1).tolist() == [[0] * 4, [0] * 4, [1, 0, 1, 0]]
    assert change_row(x, 0).tolist() == [[1, 0, 1, 0], [0] * 4, [0] * 4]
    assert x.tolist() == [[0] * 4] * 3
    row = nn.LayerNorm(8)(change_row(SOME, 2) - SOME)[2]
    assert row.abs().max() > 0.9
