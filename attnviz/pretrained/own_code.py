"""Attention modules of transformers with code of their own for attention, and the project's function in its place.

transformers passes its attention functions to most families. Those here do not ask for one: what their modules compute
between projections and W_O is written again, so that the project's function records it. Each is compared with the
module's own code like any other model.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from types import MethodType
from typing import Any

import torch
from torch import Tensor, nn

from attnviz.pretrained.attention_interface import IMPLEMENTATION, NOT_SHOWN, attention_function
from attnviz.pretrained.names import UnfitError
from attnviz.trace.position_bias import PositionTerms, ScaledBias

Attended = tuple[Tensor, Tensor | None]
"""The output after W_O, (B, T, C), and the weights, (B, H, T, T)"""


def _attend(module: Any, query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None, **of_scores: Any) -> Attended:
    """Return the head outputs side by side, (B, T, H·D), and the weights, of query, key and value (B, H, T, D)."""
    outputs, weights = attention_function(module, query, key, value, mask, **of_scores)
    return outputs.flatten(2), weights


def _cached(module: Any, past: Any, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor]:
    """Return the keys and values, after those of a cache if there is one."""
    return (key, value) if past is None else past.update(key, value, module.layer_idx)


def bloom(
    self: Any,
    hidden_states: Tensor,
    residual: Tensor,
    alibi: Tensor,
    attention_mask: Tensor | None,
    layer_past: Any = None,
    **_: Any,
) -> Attended:
    """Run BLOOM's attention. Its ALiBi, (B·H, 1, T), is slope × position of the key, added to the scaled scores."""
    query, key, value = self._reshape(self.query_key_value(hidden_states))
    key, value = _cached(self, layer_past, key, value)
    concat, weights = _attend(
        self, query, key, value, attention_mask, scaling=self.inv_norm_factor,
        position_bias=alibi.view(len(query), self.num_heads, 1, -1),
    )  # fmt: skip
    return self.dense(concat) + residual, weights


def mpt(
    self: Any,
    hidden_states: Tensor,
    position_bias: Tensor | None,
    past_key_values: Any = None,
    attention_mask: Tensor | None = None,
    **_: Any,
) -> Attended:
    """Run MPT's attention. Its ALiBi, (H, 1, most tokens), ends with the last key; its mask is True in hidden cells."""
    mixed = self.Wqkv(hidden_states)
    if self.clip_qkv:
        mixed = mixed.clamp(min=-self.clip_qkv, max=self.clip_qkv)
    query, key, value = (part.unflatten(-1, (self.n_heads, -1)).transpose(1, 2) for part in mixed.chunk(3, dim=2))
    key, value = _cached(self, past_key_values, key, value)
    bias = None if position_bias is None else position_bias[None, :, -query.shape[2] :, -key.shape[2] :]
    mask = None if attention_mask is None else ~attention_mask
    concat, weights = _attend(self, query, key, value, mask, scaling=self.softmax_scale, position_bias=bias)
    return self.out_proj(concat), weights


def falcon(
    self: Any,
    hidden_states: Tensor,
    *,
    alibi: Tensor | None,
    attention_mask: Tensor | None,
    layer_past: Any = None,
    position_embeddings: tuple[Tensor, Tensor] | None = None,
    **_: Any,
) -> Attended:
    """Run Falcon's attention: with rotary positions, or with an ALiBi, (B·H, 1, T), that the scale multiplies too."""
    from transformers.models.falcon.modeling_falcon import apply_rotary_pos_emb

    query, key, value = (part.transpose(1, 2) for part in self._split_heads(self.query_key_value(hidden_states)))
    bias = None
    if alibi is not None:
        if attention_mask is not None:  # it has the ALiBi too, which is added once
            attention_mask = attention_mask != torch.finfo(attention_mask.dtype).min
        bias = ScaledBias(alibi.view(len(query), self.num_heads, 1, -1), self.inv_norm_factor)
    elif position_embeddings is not None:
        query, key = apply_rotary_pos_emb(query, key, *position_embeddings)
    key, value = _cached(self, layer_past, key, value)
    scale = self.inv_norm_factor
    concat, weights = _attend(self, query, key, value, attention_mask, scaling=scale, position_bias=bias)
    return self.dense(concat), weights


def mpnet(
    self: Any,
    hidden_states: Tensor,
    attention_mask: Tensor | None = None,
    position_bias: Tensor | None = None,
    output_attentions: bool = False,
    **_: Any,
) -> tuple[Tensor, ...]:
    """Run MPNet's attention, whose position bias is of T5's buckets."""
    query, key, value = (
        map_(hidden_states).unflatten(-1, (-1, self.attention_head_size)).transpose(1, 2)
        for map_ in (self.q, self.k, self.v)
    )
    concat, weights = _attend(self, query, key, value, attention_mask, position_bias=position_bias)
    output = self.o(concat)
    return (output, weights) if output_attentions and weights is not None else (output,)


