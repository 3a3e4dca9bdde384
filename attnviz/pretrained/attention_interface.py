"""Registers `attend` as an attention function of transformers, so that its models use it and are recorded."""

from __future__ import annotations

from typing import Any

from torch import Tensor, nn
from transformers import AttentionInterface, AttentionMaskInterface
from transformers.masking_utils import eager_mask

from attnviz.trace.recorder import recorded_attention

IMPLEMENTATION = "attnviz"
"""The name of our attention function in transformers."""


def attention_function(
    module: nn.Module,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attention_mask: Tensor | None,
    scaling: float | None = None,
    dropout: float = 0.0,
    position_bias: Tensor | None = None,
    **_: Any,
) -> tuple[Tensor, Tensor]:
    """Run `attend` as transformers' attention: takes (B, H, T, D), returns (B, T, H, D) and the weights.

    For grouped-query attention, keys and values are repeated for each query head. T5's relative positions,
    (1, H, Tq, Tk), are added to the mask, since both are added to the scaled scores.
    """
    groups = query.shape[1] // key.shape[1]
    if groups > 1:
        key, value = key.repeat_interleave(groups, dim=1), value.repeat_interleave(groups, dim=1)
    if position_bias is not None:
        attention_mask = position_bias if attention_mask is None else position_bias + attention_mask
    steps = recorded_attention(module, query, key, value, mask=attention_mask, scale=scaling)
    weights = steps.weights
    if dropout:
        weights = nn.functional.dropout(weights, p=dropout, training=module.training)
        return (weights @ value).transpose(1, 2).contiguous(), weights
    return steps.head_outputs.transpose(1, 2).contiguous(), weights


AttentionInterface.register(IMPLEMENTATION, attention_function)
AttentionMaskInterface.register(IMPLEMENTATION, eager_mask)
