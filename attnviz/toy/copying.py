"""Copies the weights of torch's transformer layers, which hold W_Q, W_K and W_V in one matrix, into ours."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn
from torch.nn import functional

if TYPE_CHECKING:
    from attnviz.toy.layers import DecoderLayer, EncoderLayer, MultiHeadAttention

TorchLayer = nn.TransformerEncoderLayer | nn.TransformerDecoderLayer


def settings_of_layer(layer: TorchLayer) -> dict[str, Any]:
    """Return the arguments of our layer that is like torch's.

    Raises:
        ValueError: the activation is neither ReLU nor GELU.
    """
    return {
        "width": layer.linear1.in_features,
        "heads": layer.self_attn.num_heads,
        "feed_forward": layer.linear1.out_features,
        "activation": _name(layer.activation),
        "norm_first": layer.norm_first,
        "dropout": layer.dropout1.p,
        "bias": layer.linear1.bias is not None,
        "eps": layer.norm1.eps,
    }


def copy_encoder_layer(theirs: nn.TransformerEncoderLayer, ours: EncoderLayer) -> None:
    """Copy the weights of an encoder layer."""
    copy_attention(theirs.self_attn, ours.attention)
    _copy_feed_forward(theirs, ours)
    _copy(theirs.norm1, ours.attention_norm)
    _copy(theirs.norm2, ours.feed_forward_norm)


def copy_decoder_layer(theirs: nn.TransformerDecoderLayer, ours: DecoderLayer) -> None:
    """Copy the weights of a decoder layer."""
    copy_attention(theirs.self_attn, ours.attention)
    copy_attention(theirs.multihead_attn, ours.cross_attention)
    _copy_feed_forward(theirs, ours)
    _copy(theirs.norm1, ours.attention_norm)
    _copy(theirs.norm2, ours.cross_attention_norm)
    _copy(theirs.norm3, ours.feed_forward_norm)


def copy_norm(theirs: nn.Module, ours: nn.Module) -> None:
    """Copy the weights of a final norm."""
    _copy(theirs, ours)


def copy_attention(theirs: nn.MultiheadAttention, ours: MultiHeadAttention) -> None:
    """Copy the weights of an attention.

    Raises:
        ValueError: it has other widths for keys or values, or adds keys of its own.
    """
    stacked = theirs.in_proj_weight
    if stacked is None:
        raise ValueError(f"keys of width {theirs.kdim} and values of {theirs.vdim}, not {theirs.embed_dim}")
    if theirs.bias_k is not None or theirs.add_zero_attn:
        raise ValueError("this attention adds a key of its own (bias_k or add_zero_attn)")
    maps = ours.query, ours.key, ours.value
    biases: tuple[Tensor | None, ...] = (None,) * 3 if theirs.in_proj_bias is None else theirs.in_proj_bias.chunk(3)
    with torch.no_grad():
        for map_, weight, bias in zip(maps, stacked.chunk(3), biases, strict=True):
            map_.weight.copy_(weight)
            if bias is not None:
                map_.bias.copy_(bias)
    _copy(theirs.out_proj, ours.output)


def _copy_feed_forward(theirs: TorchLayer, ours: EncoderLayer | DecoderLayer) -> None:
    _copy(theirs.linear1, ours.feed_forward.first)
    _copy(theirs.linear2, ours.feed_forward.second)


def _copy(theirs: nn.Module, ours: nn.Module) -> None:
    """Copy the parameters of modules that name them alike."""
    ours.load_state_dict(theirs.state_dict())


def _name(activation: Any) -> str:
    if activation is functional.relu or isinstance(activation, nn.ReLU):
        return "relu"
    if activation is functional.gelu or (isinstance(activation, nn.GELU) and activation.approximate == "none"):
        return "gelu"
    raise ValueError(f"the activation {activation} is neither ReLU nor GELU")
