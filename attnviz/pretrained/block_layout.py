"""Finds what follows attention in a model family: the rest of its block, the final norm and the language head.

As in `families`, all is found by the names of layers, and used only if it reproduces what the model itself computes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from attnviz.trace.block import ACTIVATIONS, AfterAttention, BlockSteps, BlockWeights, Norm
from attnviz.trace.layer import LinearMap
from attnviz.trace.model import Activation
from attnviz.trace.vocabulary import Transform, Vocabulary

PRE_NORM = (("ln_1", "ln_2"), ("input_layernorm", "post_attention_layernorm"))
"""The norms before attention and before the feed-forward: GPT-2; Llama and most newer decoders."""
FINAL_NORMS = ("ln_f", "norm")
LANGUAGE_HEADS = ("lm_head", "cls", "predictions")
CHAINED_HEADS = (
    ("vocab_transform", "activation", "vocab_layer_norm", "vocab_projector"),
    ("generator_predictions", "generator_lm_head"),
)
"""Heads whose modules lie side by side in the model: DistilBERT's; ELECTRA's"""
TRANSFORMS = (
    ("predictions.transform.dense", "predictions.transform.transform_act_fn", "predictions.transform.LayerNorm",
     "predictions.decoder"),
    ("dense", "", "layer_norm", "decoder"),
)  # fmt: skip
"""Dense layer, activation (GELU if it is no module), norm and map to the vocabulary in heads: BERT's; RoBERTa's."""


def find_norms(module: nn.Module, parents: dict[nn.Module, nn.Module]) -> tuple[nn.Module, nn.Module] | None:
    """Return the norms before an attention module and before its feed-forward in a pre-norm block, else None."""
    layer = parents.get(module, module)
    for names in PRE_NORM:
        norms = [getattr(layer, name, None) for name in names]
        if isinstance(norms[0], nn.Module) and isinstance(norms[1], nn.Module):
            return norms[0], norms[1]
    return None


def find_final_norm(model: nn.Module) -> nn.Module:
    """Return the norm after the last pre-norm block, or the identity."""
    return _first(model, FINAL_NORMS) or nn.Identity()


def find_language_head(model: nn.Module) -> nn.Module | None:
    """Return the module that computes logits from the last hidden state, else None.

    GPT-2, Llama and RoBERTa have one, BERT and ALBERT too; those of `CHAINED_HEADS` are joined to one.
    """
    for names in CHAINED_HEADS:
        parts = [part for name in names if isinstance(part := getattr(model, name, None), nn.Module)]
        if len(parts) == len(names):
            return nn.Sequential(*parts)
    return _first(model, LANGUAGE_HEADS)


def find_vocabulary(head: nn.Module, label: Callable[[int], str], masked: int | None) -> Vocabulary | None:
    """Return the parts of a language head that is one linear map, or has the layout of BERT's or RoBERTa's, else None.

    Args:
        head: the head.
        label: what a token of the vocabulary is called.
        masked: the id of the token that stands for one to be guessed, if there is one.
    """
    whole = _linear_map(head)
    if whole is not None:
        return Vocabulary(whole, label, None, masked)
    for names in TRANSFORMS:
        try:
            dense, last = (_linear_map(head.get_submodule(name)) for name in (names[0], names[3]))
            norm = head.get_submodule(names[2])
        except AttributeError:
            continue
        path, _, name = names[1].rpartition(".")
        activate = getattr(head.get_submodule(path), name) if name else functional.gelu
        if dense is not None and last is not None and isinstance(norm, nn.LayerNorm):
            return Vocabulary(last, label, Transform(dense, activate, _activation(activate), Norm.of(norm)), masked)
    return None


def find_after_attention(module: nn.Module, parents: dict[nn.Module, nn.Module]) -> AfterAttention | None:
    """Return the computation after attention for blocks with the layout of BERT, GPT-2 or Llama, else None."""
    return _after_pre_norm(module, parents) or _after_post_norm(module, parents)


def _after_pre_norm(module: nn.Module, parents: dict[nn.Module, nn.Module]) -> AfterAttention | None:
    norms, feed_forward = find_norms(module, parents), getattr(parents.get(module), "mlp", None)
    last, hidden_of = _first(feed_forward, ("c_proj", "down_proj")), _find_hidden(feed_forward)
    if norms is None or last is None or hidden_of is None:
        return None
    attention_norm, feed_forward_norm = norms

    def after(x: Tensor, output: Tensor) -> BlockSteps:
        attention_residual = x + output
        normed = feed_forward_norm(attention_residual)
        hidden = hidden_of(normed)
        added = last(hidden)
        residual = attention_residual + added
        return BlockSteps(attention_residual, attention_norm(x), hidden, added, residual, residual, normed)

    return after


def _find_hidden(feed_forward: object) -> Callable[[Tensor], Tensor] | None:
    """Return what computes the hidden layer of a feed-forward, (T, C) to (T, F): GPT-2's, or Llama's with its gate.

    None if it has neither's layers: Phi-3 and GLM keep gate and layer in one, Nemotron and Arcee have no gate.
    """
    first, activate = getattr(feed_forward, "c_fc", None), getattr(feed_forward, "act", None)
    if first is not None and activate is not None:
        return lambda x: activate(first(x))
    names = ("act_fn", "gate_proj", "up_proj")
    gated_by, gate, up = (getattr(feed_forward, name, None) for name in names)
    if gated_by is not None and gate is not None and up is not None:
        return lambda x: gated_by(gate(x)) * up(x)
    return None


def _after_post_norm(module: nn.Module, parents: dict[nn.Module, nn.Module]) -> AfterAttention | None:
    attention = parents.get(module, module)
    layer = parents.get(attention, attention)
    try:
        attention_norm = attention.get_submodule("output.LayerNorm")
        intermediate = layer.get_submodule("intermediate")
        dense, block_norm = layer.get_submodule("output.dense"), layer.get_submodule("output.LayerNorm")
    except AttributeError:
        return None

    def after(x: Tensor, output: Tensor) -> BlockSteps:
        attention_residual = x + output
        normed = attention_norm(attention_residual)
        hidden = intermediate(normed)
        added = dense(hidden)
        residual = normed + added
        return BlockSteps(attention_residual, normed, hidden, added, residual, block_norm(residual))

    return after


def find_weights(module: nn.Module, parents: dict[nn.Module, nn.Module]) -> BlockWeights | None:
    """Return the weights of what follows attention in a block with the layout of BERT or GPT-2, else None.

    A norm that is no LayerNorm is left out, and an activation other than ReLU and the two of GELU is not named.
    """
    norms, feed_forward = find_norms(module, parents), getattr(parents.get(module), "mlp", None)
    attention = parents.get(module, module)
    layer = parents.get(attention, attention)
    if norms is not None:
        named = dict(zip(("attention_norm", "feed_forward_norm"), norms, strict=True))
        maps = getattr(feed_forward, "c_fc", None), getattr(feed_forward, "c_proj", None)
        activation = getattr(feed_forward, "act", None)
    else:
        try:
            named = {
                "attention_norm": attention.get_submodule("output.LayerNorm"),
                "feed_forward_norm": layer.get_submodule("output.LayerNorm"),
            }
            maps = layer.get_submodule("intermediate.dense"), layer.get_submodule("output.dense")
        except AttributeError:
            return None
        activation = getattr(layer.get_submodule("intermediate"), "intermediate_act_fn", None)
    first, second = map(_linear_map, maps)
    if first is None or second is None:
        return None
    known = {name: Norm.of(norm) for name, norm in named.items() if isinstance(norm, nn.LayerNorm)}
    return BlockWeights(known, first, second, _activation(activation))


def _linear_map(module: object) -> LinearMap | None:
    """Return the map of an nn.Linear, or of transformers' Conv1D, whose weight is (in, out)."""
    weight, bias = getattr(module, "weight", None), getattr(module, "bias", None)
    if not isinstance(weight, Tensor) or weight.ndim != 2:
        return None
    weight = weight.detach().T if isinstance(module, nn.Linear) else weight.detach()
    return LinearMap(weight, bias.detach() if isinstance(bias, Tensor) else None)


def _activation(function: Any) -> Activation | None:
    """Return the name of the activation that a function computes, if it is one of ours."""
    probe = torch.linspace(-6, 6, 97)
    if not callable(function):
        return None
    return next(
        (name for name, one in ACTIVATIONS.items() if torch.allclose(function(probe), one(probe), atol=1e-6)), None
    )


def _first(owner: object, names: tuple[str, ...]) -> nn.Module | None:
    """Return the first of these submodules that the owner has."""
    found = (getattr(owner, name, None) for name in names)
    return next((module for module in found if isinstance(module, nn.Module)), None)
