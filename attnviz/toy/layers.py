"""The layers of a transformer (Vaswani et al. 2017): multi-head attention, feed-forward, encoder and decoder layer.

Every layer takes (T, C) or, with a batch axis, (B, T, C), and returns the same shape. With copied weights
(`from_torch`) it computes the same as torch's layer.

Shapes: B texts, T tokens (Tq queries, Tk keys), C model width, H heads, G heads of keys and values, D = C / H head
width, F feed-forward width.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from attnviz.attention import and_causal, and_window
from attnviz.toy.config import NORM_EPS, check_shared
from attnviz.toy.weights import rotary_positions, sinks_of
from attnviz.trace.head_norm import HeadNorm
from attnviz.trace.layer import ACTIVATIONS, BlockSteps, BlockWeights, LinearMap, Norm, Operand, Projection
from attnviz.trace.model import Activation
from attnviz.trace.position_bias import PositionBias
from attnviz.trace.recorder import Inputs, recorded_attention, watch_inputs, watch_norm
from attnviz.trace.rotation import Rotation

WIDTH, HEADS, EPS = 32, 4, 1e-5


class Past:
    """A key-value cache: the keys and values of the tokens that an attention has already read; empty at first."""

    def __init__(self) -> None:
        self.key: Tensor | None = None
        """(..., G, T, D)"""
        self.value: Tensor | None = None

    def __len__(self) -> int:
        return 0 if self.key is None else self.key.shape[-2]

    def extend(self, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor]:
        """Append the keys and values of the next tokens, (..., G, T, D) each, and return all of them."""
        if self.key is not None and self.value is not None:
            key, value = torch.cat([self.key, key], dim=-2), torch.cat([self.value, value], dim=-2)
        self.key, self.value = key, value
        return key, value


class MultiHeadAttention(nn.Module):
    """H heads of attention in parallel, and W_O (section 3.2.2)."""

    def __init__(
        self,
        width: int = WIDTH,
        heads: int = HEADS,
        *,
        kv_heads: int | None = None,
        qk_norm: bool = False,
        bias: bool = True,
        rotary: bool = False,
    ) -> None:
        """Draw the weights as `nn.Linear` does.

        Args:
            width: C.
            heads: H.
            kv_heads: G, which divides H: as many heads of queries after one another share each head of keys and values,
                as in grouped-query attention (Ainslie et al. 2023); None: each has its own.
            qk_norm: whether an RMSNorm of each head, (D,), follows the projections to queries and keys, as in Qwen3.
            bias: whether the linear maps add a bias.
            rotary: whether queries and keys are turned by their positions. They are of one text then.

        Raises:
            ValueError: the width can't be divided by the number of heads, or that by the number of heads of keys.
        """
        if heads < 1 or width < 1 or width % heads:
            raise ValueError(f"a width of {width} can't be divided into {heads} heads")
        check_shared(heads, kv_heads)
        super().__init__()
        self.heads, self.head_size = heads, width // heads
        self.shared_by = 1 if kv_heads is None else heads // kv_heads
        """How many heads of queries share each head of keys and values"""
        self.rotary = rotary
        """Whether queries and keys are turned"""
        self.position_bias: Callable[[int], PositionBias] | None = None
        """Returns what is added to the scores of n positions of a text; None if nothing is"""
        self.cap: float | None = None
        """The soft cap of the scaled scores; None for none"""
        self.sink: float | None = None
        """The score of the sink of every head; None for none"""
        self.reach: tuple[int, int] | None = None
        """How many keys before and after itself a query sees, of one text; None if there is no window"""
        of_keys = width // self.shared_by
        widths = width, of_keys, of_keys, width
        self.query, self.key, self.value, self.output = (nn.Linear(width, each, bias=bias) for each in widths)
        norms = (nn.RMSNorm(self.head_size, eps=NORM_EPS) if qk_norm else None for _ in range(2))
        self.query_norm, self.key_norm = norms
        watch_inputs(self, _inputs)

    @classmethod
    def from_torch(cls, module: nn.MultiheadAttention) -> MultiHeadAttention:
        """Return the same attention with copies of the weights.

        Raises:
            ValueError: keys or values have a different width, or the module adds extra keys.
        """
        attention = cls(module.embed_dim, module.num_heads, bias=module.in_proj_bias is not None)
        copy_attention(module, attention)
        return attention.train(module.training)

    def forward(
        self, x: Tensor, context: Tensor | None = None, *, mask: Tensor | None = None, past: Past | None = None
    ) -> Tensor:
        """Let the tokens of x attend to those of the context, or to each other: returns (..., Tq, C).

        Args:
            x: (..., Tq, C), the source of the queries.
            context: (..., Tk, C), the source of the keys and values; x if None.
            mask: as in `attnviz.attention.attend`; broadcasts to (..., H, Tq, Tk).
            past: keys and values of earlier tokens, to which those of the context are appended.

        Raises:
            ValueError: a shape does not fit; the message names both.
        """
        context = x if context is None else context
        width = self.query.in_features
        for name, vectors in (("x", x), ("context", context)):
            if vectors.ndim not in (2, 3) or vectors.shape[-1] != width:
                raise ValueError(f"{name} {tuple(vectors.shape)} is neither (T, {width}) nor (B, T, {width})")
        if x.shape[:-2] != context.shape[:-2]:
            raise ValueError(f"x {tuple(x.shape)} and context {tuple(context.shape)} are not of the same texts")
        query, key, value = self._split(self.query(x)), self._split(self.key(context)), self._split(self.value(context))
        if self.query_norm is not None and self.key_norm is not None:
            query, key = self.query_norm(query), self.key_norm(key)
        rotation = self.rotation(x.shape[-2], before=0 if past is None else len(past))
        if rotation is not None:
            query, key = rotation.apply(query), rotation.apply(key)
        if past is not None:
            key, value = past.extend(key, value)
        if self.shared_by > 1:
            key, value = (of.repeat_interleave(self.shared_by, dim=-3) for of in (key, value))  # (G, ...) -> (H, ...)
        rows, keys = query.shape[-2], key.shape[-2]
        bias, window = None, None
        if self.position_bias is not None:
            bias = self.position_bias(keys).cells[:, -rows:]  # of the last rows, after a past
        if self.reach is not None:
            mask, window = and_window(mask, rows, self.reach, before=keys - rows), self.reach[0] + 1
        of_scores: dict[str, Any] = {"mask": mask, "cap": self.cap, "sinks": sinks_of(self.sink, self.heads)}
        steps = recorded_attention(self, query, key, value, **of_scores, position_bias=bias, window=window)
        output: Tensor = self.output(steps.concat)
        return output

    def _split(self, projected: Tensor) -> Tensor:
        by_head: Tensor = projected.unflatten(-1, (-1, self.head_size))  # (T, H·D) -> (T, H, D), of keys and values G
        return by_head.transpose(-3, -2)  # (T, H, D) -> (H, T, D)

    def norms(self) -> dict[Operand, HeadNorm]:
        """Return the norms of queries and keys, for each head; empty without norms."""
        named: dict[Operand, nn.RMSNorm | None] = {"query": self.query_norm, "key": self.key_norm}
        shape = self.heads, self.head_size
        return {
            name: HeadNorm("rms", norm.weight.detach().expand(shape), None, NORM_EPS)
            for name, norm in named.items()
            if norm is not None
        }

    def rotation(self, n: int, *, before: int = 0) -> Rotation | None:
        """Return what turns queries and keys of n tokens after `before` others; None without rotary positions, or
        if heads have a width of 1."""
        if not self.rotary:
            return None
        whole = rotary_positions(before + n, self.head_size)
        return None if whole is None else replace(whole, cos=whole.cos[before:], sin=whole.sin[before:])

    def projections(self) -> dict[str, Projection]:
        """Return the projections of query, key and value, split by head."""
        maps = {"query": self.query, "key": self.key, "value": self.value}
        return {name: Projection.of_heads(linear_map(map_), self.heads, self.head_size) for name, map_ in maps.items()}

    def output_projection(self) -> LinearMap:
        """Return W_O and its bias."""
        return linear_map(self.output)


class FeedForward(nn.Module):
    """Two linear maps with an activation in between, applied to each token separately (section 3.3)."""

    def __init__(
        self, width: int = WIDTH, hidden: int | None = None, *, activation: Activation = "relu", bias: bool = True
    ) -> None:
        """Draw the weights as `nn.Linear` does.

        Args:
            width: C.
            hidden: F; 4 · C if None.
            activation: see `Activation`.
            bias: whether the maps add a bias.

        Raises:
            ValueError: there is no such activation.
        """
        if activation not in ACTIVATIONS:
            raise ValueError(f"there is no activation {activation!r}: {', '.join(ACTIVATIONS)}")
        super().__init__()
        self.activation = activation
        hidden = 4 * width if hidden is None else hidden
        self.first, self.second = nn.Linear(width, hidden, bias=bias), nn.Linear(hidden, width, bias=bias)

    def forward(self, x: Tensor) -> Tensor:
        """Apply both maps to (..., T, C)."""
        output: Tensor = self.second(self.hidden(x))
        return output

    def hidden(self, x: Tensor) -> Tensor:
        """Return activation(x @ W_1 + b_1), (..., T, F)."""
        return ACTIVATIONS[self.activation](self.first(x))


class _Layer(nn.Module):
    """The parts of both encoder and decoder layers: causal or full self-attention, and a final feed-forward."""

    def __init__(  # noqa: PLR0913 — each setting by its name, so that a wrong one is refused
        self,
        width: int = WIDTH,
        heads: int = HEADS,
        feed_forward: int | None = None,
        *,
        activation: Activation = "relu",
        norm_first: bool = False,
        dropout: float = 0.0,
        bias: bool = True,
        eps: float = EPS,
        kv_heads: int | None = None,
        qk_norm: bool = False,
    ) -> None:
        """Draw the weights as `nn.Linear` does.

        Args:
            width: C.
            heads: H.
            feed_forward: F; 4 · C if None.
            activation: see `Activation`.
            norm_first: whether the layer is pre-norm.
            dropout: the share of each sublayer's output that is set to 0 in training (section 5.4); torch's layers
                also drop attention weights and hidden activations.
            bias: whether linear maps and norms add a bias.
            eps: added to the variance in the norms.
            kv_heads: as in `MultiHeadAttention`.
            qk_norm: as in `MultiHeadAttention`.

        Raises:
            ValueError: as in `MultiHeadAttention`, or there is no such activation.
        """
        super().__init__()
        self.norm_first = norm_first
        self.attention = MultiHeadAttention(width, heads, kv_heads=kv_heads, qk_norm=qk_norm, bias=bias)
        self.attention_norm = nn.LayerNorm(width, eps=eps, bias=bias)
        self.feed_forward = FeedForward(width, feed_forward, activation=activation, bias=bias)
        self.feed_forward_norm = nn.LayerNorm(width, eps=eps, bias=bias)
        self.dropout = nn.Dropout(dropout)
        if norm_first:
            watch_norm(self.attention_norm)

    def weights(self) -> BlockWeights:
        """Return the weights of the norms and the feed-forward."""
        return block_weights(self, self.feed_forward)

    def finish(self, stream: Tensor, **before: Any) -> BlockSteps:
        """Apply the feed-forward.

        Args:
            stream: (..., T, C), to which its output is added: the last residual sum (pre-norm) or its norm (post-norm).
            before: the earlier steps, by their names in `BlockSteps`.
        """
        feed_forward_norm = self.feed_forward_norm(stream) if self.norm_first else None
        hidden = self.feed_forward.hidden(stream if feed_forward_norm is None else feed_forward_norm)
        output = self.feed_forward.second(hidden)
        residual = stream + self.dropout(output)
        return BlockSteps(
            **before,
            feed_forward_norm=feed_forward_norm,
            feed_forward_hidden=hidden,
            feed_forward_output=output,
            feed_forward_residual=residual,
            block_output=residual if self.norm_first else self.feed_forward_norm(residual),
        )


class EncoderLayer(_Layer):
    """Attention, then feed-forward, each with a residual sum and a LayerNorm.

    With post-norm, the norm follows the sum, as in the paper and in BERT; with pre-norm, it precedes attention and
    feed-forward, as in GPT-2. With a causal mask this is the layer of a decoder-only model.
    """

    @classmethod
    def from_torch(cls, module: nn.TransformerEncoderLayer) -> EncoderLayer:
        """Return the same layer with copies of the weights.

        Raises:
            ValueError: the module has an activation that is not in `Activation`.
        """
        layer = cls(**settings_of_layer(module))
        _copy_layer(module, layer, ("attention_norm", "feed_forward_norm"))
        return layer

    def forward(self, x: Tensor, *, mask: Tensor | None = None, past: Past | None = None) -> Tensor:
        """Apply the layer to (..., T, C); `mask` and `past` are as in `MultiHeadAttention`."""
        normed = self.attention_norm(x) if self.norm_first else None
        output = self.attention(x if normed is None else normed, mask=mask, past=past)
        return self.after(x, output, normed).block_output

    def after(self, x: Tensor, output: Tensor, normed: Tensor | None = None) -> BlockSteps:
        """Compute the steps after attention from the input of the layer and the output of its attention, (..., T, C).

        `normed` is the normed input (pre-norm), if it is already computed.
        """
        residual = x + self.dropout(output)
        if normed is None:
            normed = self.attention_norm(x if self.norm_first else residual)
        stream = residual if self.norm_first else normed
        return self.finish(stream, attention_residual=residual, attention_norm=normed)


class DecoderLayer(_Layer):
    """Causal self-attention, cross-attention, then feed-forward; each with a residual sum and a norm.

    In cross-attention, the queries come from the decoder, keys and values from the encoder's output. The causal mask of
    the self-attention is always on.
    """

    def __init__(
        self,
        width: int = WIDTH,
        heads: int = HEADS,
        feed_forward: int | None = None,
        *,
        bias: bool = True,
        eps: float = EPS,
        kv_heads: int | None = None,
        qk_norm: bool = False,
        **settings: Any,
    ) -> None:
        """Draw the weights as `nn.Linear` does; arguments and errors are those of `EncoderLayer`."""
        of_attention: dict[str, Any] = {"bias": bias, "kv_heads": kv_heads, "qk_norm": qk_norm}
        super().__init__(width, heads, feed_forward, eps=eps, **of_attention, **settings)
        self.cross_attention = MultiHeadAttention(width, heads, **of_attention)
        self.cross_attention_norm = nn.LayerNorm(width, eps=eps, bias=bias)
        if self.norm_first:
            watch_norm(self.cross_attention_norm)

    @classmethod
    def from_torch(cls, module: nn.TransformerDecoderLayer) -> DecoderLayer:
        """Return the same layer with copies of the weights. torch's layer is causal only when called with the mask.

        Raises:
            ValueError: the module has an activation that is not in `Activation`.
        """
        layer = cls(**settings_of_layer(module))
        copy_attention(module.multihead_attn, layer.cross_attention)
        _copy_layer(module, layer, ("attention_norm", "cross_attention_norm", "feed_forward_norm"))
        return layer

    def forward(
        self, y: Tensor, encoded: Tensor, *, mask: Tensor | None = None, encoded_mask: Tensor | None = None
    ) -> Tensor:
        """Apply the layer.

        Args:
            y: (..., Tq, C), the decoder's tokens.
            encoded: (..., Tk, C), the encoder's output.
            mask: hides tokens of the decoder, such as padding, in addition to the causal mask.
            encoded_mask: hides tokens of the encoder, such as padding.

        Raises:
            ValueError: a shape does not fit; the message names both.
        """
        return self.steps(y, encoded, mask=mask, encoded_mask=encoded_mask).block_output

    def steps(
        self, y: Tensor, encoded: Tensor, *, mask: Tensor | None = None, encoded_mask: Tensor | None = None
    ) -> BlockSteps:
        """Apply the layer as `forward` does, and return every step after its first attention."""
        output = self.attention(self.attention_norm(y) if self.norm_first else y, mask=and_causal(mask, y.shape[-2]))
        return self.after(y, output, encoded, encoded_mask=encoded_mask)

    def after(self, y: Tensor, output: Tensor, encoded: Tensor, *, encoded_mask: Tensor | None = None) -> BlockSteps:
        """Compute the steps after the first attention from the layer's input and that attention's output."""
        attention_residual = y + self.dropout(output)
        if self.norm_first:
            normed = self.attention_norm(y)
            cross_norm = self.cross_attention_norm(attention_residual)
            output = self.cross_attention(cross_norm, encoded, mask=encoded_mask)
            cross_residual = attention_residual + self.dropout(output)
        else:
            normed = self.attention_norm(attention_residual)
            output = self.cross_attention(normed, encoded, mask=encoded_mask)
            cross_residual = normed + self.dropout(output)
            cross_norm = self.cross_attention_norm(cross_residual)
        return self.finish(
            cross_residual if self.norm_first else cross_norm,
            attention_residual=attention_residual,
            attention_norm=normed,
            cross_attention_residual=cross_residual,
            cross_attention_norm=cross_norm,
        )


def _inputs(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Inputs:
    """Return the query input and the key input from the arguments of `MultiHeadAttention.forward`."""
    x = args[0] if args else kwargs["x"]
    context = args[1] if len(args) > 1 else kwargs.get("context")
    return x, x if context is None else context


def linear_map(module: nn.Linear) -> LinearMap:
    """Return a module's linear map, without gradients."""
    bias: Tensor | None = module.bias
    return LinearMap(module.weight.detach().T, None if bias is None else bias.detach())


