"""Finds the projections before attention (W_q, W_k, W_v) and after it (W_O) in the modules of a model family, and
counts a model's parameters by part.

They are found by the names of a module's layers, not by the model's class, so that new families with the usual names
work without changes. A projection is used only if it reproduces the recorded queries, keys and values.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from itertools import pairwise

import torch
from torch import Tensor, nn
from transformers.pytorch_utils import Conv1D

from attnviz.pretrained.model import ModuleNames
from attnviz.trace.layer import OutputProjection, Projection

SEPARATE = (("query", "key", "value"), ("q_lin", "k_lin", "v_lin"), ("q_proj", "k_proj", "v_proj"), ("q", "k", "v"))
"""Three linear layers: BERT and RoBERTa; DistilBERT; BART, Llama and most others; T5."""
FUSED = "c_attn"
"""One layer for all three: GPT-2."""
OUTPUTS = ("out_lin", "out_proj", "o_proj", "c_proj", "dense", "o")
PARTS = ("embeddings", "attention", "feed_forward", "norms", "head", "other")
"""The parts by which parameters are counted, in order"""
FEED_FORWARD = re.compile(r"(^|\.)(mlp|ffn|ffn_output|fc1|fc2|intermediate|output|DenseReluDense)(\.|$)")
"""Paths of feed-forward modules outside attention: GPT-2, Llama; DistilBERT; ALBERT; BART, OPT; BERT; T5."""


def find_input_projections(module: nn.Module, heads: int, head_size: int) -> dict[str, Projection] | None:
    """Return the projections of query, key and value, or None if the module's layout is not known."""
    fused = getattr(module, FUSED, None)
    if isinstance(fused, Conv1D) and fused.weight.shape[1] == 3 * fused.weight.shape[0]:
        weights, biases = fused.weight.detach().chunk(3, dim=1), fused.bias.detach().chunk(3)
        maps = zip(weights, biases, strict=True)
        return {
            name: Projection.of_heads(weight, bias, heads, head_size)
            for name, (weight, bias) in zip(("query", "key", "value"), maps, strict=True)
        }
    for names in SEPARATE:
        found = [getattr(module, name, None) for name in names]
        if all(isinstance(layer, nn.Linear) for layer in found):
            return {
                name: Projection.of_heads(
                    layer.weight.detach().T, None if layer.bias is None else layer.bias.detach(), heads, head_size
                )
                for name, layer in zip(("query", "key", "value"), found, strict=True)
                if isinstance(layer, nn.Linear)
            }
    return None


def find_output_projection(module: nn.Module, parent: nn.Module | None) -> OutputProjection | None:
    """Return W_O and its bias, or None if not found. In BERT it is outside the module: `parent.output.dense`."""
    candidates = [getattr(module, name, None) for name in OUTPUTS]
    candidates.append(getattr(getattr(parent, "output", None), "dense", None))
    for layer in candidates:
        if isinstance(layer, nn.Linear):
            return OutputProjection(layer.weight.detach().T, None if layer.bias is None else layer.bias.detach())
        if isinstance(layer, Conv1D):
            return OutputProjection(layer.weight.detach(), layer.bias.detach())
    return None


def reproduces(projection: Projection, x: Tensor, recorded: Tensor) -> bool:
    """Return whether projecting x, (T, C), gives the recorded vectors, (H, T, D), up to rounding.

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


def module_names(model: nn.Module, path: str) -> ModuleNames:
    """Return the names of the attention module at a path and of its projections."""
    output = _output_path(model, path)
    is_linear = bool(output) and isinstance(model.get_submodule(output), nn.Linear)
    return ModuleNames(path, _projection_names(model.get_submodule(path)), output, is_linear)


def layer_numbers(modules: Sequence[ModuleNames]) -> tuple[int, ...]:
    """Return the model's own numbers of the layers with these attention modules, which are of one kind, in order.

    A layer's number is its place in the model's outermost list of layers, such as 3 in layers.3.self_attn, as the
    module's own `layer_idx` says in most families. Where these do not ascend (ALBERT's layers share their modules,
    Funnel's are in several lists), layers are counted as they are run.
    """
    found = [next((int(part) for part in names.attention.split(".") if part.isdecimal()), -1) for names in modules]
    ascend = all(b > a for a, b in pairwise((-1, *found)))
    return tuple(found) if ascend else tuple(range(len(found)))


def _projection_names(module: nn.Module) -> tuple[str, ...]:
    if hasattr(module, FUSED):
        return (FUSED,)
    found = (names for names in SEPARATE if all(isinstance(getattr(module, name, None), nn.Linear) for name in names))
    return next(found, ())


def _output_path(model: nn.Module, path: str) -> str:
    """Return the path of W_O, in the attention module or, as in BERT, in its parent; "" if not found."""
    inside = [f"{path}.{name}" for name in OUTPUTS]
    for candidate in (*inside, f"{path.rpartition('.')[0]}.output.dense"):
        try:
            model.get_submodule(candidate)
        except AttributeError:
            continue
        return candidate
    return ""


def count_parameters(whole: nn.Module, model: nn.Module, layers: Iterable[ModuleNames]) -> dict[str, int]:
    """Count the parameters by part. Parameters that several modules share count once.

    Args:
        whole: the model with its language head, if it has one.
        model: the model without it.
        layers: the names of the model's attention modules.
    """
    attention = tuple(f"{path}." for names in layers for path in (names.attention, names.output) if path)
    counts = dict.fromkeys(PARTS, 0)
    for name, parameter in model.named_parameters():
        path = name.rpartition(".")[0]
        counts[part_of(path, model.get_submodule(path), attention)] += parameter.numel()
    counts["head"] = sum(parameter.numel() for parameter in whole.parameters()) - sum(counts.values())
    return {part: count for part, count in counts.items() if count}


def part_of(path: str, module: nn.Module, attention: tuple[str, ...]) -> str:
    """Return the part, of `PARTS`, that a module's own parameters belong to. A norm of embeddings is part of them.

    Args:
        path: the module's path in the model.
        module: the module.
        attention: the paths of attention modules and of their W_O, with a dot at the end.
    """
    is_norm = "Norm" in type(module).__name__
    if f"{path}.".startswith(attention) and not is_norm:
        return "attention"
    if "emb" in path or isinstance(module, nn.Embedding):
        return "embeddings"
    if is_norm:
        return "norms"
    return "feed_forward" if FEED_FORWARD.search(path) else "other"