def bert(
    self: Any,
    hidden_states: Tensor,
    attention_mask: Tensor | None = None,
    encoder_hidden_states: Tensor | None = None,
    past_key_values: Any = None,
    **_: Any,
) -> Attended:
    """Run the attention of families that kept BERT's former code: MegatronBERT, RemBERT, TAPAS."""
    source = hidden_states if encoder_hidden_states is None else encoder_hidden_states
    query = _heads(self, self.query(hidden_states))
    key, value = _cached(self, past_key_values, _heads(self, self.key(source)), _heads(self, self.value(source)))
    return _attend(self, query, key, value, attention_mask)


def bart(
    self: Any,
    hidden_states: Tensor,
    key_value_states: Tensor | None = None,
    past_key_values: Any = None,
    attention_mask: Tensor | None = None,
    attn_prompt: Tensor | None = None,
    **_: Any,
) -> Attended:
    """Run the attention of families that kept BART's former code: XGLM, TrOCR, MVP.

    Raises:
        UnfitError: MVP puts learned keys and values before those of the text.
    """
    if attn_prompt is not None:
        raise UnfitError(f"has keys and values that stand for no token before those of the text: {NOT_SHOWN}")
    source = hidden_states if key_value_states is None else key_value_states
    query, key, value = (
        map_(x).unflatten(-1, (self.num_heads, -1)).transpose(1, 2)
        for map_, x in ((self.q_proj, hidden_states), (self.k_proj, source), (self.v_proj, source))
    )
    key, value = _cached(self, past_key_values, key, value)
    concat, weights = _attend(self, query, key, value, attention_mask, scaling=self.scaling)
    return self.out_proj(concat), weights


def xlm(
    self: Any,
    tokens: Tensor,
    mask: Tensor,
    kv: Tensor | None = None,
    output_attentions: bool = False,
    **_: Any,
) -> tuple[Tensor, ...]:
    """Run the attention of XLM and FlauBERT. Its mask is 0 at hidden keys, (B, Tk), or in hidden cells, (B, Tq, Tk).

    They always pass a cache, which is empty: a text is read whole.
    """
    source = tokens if kv is None else kv
    query, key, value = (
        map_(x).unflatten(-1, (self.n_heads, -1)).transpose(1, 2)
        for map_, x in ((self.q_lin, tokens), (self.k_lin, source), (self.v_lin, source))
    )
    visible = (mask != 0)[:, None] if mask.ndim == 3 else (mask != 0)[:, None, None]
    concat, weights = _attend(self, query, key, value, visible)
    output = self.out_lin(concat)
    return (output, weights) if output_attentions and weights is not None else (output,)


HIDDEN = -1e9
"""LongT5 adds −1e10 to the scores of hidden cells, and a position bias beside it: what is lower than this is hidden"""


def longt5_local(
    self: Any,
    hidden_states: Tensor,
    mask: Tensor | None = None,
    position_bias: Tensor | None = None,
    output_attentions: bool = False,
) -> tuple[Tensor, ...]:
    """Run the local attention of LongT5's encoder, which computes blocks of queries with three blocks of keys.

    Together these are the attention of a whole text with a window. Mask and position bias, which have the shape of the
    blocks, are put together likewise.
    """
    query, key, value = (
        map_(hidden_states).unflatten(-1, (self.n_heads, -1)).transpose(1, 2) for map_ in (self.q, self.k, self.v)
    )
    if position_bias is None:
        length = self.block_len
        position_bias = torch.zeros(1, 1, self.n_heads, length, 3 * length)
        if self.has_relative_attention_bias:
            position_bias = self.compute_bias(length)
        if mask is not None:
            position_bias = position_bias + torch.where(mask > 0, 0.0, -1e10).transpose(1, 2)
    whole = whole_of_blocks(position_bias, query.shape[2])
    visible = whole > HIDDEN
    concat, weights = _attend(
        self, query, key, value, visible, scaling=1.0, position_bias=whole.masked_fill(~visible, -math.inf),
        sliding_window=self.block_len,
    )  # fmt: skip
    output = self.o(concat)
    return (output, position_bias, weights) if output_attentions and weights is not None else (output, position_bias)


