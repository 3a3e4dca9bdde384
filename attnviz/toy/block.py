"""The toy model: one block of multi-head self-attention with adjustable settings, and its trace.

The projections to queries, keys and values are linear, position-mixing or the identity, and W_O is optional. Every
module takes (T, C) or, with a batch axis, (B, T, C). `average_past` leads to it: the uniform average over the past,
computed in three ways, then causal attention.

Shapes: B texts, T tokens, C model width, H heads, D head width.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterator
from typing import Any

import torch
from torch import Tensor, nn

from attnviz.attention import Mask, MaskKind, apply_mask, causal_mask, window_mask
from attnviz.formatting import joined
from attnviz.mask_reasons import MaskReasons
from attnviz.reprs import ShortRepr
from attnviz.tokens import NoTokensError, Tokens
from attnviz.toy.config import BIASES, MAX_AVERAGED, MAX_HEAD_SIZE, MAX_TOKENS, NORM_EPS, ToyConfig
from attnviz.toy.weights import (
    Ids,
    draw,
    draw_position_bias,
    draw_tall,
    draw_wide,
    embed_positions,
    embed_tokens,
    rotary_positions,
    sinks_of,
    sum_of,
)
from attnviz.trace.head_norm import HeadNorm
from attnviz.trace.layer import Block, LayerTrace, LinearMap, Operand, Projection
from attnviz.trace.matrices import AVERAGES, QKV
from attnviz.trace.model import Description, Kind, TraceBudget, layers_and_heads
from attnviz.trace.recorder import recorded_attention, recording, watch_inputs
from attnviz.trace.trace import Trace
from attnviz.trace.walk import Walk


def draw_projection(name: str, config: ToyConfig, n: int) -> Projection:
    """Draw the projection from X to "query", "key" or "value", for all heads and n tokens.

    Linear weights are normal with variance 1/C, so the projection preserves the variance of X, unless the settings set
    their standard deviation. Position-mixing weights have variance 1/16 for any length, so a longer text does not
    change them; only these depend on n. Biases are normal with variance 1/C. Heads that share keys and values have
    those of the first of them.
    """
    repeats = 1 if name == "query" else config.shared_by
    seed, heads = config.seed, range(0, config.head_count, repeats)
    weight = bias = None
    if config.qkv == "linear":
        width, size = config.width, config.head_size
        maps = torch.stack([_linear(seed, name, h, width)[:, :size] for h in heads])  # (H, C, D)
        std = config.stds[name]
        weight = maps / math.sqrt(width) if std is None else maps * std
        if config.bias:
            rows = [draw(seed, f"b_{name}", h, 1, MAX_HEAD_SIZE)[:, :size] for h in heads]
            bias = torch.cat(rows) / math.sqrt(width)  # (H, D)
    elif config.qkv == "positions":
        mixes = [draw(seed, f"U_{name}", h, MAX_TOKENS, MAX_TOKENS)[:n, :n] for h in heads]
        weight = torch.stack(mixes) / 4  # (H, T, T)
    if repeats > 1:
        weight, bias = (None if each is None else each.repeat_interleave(repeats, dim=0) for each in (weight, bias))
    return Projection(config.qkv, weight, bias, repeats)


def draw_output(config: ToyConfig) -> LinearMap:
    """Draw W_O, (H·D, C), and optionally b_O, (C,). Adding a head does not change the rows of the others."""
    seed, size, width = config.seed, config.width_per_head, config.width
    rows = [_rows_of_output(seed, h, size, width) for h in range(config.head_count)]
    bias = draw_wide(seed, "b_output", 0, 1, width)[0] / math.sqrt(width) if config.bias else None
    return LinearMap(torch.cat(rows) / math.sqrt(width), bias)


def _linear(seed: int, name: str, head: int, width: int) -> Tensor:
    """Draw a head's W before scaling, (C, MAX_HEAD_SIZE), standard normal."""
    return draw_tall(lambda quantity, rows: draw(seed, quantity, head, rows, MAX_HEAD_SIZE), f"W_{name}", width)


