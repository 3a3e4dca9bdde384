"""Where model families keep the maps before attention (W_q, W_k, W_v) and after it (W_O).

Found by the names of a module's layers, never by the class of the model, so that new families that follow an old
convention work at once. What is found is believed only after it has reproduced the recorded queries, keys and values.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn
from transformers.pytorch_utils import Conv1D

from attnviz.trace.layer import OutputProjection, Projection

SEPARATE = (("query", "key", "value"), ("q_lin", "k_lin", "v_lin"), ("q_proj", "k_proj", "v_proj"), ("q", "k", "v"))
"""Three linear layers: BERT and RoBERTa; DistilBERT; BART, Llama and most others; T5."""
FUSED = "c_attn"
"""One layer for all three: GPT-2."""
OUTPUTS = ("out_lin", "out_proj", "o_proj", "c_proj", "dense", "o")


def find_input_projections(module: nn.Module, heads: int, head_size: int) -> dict[str, Projection] | None:
    """Return the maps behind query, key and value, or None where the module's layout is not known."""
    fused = getattr(module, FUSED, None)
    if isinstance(fused, Conv1D) and fused.weight.shape[1] == 3 * fused.weight.shape[0]:
        weights, biases = fused.weight.detach().chunk(3, dim=1), fused.bias.detach().chunk(3)
        maps = zip(weights, biases, strict=True)
        return {
            name: _per_head(weight, bias, heads, head_size)
            for name, (weight, bias) in zip(("query", "key", "value"), maps, strict=True)
        }
    for names in SEPARATE:
        found = [getattr(module, name, None) for name in names]
        if all(isinstance(layer, nn.Linear) for layer in found):
            return {
                name: _per_head(
                    layer.weight.detach().T, None if layer.bias is None else layer.bias.detach(), heads, head_size
                )
                for name, layer in zip(("query", "key", "value"), found, strict=True)
                if isinstance(layer, nn.Linear)
            }
    return None


def find_output_projection(module: nn.Module, parent: nn.Module | None) -> OutputProjection | None:
    """Return W_O and its bias, or None. BERT keeps it beside the attention module, in `parent.output.dense`."""
    candidates = [getattr(module, name, None) for name in OUTPUTS]
    candidates.append(getattr(getattr(parent, "output", None), "dense", None))
    for layer in candidates:
        if isinstance(layer, nn.Linear):
            return OutputProjection(layer.weight.detach().T, None if layer.bias is None else layer.bias.detach())
        if isinstance(layer, Conv1D):
            return OutputProjection(layer.weight.detach(), layer.bias.detach())
    return None


def reproduces(projection: Projection, x: Tensor, recorded: Tensor) -> bool:
    """Say whether x, (T, C), projected is what was recorded, (H, T, D).

    False for families that change queries and keys after the projection (rotary positions, normalised queries).
    """
    weight = projection.weight
    if weight is None or weight.shape[1] != x.shape[1] or weight.shape[2] != recorded.shape[2]:
        return False
    projected = projection.apply(x)
    size = float(recorded.abs().max()) if recorded.numel() else 0.0
    return projected.shape == recorded.shape and bool(
        torch.allclose(projected, recorded, rtol=1e-4, atol=1e-5 * max(1.0, size))
    )


def _per_head(weight: Tensor, bias: Tensor | None, heads: int, head_size: int) -> Projection:
    """Cut a (C, G·D) map into (H, C, D); where query heads share a map (G < H), it is repeated for each."""
    shared = heads * head_size // weight.shape[1]
    per_head = weight.unflatten(1, (-1, head_size)).transpose(0, 1)  # (C, G, D) -> (G, C, D)
    cut_bias = None if bias is None else bias.unflatten(0, (-1, head_size))  # (G, D)
    if shared > 1:
        per_head = per_head.repeat_interleave(shared, dim=0)
        cut_bias = None if cut_bias is None else cut_bias.repeat_interleave(shared, dim=0)
    return Projection("linear", per_head, cut_bias)