def whole_of_blocks(blocks: Tensor, n: int) -> Tensor:
    """Return cells of blocks of queries with three blocks of keys, as those of n tokens, (B, H, n, n).

    Args:
        blocks: (B, number of blocks, H, L, 3L), for blocks of L tokens; or one block that is the same for all.
        n: the number of tokens.

    Cells that are in no block are −inf.
    """
    length, at = blocks.shape[-2], torch.arange(n)
    block = at // length
    blocks = blocks.expand(-1, max(len(blocks[0]), -(-n // length)), -1, -1, -1)
    rows = blocks[:, block, :, at % length].permute(1, 2, 0, 3)  # (n, B, H, 3L) -> (B, H, n, 3L)
    column = at - (block[:, None] - 1) * length  # (n, n): the place of each key in the three blocks of a query
    cells = rows.gather(-1, column.clamp(0, 3 * length - 1).expand(*rows.shape[:-1], -1))
    return cells.masked_fill((column < 0) | (column >= 3 * length), -math.inf)


def _heads(module: Any, projected: Tensor) -> Tensor:
    """Return (..., T, H·D) as (..., H, T, D), for DeBERTa."""
    heads: Tensor = projected.unflatten(-1, (module.num_attention_heads, -1))  # (..., T, H, D)
    return heads.transpose(-3, -2)


def position_maps(module: Any) -> tuple[str, str]:
    """Return the names of the layers by which DeBERTa's attention makes keys and queries of relative positions."""
    if hasattr(module, "in_proj"):
        return "pos_proj", "pos_q_proj"
    return ("key_proj", "query_proj") if module.share_att_key else ("pos_key_proj", "pos_query_proj")


def _terms(
    module: Any, query: Tensor, key: Tensor, scale: float, relative_pos: Tensor, rel_embeddings: Tensor
) -> PositionTerms | None:
    """Return the terms of DeBERTa's position bias; None if it has none. Their tables have the rows that a text needs.

    `relative_pos` is (1, Tq, Tk), and 0 is the middle row of `rel_embeddings`, (R, C), whose ends hold what is farther.
    """
    maps, span = position_maps(module), len(rel_embeddings) // 2
    kinds = "c2p", "p2c"
    if not any(kind in module.pos_att_type for kind in kinds):
        return None
    relative = relative_pos.view(relative_pos.shape[-2:]).long()
    first, last = (min(max(int(end), -span), span - 1) for end in (relative.min(), relative.max()))
    rows = rel_embeddings[first + span : last + span + 1]
    tables = (
        _heads(module, getattr(module, name)(rows)) if kind in module.pos_att_type else None
        for kind, name in zip(kinds, maps, strict=True)
    )
    return PositionTerms(query, key, scale, relative, first, *tables)


TALKING_HEADS = (
    f"mixes the scores of its heads with each other before their softmax, and their weights after it: {NOT_SHOWN}"
)


def deberta(
    self: Any,
    hidden_states: Tensor,
    attention_mask: Tensor,
    output_attentions: bool = False,
    query_states: Tensor | None = None,
    relative_pos: Tensor | None = None,
    rel_embeddings: Tensor | None = None,
) -> Attended:
    """Run DeBERTa's attention, of its first version or of the later ones.

    Its position bias is the sum of up to two terms, and its scale is smaller the more it has.

    Raises:
        UnfitError: its heads are mixed with each other, or its queries are of other states than its keys.
    """
    if getattr(self, "talking_head", False):
        raise UnfitError(TALKING_HEADS)
    if query_states is not None:
        raise UnfitError(f"takes its queries from other states than its keys and values: {NOT_SHOWN}")
    is_first_version = hasattr(self, "in_proj")
    if is_first_version:
        query, key, value = _heads(self, self.in_proj(hidden_states)).chunk(3, dim=-1)
        query, value = query + _heads(self, self.q_bias[None]), value + _heads(self, self.v_bias[None])
    else:
        maps = self.query_proj, self.key_proj, self.value_proj
        query, key, value = (_heads(self, map_(hidden_states)) for map_ in maps)
    kinds = self.pos_att_type
    terms = len(kinds) if is_first_version else ("c2p" in kinds) + ("p2c" in kinds)
    scale = 1 / math.sqrt(query.shape[-1] * (1 + terms))
    added = None
    if self.relative_attention and relative_pos is not None and rel_embeddings is not None:
        added = _terms(self, query, key, scale, relative_pos, rel_embeddings)
    concat, weights = _attend(self, query, key, value, attention_mask.bool(), scaling=scale, position_bias=added)
    return concat, weights if output_attentions else None


def gptj(self: Any, query: Tensor, key: Tensor, value: Tensor, attention_mask: Tensor | None = None) -> Attended:
    """Run the part of GPT-J's attention after its rotation."""
    outputs, weights = attention_function(self, query, key, value, attention_mask, scaling=1 / self.scale_attn)
    return outputs.transpose(1, 2), weights


def openai_gpt(
    self: Any,
    query: Tensor,
    key_t: Tensor,
    value: Tensor,
    attention_mask: Tensor | None = None,
    output_attentions: bool = False,
) -> list[Tensor]:
    """Run the part of the first GPT's attention after its projections. Its keys come transposed, (B, H, D, Tk).

    Where it hides a cell, it fills in −10,000, whose weight is 0 as that of −∞.
    """
    visible = self.bias[:, :, : query.shape[2], : key_t.shape[3]] > 0
    if attention_mask is not None:
        visible = visible & (attention_mask == 0)
    scale = None if self.scale else 1.0
    outputs, weights = attention_function(self, query, key_t.transpose(2, 3), value, visible, scaling=scale)
    return [outputs.transpose(1, 2), *([weights] if output_attentions else [])]


def gpt_neox_japanese(
    self: Any, query: Tensor, key: Tensor, value: Tensor, attention_mask: Tensor | None = None
) -> Attended:
    """Run the part of the Japanese GPT-NeoX's attention after its rotation."""
    outputs, weights = attention_function(self, query, key, value, attention_mask, scaling=1 / self.norm_factor)
    return outputs.transpose(1, 2), weights


def gpt_neo(self: Any, query: Tensor, key: Tensor, value: Tensor, attention_mask: Tensor | None = None) -> Attended:
    """Run the part of GPT-Neo's attention after its projections. It scales nothing; every second layer has a window."""
    queries, keys = query.shape[2], key.shape[2]
    visible = self.bias[:, :, keys - queries : keys, :keys]
    if attention_mask is not None:
        visible = visible & (attention_mask == 0)
    window = self.config.window_size if self.attention_type == "local" else None
    outputs, weights = attention_function(self, query, key, value, visible, scaling=1.0, sliding_window=window)
    return outputs.transpose(1, 2), weights


def _with_tables(module: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Give GPT-J's attention the cosines and sines of its own table as `position_embeddings`, which it ignores."""
    sin, cos = module.embed_positions[kwargs["position_ids"]].chunk(2, dim=-1)  # (B, T, R / 2) each
    return args, {**kwargs, "position_embeddings": (cos, sin)}


METHODS: Mapping[str, tuple[str, Callable[..., Any]]] = {
    "BloomAttention": ("forward", bloom),
    "MptAttention": ("forward", mpt),
    "FalconAttention": ("forward", falcon),
    "MPNetSelfAttention": ("forward", mpnet),
    "DisentangledSelfAttention": ("forward", deberta),
    "LongT5LocalAttention": ("forward", longt5_local),
    **{f"{name}SelfAttention": ("forward", bert) for name in ("MegatronBert", "RemBert", "Tapas")},
    **{f"{name}Attention": ("forward", bart) for name in ("XGLM", "TrOCR", "Mvp")},
    "xlm.MultiHeadAttention": ("forward", xlm),
    "flaubert.MultiHeadAttention": ("forward", xlm),
    "openai.Attention": ("_attn", openai_gpt),
    "GPTNeoXJapaneseAttention": ("_attn", gpt_neox_japanese),
    "GPTJAttention": ("_attn", gptj),
    "GPTNeoSelfAttention": ("_attn", gpt_neo),
}
"""By the class of the module, after its family's folder in transformers where others have a class of this name: the
method that is replaced, and what replaces it"""
TYPES = frozenset({
    "bloom", "mpt", "falcon", "mpnet", "gptj", "gpt_neo", "deberta", "deberta-v2", "megatron-bert", "rembert", "tapas",
    "xglm", "trocr", "mvp", "gpt_neox_japanese", "xlm", "flaubert", "openai-gpt",
})  # fmt: skip
"""The types of models of which all attention modules are such, by `model_type`: not LongT5's decoder"""


def implementation_of(config: Any) -> str:
    """Return the name of the attention with which transformers builds a model: its own, where it takes no other."""
    return "eager" if config.model_type in TYPES else IMPLEMENTATION


def replace_own_code(model: nn.Module) -> None:
    """Let the attention modules of a model that are named here call the project's attention function."""
    for module in model.modules():
        kind = class_with_own_code(module)
        if kind:
            name, method = METHODS[kind]
            setattr(module, name, MethodType(method, module))
        if kind == "GPTJAttention":
            module.register_forward_pre_hook(_with_tables, with_kwargs=True)


def class_with_own_code(module: nn.Module) -> str:
    """Return the name of a module's class as `METHODS` has it, else ""."""
    kind = type(module)
    if not kind.__module__.startswith("transformers.models."):
        return ""
    names = kind.__name__, f"{kind.__module__.split('.')[2]}.{kind.__name__}"
    return next((name for name in names if name in METHODS), "")
