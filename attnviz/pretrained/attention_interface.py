"""What the recorder needs of transformers: its models, or copies of them, that call `attend`, and their inputs."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from itertools import chain
from typing import Any

import torch
from torch import Tensor, nn
from transformers import AttentionInterface, AttentionMaskInterface
from transformers.masking_utils import eager_mask

from attnviz.pretrained.names import UnfitError
from attnviz.trace.recorder import Inputs, recorded_attention

IMPLEMENTATION = "attnviz"
"""The name of our attention function in transformers."""

WITHOUT_EFFECT = frozenset({
    "cu_seq_lens_q", "cu_seq_lens_k", "max_length_q", "max_length_k",  # how fused kernels find texts that are packed
    "is_causal", "sliding_window", "indices", "block_indices",  # for fused kernels: eager's mask has all of it
    "deterministic", "output_attentions", "output_hidden_states", "return_dict", "use_cache",
    "output_router_logits", "logits_to_keep",  # for what follows the attention of a whole model
    "position_ids",  # the queries and keys are already rotated by them
})  # fmt: skip
"""Arguments that transformers passes to every attention function, and that none of its eager ones reads"""

CHANGES: Mapping[str, str] = {
    "softcap": "limits its scores with a soft cap",
    "s_aux": "adds a learned sink to each softmax, so that a row of weights does not sum to 1",
    "sinks": "adds a learned sink to each softmax, so that a row of weights does not sum to 1",
    "attention_bias": "adds a bias to its scores outside the mask",
    "head_mask": "multiplies the weights of its heads by a mask",
}
"""What a model does that passes an argument to its attention, in words, where the argument is one that is known"""
OTHER_CHANGE = "gives its attention an argument “{name}”, of which nothing is known here"
NOT_SHOWN = "a step between scores and head outputs that is not shown here"


def attention_function(
    module: nn.Module,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attention_mask: Tensor | None,
    scaling: float | Tensor | None = None,
    dropout: float = 0.0,
    position_bias: Tensor | None = None,
    **others: Any,
) -> tuple[Tensor, Tensor]:
    """Run `attend` as transformers' attention: takes (B, H, T, D), returns (B, T, H, D) and the weights.

    For grouped-query attention, keys and values are repeated for each query head. T5's relative positions,
    (1, H, Tq, Tk), are added to the mask, since both are added to the scaled scores.

    Raises:
        UnfitError: an argument asks for a step that `attend` does not have.
    """
    check_arguments(others)
    if dropout and module.training:
        raise UnfitError("drops weights of its attention at random, and so has other numbers in each run")
    if isinstance(scaling, Tensor):
        if scaling.numel() > 1:
            raise UnfitError(f"multiplies its scores by a scale for each head or token: {NOT_SHOWN}")
        scaling = float(scaling)
    groups = query.shape[1] // key.shape[1]
    if groups > 1:
        key, value = key.repeat_interleave(groups, dim=1), value.repeat_interleave(groups, dim=1)
    if position_bias is not None:
        attention_mask = position_bias if attention_mask is None else position_bias + attention_mask
    steps = recorded_attention(module, query, key, value, mask=attention_mask, scale=scaling)
    return steps.head_outputs.transpose(1, 2).contiguous(), steps.weights


def check_arguments(others: Mapping[str, Any]) -> None:
    """Check what a model passes to its attention besides what `attention_function` computes with.

    Raises:
        UnfitError: an argument is neither None nor known to have no effect. The message names it in words.
    """
    for name, value in others.items():
        if value is not None and name not in WITHOUT_EFFECT:
            what = CHANGES.get(name) or OTHER_CHANGE.format(name=name.replace("_", " ").strip())
            raise UnfitError(f"{what}: {NOT_SHOWN}")


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
    ours = _duplicate(model, {id(tensor): _on_cpu(tensor) for tensor in _tensors(model)})
    ours.config.return_dict = True
    ours.set_attn_implementation(IMPLEMENTATION)
    return ours


def with_eager_attention(model: Any) -> Any:
    """Return the same model with transformers' own eager attention. Both have the same tensors in memory."""
    theirs = _duplicate(model, {id(tensor): tensor for tensor in _tensors(model)})
    theirs.set_attn_implementation("eager")
    return theirs


def _duplicate(model: Any, tensors: Mapping[int, Tensor]) -> Any:
    """Copy a model's modules and configuration, with other tensors, by the `id` of the model's, and the same hooks."""
    hooks = {
        id(hook): hook
        for module in model.modules()
        for hook in chain(module._forward_hooks.values(), module._forward_pre_hooks.values())
    }
    return copy.deepcopy(model, {**tensors, **hooks})  # deepcopy takes these as they are


def _tensors(model: nn.Module) -> chain[Tensor]:
    return chain(model.parameters(), model.buffers())


def _on_cpu(tensor: Tensor) -> Tensor:
    dtype = torch.float32 if tensor.is_floating_point() else tensor.dtype
    on_cpu = tensor.detach().to("cpu", dtype, copy=True)
    return nn.Parameter(on_cpu, requires_grad=False) if isinstance(tensor, nn.Parameter) else on_cpu