def _rows_of_output(seed: int, head: int, size: int, width: int) -> Tensor:
    """Draw a head's rows of W_O before scaling, (D, C)."""
    return draw_tall(lambda quantity, rows: draw_wide(seed, quantity, head, rows, width), "W_output", size)


def mask_of(config: ToyConfig, n: int) -> Mask:
    """Return the mask of a toy for n tokens: causal, a window, hiding padding before the text, or several of these."""
    padding = torch.arange(n) < config.padding  # (T,)
    cells = window_mask(n, config.reach)
    seen = cells & ~padding  # (T, T)
    if not config.causal and bool(seen.all()):
        return Mask()
    kind: MaskKind = "causal" if config.causal and config.reach[0] >= n - 1 else "window"
    if bool(padding.any()):
        kind = "padding" if bool(cells.all()) else "other"
    number, _, is_before = config.mask_value.partition("_")
    return Mask(kind, seen, float(number), "scores" if is_before else "scaled")


def mask_reasons_of(config: ToyConfig, n: int) -> MaskReasons:
    """Return why that mask hides its cells."""
    window, padding = None if config.window is None else config.reach, range(min(config.padding, n))
    return MaskReasons(config.causal, window, tuple(padding)).occurring(n, n)


class SeededAttention(nn.Module):
    """Multi-head self-attention with weights drawn from a seed."""

    def __init__(self, config: ToyConfig, n: int) -> None:
        """Draw the weights for texts of n tokens."""
        super().__init__()
        self.projections = {name: draw_projection(name, config, n) for name in QKV}
        self.output = draw_output(config) if config.projection else None
        self.shape = n, config.width
        self.rotation = rotary_positions(n, config.width_per_head) if config.positions == "rotary" else None
        self.position_bias = draw_position_bias(
            config.positions, config.head_count, n, config.seed, causal=config.causal
        )
        norm = HeadNorm("rms", torch.ones(config.head_count, config.width_per_head), None, NORM_EPS)
        self.norms: dict[Operand, HeadNorm] = {"query": norm, "key": norm} if config.qk_norm else {}
        self.scale = config.scale_factor
        self.mask = mask_of(config, n)
        self.cap = config.cap
        self.window = None if config.window is None else config.reach[0] + 1
        self.sinks = sinks_of(config.sink, config.head_count)
        watch_inputs(self)

    def forward(self, x: Tensor) -> Tensor:
        """Apply self-attention to (..., T, C): returns the same shape, or (..., T, H·D) without W_O.

        Raises:
            ValueError: `x` has the wrong number of axes, or its length or width does not fit the weights; the message
                names both shapes.
        """
        if x.ndim not in (2, 3) or tuple(x.shape[-2:]) != self.shape:
            n, width = self.shape
            raise ValueError(f"x {tuple(x.shape)} is neither ({n}, {width}) nor (B, {n}, {width})")
        query, key, value = (self.projections[name].apply(x) for name in QKV)
        if self.norms:
            query, key = self.norms["query"].apply(query), self.norms["key"].apply(key)
        if self.rotation is not None:
            query, key = self.rotation.apply(query), self.rotation.apply(key)
        of_scores: dict[str, Any] = {"mask": self.mask, "scale": self.scale, "cap": self.cap, "sinks": self.sinks}
        of_scores["position_bias"] = None if self.position_bias is None else self.position_bias.cells
        concat = recorded_attention(self, query, key, value, **of_scores, window=self.window).concat
        return concat if self.output is None else self.output.apply(concat)

    def weights(self) -> tuple[Tensor, ...]:
        """Return its weights."""
        maps: list[Projection | LinearMap | None] = [*self.projections.values(), self.output]
        weights = (weight for map_ in maps if map_ is not None for weight in (map_.weight, map_.bias))
        return tuple(weight for weight in weights if weight is not None)