def block_weights(layer: nn.Module, feed_forward: nn.Module | None) -> BlockWeights:
    """Return the weights of a layer's norms, and of its feed-forward if it has one."""
    norms = {name: Norm.of(child) for name, child in layer.named_children() if isinstance(child, nn.LayerNorm)}
    if not isinstance(feed_forward, FeedForward):
        return BlockWeights(norms, None, None)
    return BlockWeights(norms, linear_map(feed_forward.first), linear_map(feed_forward.second), feed_forward.activation)


TorchLayer = nn.TransformerEncoderLayer | nn.TransformerDecoderLayer


def settings_of_layer(layer: TorchLayer) -> dict[str, Any]:
    """Return the arguments of the layer in this module that corresponds to torch's.

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


def _copy_layer(theirs: TorchLayer, ours: EncoderLayer | DecoderLayer, norms: tuple[str, ...]) -> None:
    """Copy the mode and the weights of a layer, except those of cross-attention; `norms` are ours, in torch's order."""
    copy_attention(theirs.self_attn, ours.attention)
    names = {f"norm{number}": name for number, name in enumerate(norms, 1)}
    for their_name, name in {**names, "linear1": "feed_forward.first", "linear2": "feed_forward.second"}.items():
        ours.get_submodule(name).load_state_dict(theirs.get_submodule(their_name).state_dict())
    ours.train(theirs.training)


def copy_attention(theirs: nn.MultiheadAttention, ours: MultiHeadAttention) -> None:
    """Copy the weights of an attention.

    Raises:
        ValueError: keys or values have a different width, or the module adds extra keys.
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
    ours.output.load_state_dict(theirs.out_proj.state_dict())


def _name(activation: Any) -> str:
    if activation is functional.relu or isinstance(activation, nn.ReLU):
        return "relu"
    if activation is functional.gelu or (isinstance(activation, nn.GELU) and activation.approximate == "none"):
        return "gelu"
    raise ValueError(f"the activation {activation} is neither ReLU nor GELU")
