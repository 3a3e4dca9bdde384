"""What the recorder needs of transformers: its models, or copies of them, that call `attend`, and their inputs."""

from __future__ import annotations

import copy
from itertools import chain
from typing import Any

import torch
from torch import Tensor, nn
from transformers import AttentionInterface, AttentionMaskInterface
from transformers.masking_utils import eager_mask

from attnviz.trace.recorder import Inputs, recorded_attention

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


def attention_inputs(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Inputs:
    """Return the inputs of queries and of keys, (B, T, C), from the arguments of an attention module of transformers.

    In cross-attention, the keys' input is the encoder's output.
    """
    x = args[0] if args else kwargs.get("hidden_states")
    other = kwargs.get("key_value_states", kwargs.get("encoder_hidden_states"))
    return x, x if other is None else other


AttentionInterface.register(IMPLEMENTATION, attention_function)
AttentionMaskInterface.register(IMPLEMENTATION, eager_mask)


def copied(model: Any) -> Any:
    """Return a copy of a transformers model with our attention function, on the CPU and in float32.

    The user's hooks run in the copy too, since they shape the result.
    """
    tensors = {id(tensor): _on_cpu(tensor) for tensor in chain(model.parameters(), model.buffers())}
    hooks = {
        id(hook): hook
        for module in model.modules()
        for hook in chain(module._forward_hooks.values(), module._forward_pre_hooks.values())
    }
    ours = copy.deepcopy(model, {**tensors, **hooks})  # deepcopy takes these as they are
    ours.config.return_dict = True
    ours.set_attn_implementation(IMPLEMENTATION)
    return ours


def _on_cpu(tensor: Tensor) -> Tensor:
    dtype = torch.float32 if tensor.is_floating_point() else tensor.dtype
    on_cpu = tensor.detach().to("cpu", dtype, copy=True)
    return nn.Parameter(on_cpu, requires_grad=False) if isinstance(tensor, nn.Parameter) else on_cpu