ATTENTION_ALONE = "The toy is attention alone: it has no residual, no norm and no feed-forward."
NO_HEAD = "The toy has no language head."
TRACE_BUDGET = TraceBudget("toy", 16 * 2**20)
"""Shared by all toys: enough for some 600 traces of sixty tokens at the default width; recomputing one takes
milliseconds"""


class ToyBlock(nn.Module):
    """Embeddings, then attention, with weights drawn from a seed. A setting changes only weights that depend on it."""

    def __init__(self, config: ToyConfig, n: int) -> None:
        """Draw the weights for texts of n tokens.

        Raises:
            ValueError: n is greater than MAX_TOKENS.
        """
        if n > MAX_TOKENS:
            raise ValueError(f"{n} tokens: the toy takes at most {MAX_TOKENS}")
        super().__init__()
        self.config, self.attention = config, SeededAttention(config, n)

    def forward(self, ids: Ids) -> tuple[dict[str, Tensor], Tensor]:
        """Return the summands of the embeddings, (T, C) each, and the attention's output, (T, C).

        For a batch of texts with T ids each, the token embeddings and the output are (B, T, C).
        """
        config = self.config
        parts = {"token": embed_tokens(ids, config.seed, config.width, config.embedding)}
        positions = embed_positions(parts["token"].shape[-2], config.positions, config.seed, config.width)
        parts |= {} if positions is None else {"position": positions}
        return parts, self.attention(sum_of(parts))


class Toy(ShortRepr):
    """The toy as a `Model`."""

    trace_budget = TRACE_BUDGET

    def __init__(self, config: ToyConfig, tokenize: Callable[[str], Tokens]) -> None:
        """Create a toy with these settings and this tokenizer."""
        self.config, self._tokenize = config, tokenize
        self.name = _name(config)

    def _summary(self) -> Iterator[str]:
        yield from (self.name, layers_and_heads(self.description.layers))

    @property
    def description(self) -> Description:
        """The toy's architecture. Embeddings are drawn on demand for any id, so they are not counted as parameters."""
        heads, width, model_width = self.config.head_count, self.config.width_per_head, self.config.width
        biases = int(self.config.bias)
        parameters = {}
        if self.config.qkv == "linear":
            maps = heads + 2 * heads // self.config.shared_by  # to queries, keys and values
            parameters["projections"] = maps * (model_width + biases) * width
        if self.config.projection:
            parameters["output"] = (heads * width + biases) * model_width
        config = self.config
        more_steps = {
            "normed": config.qk_norm,
            "rotated": config.positions == "rotary",
            "capped": config.cap is not None,
            "biased": config.positions in BIASES,
        }
        return Description(
            name=self.name,
            layers={self.config.kind: (1, heads)},
            width=model_width,
            head_size=width,
            parameters=parameters,
            unavailable={"attention_residual": ATTENTION_ALONE, "logits": NO_HEAD},
            steps_in={name: {self.config.kind: (0,)} for name, has_step in more_steps.items() if has_step},
            has_sinks=self.config.sink is not None,
            windows={} if self.config.window is None else {self.config.kind: (self.config.reach[0] + 1,)},
        )

    def read(self, text: str, pair: str | None = None) -> tuple[Tokens, None]:
        """Return the tokens of a text; `pair` is ignored."""
        del pair
        return self._tokenize(text), None

    def trace_key(self, text: str, pair: str | None = None) -> Hashable:
        """Return the tokens and the settings, which determine the trace."""
        return self.read(text, pair)[0], self.config

    def trace(self, text: str, pair: str | None = None) -> Trace:
        """Run the toy on a text.

        Raises:
            NoTokensError: the text has no tokens.
            ValueError: there are more than MAX_TOKENS tokens.
        """
        tokens, _ = self.read(text, pair)
        return trace_toy(tokens, self.config)


