"""How a forward pass is recorded: our attention function, registered with transformers, and what it leaves behind.

Several threads may run one model at once. What a pass records goes to the recorder of its own context (a ContextVar),
never to the model, so two sessions cannot see each other's text.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any, Literal

import torch
from torch import Tensor, nn
from transformers import AttentionInterface, AttentionMaskInterface
from transformers.masking_utils import eager_mask

from attnviz.attention import AttentionSteps, attend
from attnviz.tokens import Tokens
from attnviz.trace.layer import LayerTrace, held_bytes

IMPLEMENTATION = "attnviz"
"""The name under which transformers knows our attention function."""

Kind = Literal["encoder", "decoder", "cross"]


@dataclass(slots=True, eq=False)
class Call:
    """One call of the attention function: whose it was, and its operands without the batch axis."""

    module: nn.Module
    query: Tensor
    key: Tensor
    value: Tensor
    mask: Tensor | None
    scale: float
    query_input: Tensor | None
    key_input: Tensor | None


@dataclass(frozen=True, slots=True, eq=False)
class Pass:
    """What a forward pass leaves behind."""

    calls: Sequence[Call]
    """In the order in which they ran"""
    hidden: Tensor
    """(T, C): the last hidden state, of the decoder where the model has one"""


@dataclass(slots=True)
class Recorder:
    """What one forward pass leaves behind, in the order in which it ran."""

    calls: list[Call] = field(default_factory=list)
    inputs: tuple[Tensor | None, Tensor | None] = (None, None)
    """The (Tq, C) and (Tk, C) inputs of the attention module that is running"""


_recorder: ContextVar[Recorder | None] = ContextVar("recorder", default=None)


@contextmanager
def recording() -> Iterator[Recorder]:
    """Record the forward passes that this thread runs inside the block."""
    recorder = Recorder()
    token = _recorder.set(recorder)
    try:
        yield recorder
    finally:
        _recorder.reset(token)


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
    """Run `attend` as transformers' attention: (B, H, T, D) in, (B, T, H, D) and the weights out.

    Models whose query heads share keys (grouped-query attention) get their keys and values repeated first; T5's
    relative positions, (1, H, Tq, Tk), join the mask, since both are added to the scaled scores.
    """
    groups = query.shape[1] // key.shape[1]
    if groups > 1:
        key, value = key.repeat_interleave(groups, dim=1), value.repeat_interleave(groups, dim=1)
    if position_bias is not None:
        attention_mask = position_bias if attention_mask is None else position_bias + attention_mask
    steps = attend(query, key, value, mask=attention_mask, scale=scaling)
    recorder = _recorder.get()
    if recorder is not None:
        mask = None if attention_mask is None else attention_mask[0]
        recorder.calls.append(Call(module, query[0], key[0], value[0], mask, steps.scale, *recorder.inputs))
        recorder.inputs = (None, None)
    weights = steps.weights
    if dropout:
        weights = nn.functional.dropout(weights, p=dropout, training=module.training)
        return (weights @ value).transpose(1, 2).contiguous(), weights
    return steps.head_outputs.transpose(1, 2).contiguous(), weights


AttentionInterface.register(IMPLEMENTATION, attention_function)
AttentionMaskInterface.register(IMPLEMENTATION, eager_mask)


def watch_inputs(module: nn.Module) -> None:
    """Note what this attention module is given, for whoever records. Costs one look-up a call."""
    module.register_forward_pre_hook(_note_inputs, with_kwargs=True)


def _note_inputs(_: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    recorder = _recorder.get()
    if recorder is None:
        return
    query_input = args[0] if args else kwargs.get("hidden_states")
    other = kwargs.get("key_value_states", kwargs.get("encoder_hidden_states"))
    if query_input is None:
        return
    x = query_input[0]
    recorder.inputs = (x, x if other is None else other[0])


def true_mask(mask: Tensor | None) -> Tensor | None:
    """Turn transformers' "very negative" into what it means: −inf. (..., Tq, Tk), or None where nothing is hidden."""
    if mask is None:
        return None
    if mask.dtype != torch.bool:
        mask = mask.masked_fill(mask <= torch.finfo(mask.dtype).min / 2, -torch.inf)
        return mask if bool((mask != 0).any()) else None
    return None if bool(mask.all()) else mask


@dataclass(frozen=True, slots=True, eq=False)
class Trace:
    """One text through one model. Layers and heads are counted from 0."""

    tokens: Tokens
    """The query side's tokens: the encoder's text, or the decoder's where there is no encoder"""
    decoder_tokens: Tokens | None
    """The decoder's text of an encoder-decoder model"""
    layers: dict[Kind, tuple[LayerTrace, ...]]
    """encoder: self-attention that sees both ways; decoder: causal self-attention; cross: decoder to encoder"""
    last_hidden_state: Tensor
    """(T, C): the model's own result"""

    @property
    def kinds(self) -> tuple[Kind, ...]:
        """The kinds of attention that this model has."""
        return tuple(self.layers)

    def layer(self, layer: int, kind: Kind | None = None) -> LayerTrace:
        """Return one layer; `kind` is the model's first where it is None.

        Raises:
            IndexError: a kind or a layer that the model does not have.
        """
        kind = self.kinds[0] if kind is None else kind
        if kind not in self.layers:
            raise IndexError(f"no {kind} attention: this model has {', '.join(self.kinds)}")
        if not 0 <= layer < len(self.layers[kind]):
            raise IndexError(f"layer {layer} is not there: layers go from 0 to {len(self.layers[kind]) - 1}")
        return self.layers[kind][layer]

    def attentions(self, layer: int, kind: Kind | None = None) -> Tensor:
        """Compute the weights of all heads of a layer, (H, Tq, Tk)."""
        return self.layer(layer, kind).attentions()

    def head(self, layer: int, head: int, kind: Kind | None = None) -> AttentionSteps:
        """Compute every step of one head."""
        return self.layer(layer, kind).head(head)

    def query_tokens(self, kind: Kind) -> Tokens:
        """Return the tokens on the rows of this kind's matrices."""
        return self.tokens if self.decoder_tokens is None or kind == "encoder" else self.decoder_tokens

    def key_tokens(self, kind: Kind) -> Tokens:
        """Return the tokens on the columns of this kind's matrices."""
        return self.tokens if self.decoder_tokens is None or kind != "decoder" else self.decoder_tokens

    @property
    def nbytes(self) -> int:
        """Memory that the trace holds, in bytes; the model's weights are not part of it."""
        layers = [layer for kind in self.layers.values() for layer in kind]
        return held_bytes([t for layer in layers for t in layer.tensors()] + [self.last_hidden_state])
