"""torch's own transformers with the weights of the toy's, to compare with."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from attnviz.toy import Decoder, DecoderLayer, Encoder, MultiHeadAttention, Seq2Seq
from attnviz.toy.config import TransformerConfig


def torchs_stack(config: TransformerConfig, ours: Encoder | Seq2Seq) -> Any:
    """Return torch's stack of these settings with copies of our weights."""
    pre = config.norm == "pre"
    given: dict[str, Any] = {
        "d_model": config.width, "nhead": config.heads, "dropout": 0.0,
        "dim_feedforward": 4 * config.width if config.feed_forward is None else config.feed_forward,
        "activation": config.activation, "norm_first": pre, "bias": config.bias, "batch_first": True,
    }  # fmt: skip

    def norm() -> nn.LayerNorm | None:
        return nn.LayerNorm(config.width, bias=config.bias) if pre else None

    encoder = nn.TransformerEncoder(
        nn.TransformerEncoderLayer(**given), config.depth, norm(), enable_nested_tensor=False
    )
    if isinstance(ours, Encoder):
        copy_stack(ours, encoder)
        return encoder.eval()
    depth = config.depth if config.decoder_depth is None else config.decoder_depth
    decoder = nn.TransformerDecoder(nn.TransformerDecoderLayer(**given), depth, norm())
    both = nn.Transformer(custom_encoder=encoder, custom_decoder=decoder, **given).eval()  # draws the weights anew
    copy_stack(ours.encoder, encoder)
    copy_stack(ours.decoder, decoder)
    return both


def copy_stack(ours: Encoder | Decoder, theirs: nn.TransformerEncoder | nn.TransformerDecoder) -> None:
    for mine, its in zip(ours.layers, theirs.layers, strict=True):
        copy_attention(mine.attention, its.self_attn)
        modules = [
            (mine.feed_forward.first, its.linear1), (mine.feed_forward.second, its.linear2),
            (mine.attention_norm, its.norm1),
        ]  # fmt: skip
        if isinstance(mine, DecoderLayer):
            copy_attention(mine.cross_attention, its.multihead_attn)
            modules += [(mine.cross_attention_norm, its.norm2), (mine.feed_forward_norm, its.norm3)]
        else:
            modules += [(mine.feed_forward_norm, its.norm2)]
        for source, copy in modules:
            copy.load_state_dict(source.state_dict())
    if theirs.norm is not None:
        theirs.norm.load_state_dict(ours.norm.state_dict())


def copy_attention(ours: MultiHeadAttention, theirs: nn.MultiheadAttention) -> None:
    """Copy the weights; each head of theirs has a copy of the keys and values that ours share."""

    def of_each_head(rows: Tensor) -> Tensor:
        by_head = rows.unflatten(0, (-1, theirs.head_dim))
        return by_head.repeat_interleave(theirs.num_heads // len(by_head), dim=0).flatten(0, 1)

    maps = ours.query, ours.key, ours.value
    with torch.no_grad():
        theirs.in_proj_weight.copy_(torch.cat([of_each_head(one.weight) for one in maps]))
        if theirs.in_proj_bias is not None:
            theirs.in_proj_bias.copy_(torch.cat([of_each_head(one.bias) for one in maps]))
    theirs.out_proj.load_state_dict(ours.output.state_dict())