def trace_toy(tokens: Tokens, config: ToyConfig) -> Trace:
    """Run the toy block on tokens.

    Raises:
        NoTokensError: `tokens` is empty.
        ValueError: there are more than MAX_TOKENS tokens.
    """
    if not len(tokens):
        raise NoTokensError
    block = ToyBlock(config, len(tokens))
    with torch.no_grad(), recording() as recorder:
        parts, output = block(tokens.ids)
    (call,) = recorder.calls
    attention = block.attention
    bias = attention.position_bias
    layer = call.traced(
        attention.mask,
        buckets=None if bias is None else bias.buckets,
        slopes=None if bias is None else bias.stated,
        projections=attention.projections,
        output_projection=attention.output,
        rotation=attention.rotation,
        norms=attention.norms,
        stated_reasons=mask_reasons_of(config, len(tokens)),
    )
    blocks: dict[Kind, tuple[Block, ...]] = {config.kind: (Block(layer, unavailable_reason=ATTENTION_ALONE),)}
    weights = attention.weights()
    return Trace(tokens, None, blocks, output, embedding_parts=parts, weights=weights, model=_name(config))


def _name(config: ToyConfig) -> str:
    return f"toy, seed {config.seed}"


def average_past(x: Tensor) -> dict[str, Tensor]:
    """Average each row of x, (..., T, C), with all previous rows, in three ways.

    Returns:
        By the names in `attnviz.trace.matrices.AVERAGES`: `by_loop`, (..., T, C), whose row i is the mean of rows 0 to
        i of x, summed in a loop; `by_matrix`, triangle @ x, with `triangle`, (T, T), lower-triangular ones, each row
        divided by its sum; `by_softmax`, softmax_weights @ x, with `softmax_weights`, (T, T), the softmax over the keys
        of `masked_zeros`, (T, T), which are −inf above the diagonal.
    """
    n = x.shape[-2]
    by_loop = torch.zeros_like(x)
    for i in range(n):
        for j in range(i + 1):
            by_loop[..., i, :] += x[..., j, :]
        by_loop[..., i, :] /= i + 1
    ones = causal_mask(n).to(x.dtype)
    triangle = ones / ones.sum(dim=1, keepdim=True)
    masked_zeros = apply_mask(torch.zeros(n, n, dtype=x.dtype), causal_mask(n))
    softmax_weights = torch.softmax(masked_zeros, dim=-1)
    matrices = by_loop, triangle, triangle @ x, masked_zeros, softmax_weights, softmax_weights @ x
    return dict(zip(AVERAGES, matrices, strict=True))


def walk_to_attention(tokens: Tokens, config: ToyConfig) -> Walk:
    """Return the walk from averages to attention: averages of the embeddings over the past, then causal attention.

    Queries and keys are those of the toy's first head, (T, D). The values are the embeddings X themselves, (T, C), so
    `walk.steps.head_outputs` is (T, C) and corresponds to the means in `walk.averages`.

    Raises:
        attnviz.tokens.NoTokensError: `tokens` is empty.
        ValueError: there are more than MAX_AVERAGED tokens, for which the loop would be slow; or the toy has what the
            walk does not show, such as a position bias.
    """
    not_shown = {
        "position bias": config.positions in BIASES, "soft cap": config.cap is not None,
        "sink": config.sink is not None, "window": config.window is not None, "padding": config.padding > 0,
    }  # fmt: skip
    if any(not_shown.values()):
        names = (name for name, is_on in not_shown.items() if is_on)
        raise ValueError(f"from averages to attention, no {joined(names, 'or')} is shown: its scores would lack it")
    if len(tokens) > MAX_AVERAGED:
        raise ValueError(f"{len(tokens)} tokens: the loop takes at most {MAX_AVERAGED}")
    toy = trace_toy(tokens, config)
    layer, x = toy.layer(0), toy.embeddings
    if x is None:
        raise TypeError("a toy has embeddings")
    mask = Mask.causal(len(tokens))
    attention = LayerTrace(layer.query[:1], layer.key[:1], x[None], layer.scale, mask, query_input=x, key_input=x)
    return Walk(
        tokens,
        tokens,
        attention,
        0,
        name=f"{toy.model} · from averages to attention",
        model=toy.model,
        kind="decoder",
        averages=average_past(x),
    )
