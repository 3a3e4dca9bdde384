"""A traced layer: which cells its mask hides, and its maps, against torch."""

from __future__ import annotations

import pytest
import torch
from torch import nn
from torch.nn import functional

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


def test_sizes_and_heads_of_a_layer() -> None:
    """H = 2, Tq = 3, Tk = 5, D = 4."""
    made = torch.Generator().manual_seed(0)
    query, key, value = (torch.randn(2, count, 4, generator=made) for count in (3, 5, 5))
    layer = LayerTrace(query, key, value, 0.25)
    assert (layer.heads, layer.head_size) == (2, 4)
    assert layer.hidden(1).shape == (3, 5)
    wanted = functional.scaled_dot_product_attention(query, key, value, scale=0.25)
    torch.testing.assert_close(layer.all_heads().head_outputs, wanted)
    torch.testing.assert_close(layer.head(1).head_outputs, wanted[1])
    torch.testing.assert_close(layer.attentions(), (query @ key.mT / 4).softmax(-1))
    torch.testing.assert_close(layer.concat(), torch.cat([*wanted], dim=-1))
    assert layer.output() is None
    assert [id(one) for one in layer.tensors()] == list(map(id, (query, key, value)))
    for head in (-1, 2):
        with pytest.raises(IndexError, match=f"head {head} does not exist: this layer has heads 0 to 1"):
            layer.head(head)


def test_heads_that_share_a_key_have_its_map() -> None:
    """Two keys of width 3 for four query heads: heads 0 and 1 have the first one's map, 2 and 3 the second one's."""
    linear, x = nn.Linear(8, 6).requires_grad_(False), torch.randn(5, 8, generator=torch.Generator().manual_seed(1))
    found = Projection.of_heads(linear.weight.T, linear.bias, heads=4, head_size=3).apply(x)
    first, second = linear(x).split(3, dim=-1)
    torch.testing.assert_close(found, torch.stack([first, first, second, second]))


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
