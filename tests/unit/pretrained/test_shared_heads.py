"""The projections that are found in a module's layers: shared by several heads, fused, or not what was recorded."""

from __future__ import annotations

import torch
from torch import nn
from transformers.models.llama.modeling_llama import repeat_kv
from transformers.pytorch_utils import Conv1D

from attnviz.pretrained.families import find_input_projections, reproduces
from attnviz.trace.layer import Projection


class Grouped(nn.Module):
    """Four query heads of width 3, two heads of keys and values, with biases."""

    def __init__(self) -> None:
        super().__init__()
        self.q_proj, self.k_proj, self.v_proj = nn.Linear(8, 12), nn.Linear(8, 6), nn.Linear(8, 6)


def test_shared_heads_are_repeated_as_transformers_repeats_them() -> None:
    torch.manual_seed(0)
    module, x = Grouped(), torch.randn(5, 8)
    found = find_input_projections(module, heads=4, head_size=3)
    assert found is not None
    with torch.no_grad():
        for name, layer in (("key", module.k_proj), ("value", module.v_proj)):
            expected = repeat_kv(layer(x).view(1, 5, 2, 3).transpose(1, 2), 2)[0]  # (G, T, D) -> (H, T, D)
            torch.testing.assert_close(found[name].apply(x), expected)
        torch.testing.assert_close(found["query"].apply(x), module.q_proj(x).view(5, 4, 3).transpose(0, 1))


class Fused(nn.Module):
    """One layer for several projections, as in GPT-2."""

    def __init__(self, maps: int) -> None:
        super().__init__()
        self.c_attn = Conv1D(maps * 8, 8)
        nn.init.normal_(self.c_attn.bias)


def test_one_layer_holds_the_three_projections_or_is_another() -> None:
    torch.manual_seed(0)
    module, x = Fused(3), torch.randn(5, 8)
    found = find_input_projections(module, heads=2, head_size=4)
    assert found is not None
    with torch.no_grad():
        expected = module.c_attn(x).split(8, dim=1)
    for name, part in zip(("query", "key", "value"), expected, strict=True):
        torch.testing.assert_close(found[name].apply(x), part.view(5, 2, 4).transpose(0, 1))
    assert find_input_projections(Fused(2), heads=2, head_size=4) is None, "keys and values of GPT-2's cross-attention"


def test_a_projection_counts_only_if_it_gives_what_was_recorded() -> None:
    torch.manual_seed(0)
    projection, x = Projection("linear", torch.randn(2, 8, 4), torch.randn(2, 4)), torch.randn(5, 8)
    recorded = projection.apply(x)
    assert reproduces(projection, x, recorded)
    assert reproduces(projection, x, recorded * (1 + 1e-6))
    changed = recorded.clone()
    changed[1, 3, 2] += 0.01
    assert not reproduces(projection, x, changed)
    assert not reproduces(projection, x, recorded[:1])
    assert not reproduces(projection, x[:, :4], recorded)
