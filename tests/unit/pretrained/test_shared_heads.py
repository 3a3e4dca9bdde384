"""The maps of grouped-query attention, where several query heads share a key: biases too, in transformers' order."""

from __future__ import annotations

import torch
from torch import nn
from transformers.models.llama.modeling_llama import repeat_kv

from attnviz.pretrained.families import find_input_projections


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
