"""A traced layer: which cells its mask hides, and its maps, against torch."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from attnviz.attention import Mask, causal_mask
from attnviz.trace.layer import LayerTrace, OutputProjection, Projection, held_bytes

PADDED = torch.tensor([[True, True, False]] * 3)
FLOAT = torch.zeros(3, 3).masked_fill(~causal_mask(3), -torch.inf)


@pytest.mark.parametrize("cells", [causal_mask(3), FLOAT, FLOAT[None]])
def test_hidden_is_what_can_not_be_seen(cells: torch.Tensor) -> None:
    x = torch.zeros(2, 3, 4)
    layer = LayerTrace(x, x, x, 1.0, Mask.recognise(cells))
    assert layer.hidden(1).tolist() == [[False, True, True], [False, False, True], [False, False, False]]
    assert torch.equal(layer.hidden(0), layer.head(0).masked.isneginf())


def test_heads_may_have_masks_of_their_own() -> None:
    mask = Mask.recognise(torch.stack([causal_mask(3), PADDED]))
    x = torch.zeros(2, 3, 4)
    layer = LayerTrace(x, x, x, 1.0, mask)
    assert torch.equal(layer.hidden(0), ~causal_mask(3))
    assert torch.equal(layer.hidden(1), ~PADDED)


@pytest.mark.parametrize("bias", [True, False])
def test_maps_of_heads_together_are_torchs_linear(bias: bool) -> None:
    linear, x = nn.Linear(8, 12, bias=bias).requires_grad_(False), torch.randn(5, 8)
    per_head = Projection.of_heads(linear.weight.T, linear.bias, heads=4, head_size=3).apply(x)  # (H, T, D)
    torch.testing.assert_close(per_head.transpose(0, 1).flatten(1), linear(x))
    torch.testing.assert_close(OutputProjection(linear.weight.T, linear.bias).apply(x), linear(x))


def test_a_tensor_that_two_names_share_is_counted_once() -> None:
    x = torch.zeros(2, 3, 4)
    layer = LayerTrace(x, x, torch.zeros(2, 3, 4), 1.0, Mask.causal(3))
    assert held_bytes(layer.tensors()) == 2 * x.numel() * 4 + 9
