"""Records forward passes: every attention module calls `recorded_attention`, which stores its operands or weights.

Several threads may run one model at once. A forward pass is recorded in its own context (a ContextVar), never on the
model, so sessions cannot see each other's text.

A forward pass can also run without some heads: their outputs are replaced, in the context of one thread. The recordings
keep the operands of an attention, from which a replaced head's original output can still be computed.

    with replaced({model.bert.encoder.layers[3].attention: Replacement.by_zero([1], heads=12)}):
        hidden = model.bert(ids, segments)
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, NamedTuple, TypeVar

import torch
from torch import Tensor, nn

from attnviz.attention import AttentionSteps, Mask, attend
from attnviz.reprs import ShortRepr
from attnviz.trace.buckets import Buckets
from attnviz.trace.layer import LayerTrace
from attnviz.trace.position_bias import PositionBias, PositionTerms, ScaledBias

Inputs = tuple[Tensor | None, Tensor | None]
"""The inputs of an attention module's queries and of its keys and values; None if not known"""

Tables = tuple[Tensor, Tensor]
"""The cosines and the sines of rotary positions, (T, ...) each"""

InputsOf = Callable[[tuple[Any, ...], dict[str, Any]], Inputs]
"""Finds the inputs among the positional and the keyword arguments of the module's `forward`"""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Call(ShortRepr):
    """The operands of one attention call, without the batch axis."""

    query: Tensor
    """(H, Tq, D)"""
    key: Tensor
    """(H, Tk, D)"""
    value: Tensor
    """(H, Tk, D)"""
    mask: Tensor | None
    """The mask as passed; broadcasts to (H, Tq, Tk)"""
    scale: float
    query_input: Tensor | None
    """(Tq, C): the input of the attention module"""
    key_input: Tensor | None
    """(Tk, C): the same tensor, or the encoder's output in cross-attention"""
    block_input: Tensor | None = None
    """(Tq, C): the block's input X if there is a norm between it and the attention (pre-norm), else None"""
    tables: Tables | None = None
    """The cosines and sines of rotary positions that the attention module received, if `watch_tables` watches it"""
    cap: float | None = None
    """The soft cap of the scaled scores, if there is one"""
    sinks: Tensor | None = None
    """(H, 1, 1) or (H, Tq, 1): the scores of the heads' sinks, if there are some"""
    position_bias: Tensor | PositionTerms | ScaledBias | None = None
    """What is added to the scores by distance, if something is; broadcasts to (H, Tq, Tk), or the terms of it, or
    with the scale that multiplies it too"""
    window: int | None = None
    """How many keys a window has on each side that it reaches to, the query's own among them, if the model says so"""

    def traced(
        self, mask: Mask, *, buckets: Buckets | None = None, slopes: Tensor | None = None, **of_model: Any
    ) -> LayerTrace:
        """Return the attention of this call.

        `buckets` and `slopes` are what its model says of its position bias, `of_model` those fields of `LayerTrace`
        that its model determines.
        """
        inputs = self.query_input, self.key_input
        operands = self.query, self.key, self.value, self.scale, mask
        added, bias = self.position_bias, None
        if isinstance(added, PositionTerms):
            bias = PositionBias(None, terms=added)
        elif isinstance(added, ScaledBias):
            bias = PositionBias(added.cells(), scale=added.scale)
        elif added is not None:
            bias = PositionBias(added, buckets, slopes)
        return LayerTrace(
            *operands, *inputs, cap=self.cap, sinks=self.sinks, position_bias=bias, window=self.window, **of_model
        )


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Pass(ShortRepr):
    """The record of a complete forward pass."""

    calls: tuple[Call, ...]
    """In execution order, which is the same for every text"""
    hidden: Tensor
    """(T, C): the last hidden state, the decoder's if the model has one"""


@dataclass(slots=True)
class Recorder:
    """The record of a running forward pass."""

    calls: list[Call] = field(default_factory=list)
    modules: list[nn.Module] = field(default_factory=list)
    """The attention module of each call"""
    inputs: Inputs = (None, None)
    """The (Tq, C) and (Tk, C) inputs of the running attention module"""
    block_input: Tensor | None = None
    """The (Tq, C) input of the norm before that module, if `watch_norm` watches one"""
    tables: Tables | None = None
    """The tables of rotary positions of that module, if `watch_tables` watches it"""

    def take(
        self,
        module: nn.Module,
        steps: AttentionSteps,
        window: int | None = None,
        given: PositionTerms | ScaledBias | None = None,
    ) -> None:
        """Store the operands of an attention call; of a batch, (B, H, T, D), only the first text's.

        A position bias that is `given` by its terms, or with its scale, is stored so.
        """
        query, key, value, cells, sinks = steps.query, steps.key, steps.value, steps.mask, steps.sinks
        bias = steps.position_bias
        if query.ndim > 3:
            query, key, value = query[0], key[0], value[0]
            cells = cells[0] if cells is not None and cells.ndim > 3 else cells
            sinks = sinks[0] if sinks is not None and sinks.ndim > 3 else sinks
            bias = bias[0] if bias is not None and bias.ndim > 3 else bias
        added = bias if given is None else given.of_first_text()
        self.modules.append(module)
        inputs = *self.inputs, self.block_input, self.tables
        self.calls.append(Call(query, key, value, cells, steps.scale, *inputs, steps.cap, sinks, added, window))
        self.inputs, self.block_input, self.tables = (None, None), None, None


class _AllRecorded(Exception):  # noqa: N818 — no error: it ends a pass
    """The last requested attention has run."""


class BatchWeights(NamedTuple):
    """The weights of one attention on B texts."""

    weights: Tensor
    """(B, H, Tq, Tk)"""
    mask: Tensor | None
    """The mask as passed; broadcasts to the weights"""


class _Weights:
    """Stores the weights of a pass, and ends the pass after `calls` attention calls."""

    def __init__(self, calls: int) -> None:
        self.calls, self.weights = calls, list[BatchWeights]()

    def take(self, _: nn.Module, steps: AttentionSteps, *__: object) -> None:
        self.weights.append(BatchWeights(steps.weights, steps.mask))
        if len(self.weights) == self.calls:
            raise _AllRecorded


_recorder: ContextVar[Recorder | _Weights | None] = ContextVar("recorder", default=None)


def recording() -> AbstractContextManager[Recorder]:
    """Record the forward passes that this thread runs inside the `with` block."""
    return _recorded_by(Recorder())


def batch_weights(run: Callable[[], object], calls: int) -> list[BatchWeights]:
    """Return the weights and masks of the first attention calls of a forward pass, with the batch axis.

    The pass ends after the last of these calls: the model computes nothing more.

    Args:
        run: runs the pass.
        calls: the number of calls.

    Raises:
        ValueError: the pass has fewer calls.
    """
    if not calls:
        return []  # a model without attention
    with _recorded_by(_Weights(calls)) as recorder:
        try:
            run()
        except _AllRecorded:
            return recorder.weights
    raise ValueError(f"the forward pass has {len(recorder.weights)} attention calls, not {calls}")


R = TypeVar("R", Recorder, _Weights)


@contextmanager
def _recorded_by(recorder: R) -> Iterator[R]:
    token = _recorder.set(recorder)
    try:
        yield recorder
    finally:
        _recorder.reset(token)


def recorded_attention(
    module: nn.Module, query: Tensor, key: Tensor, value: Tensor, *, window: int | None = None, **of_scores: Any
) -> AttentionSteps:
    """Run `attend` for an attention module, and record the call if a recording is active; `of_scores` are its others.

    The returned steps have the replacements of `attnviz.trace.recorder.replaced`; the recorded call does not.

    Args:
        module: the attention module.
        query: as `attend` takes it, like `key` and `value`.
        window: `Call.window`.
        of_scores: the options of `attend`, such as `mask` and `scale`. The position bias may be `PositionTerms`
            or `ScaledBias`.
    """
    added = of_scores.get("position_bias")
    given = added if isinstance(added, PositionTerms | ScaledBias) else None
    if given is not None:
        of_scores["position_bias"] = given.cells()
    steps = attend(query, key, value, **of_scores)
    recorder = _recorder.get()
    if recorder is not None:
        recorder.take(module, steps, window, given)
    return with_replaced(module, steps)


def first_argument(args: tuple[Any, ...], _: dict[str, Any]) -> Inputs:
    """Return the inputs of a self-attention module whose `forward` takes X as its first argument."""
    return args[0], args[0]


def watch_inputs(module: nn.Module, inputs_of: InputsOf = first_argument) -> None:
    """Record this attention module's inputs, (T, C) or (B, T, C), whenever a recording is active."""
    module.register_forward_pre_hook(partial(_record_inputs, inputs_of), with_kwargs=True)


def watch_norm(norm: nn.Module) -> None:
    """Record the input of the norm before an attention module: the block's input X."""
    norm.register_forward_pre_hook(_record_block_input)


def watch_tables(module: nn.Module) -> None:
    """Record the cosines and sines that an attention module receives as `position_embeddings`, as transformers names
    them."""
    module.register_forward_pre_hook(_record_tables, with_kwargs=True)


def _record_tables(_: nn.Module, __: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    recorder, tables = _recorder.get(), kwargs.get("position_embeddings")
    is_pair = isinstance(tables, tuple) and len(tables) == 2 and all(isinstance(table, Tensor) for table in tables)
    if isinstance(recorder, Recorder) and isinstance(tables, tuple) and is_pair:
        cos, sin = (table[0] if table.ndim > 2 else table for table in tables)  # of the first text
        recorder.tables = cos, sin


def _record_block_input(_: nn.Module, args: tuple[Any, ...]) -> None:
    recorder = _recorder.get()
    if isinstance(recorder, Recorder):
        recorder.block_input = _of_first_text(args[0])


def _record_inputs(inputs_of: InputsOf, _: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    recorder = _recorder.get()
    if isinstance(recorder, Recorder):
        of_query, of_key = inputs_of(args, kwargs)
        query_input = _of_first_text(of_query)
        recorder.inputs = query_input, query_input if of_key is of_query else _of_first_text(of_key)


def _of_first_text(x: Tensor | None) -> Tensor | None:
    """Return the part of a module's input, (T, C) or (B, T, C), that is recorded: the first text's."""
    return x[0] if x is not None and x.ndim > 2 else x


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Replacement(ShortRepr):
    """The replacement for the outputs of some heads of one attention. B texts, H heads, D head width."""

    heads: Tensor
    """bool, (H,), or (B, H) if the heads differ between the texts of a batch: True where the output is replaced"""
    values: Tensor | None = None
    """(H, D): the replacement for the head's output at every position; None is 0"""

    @classmethod
    def by_zero(cls, which: Iterable[int], heads: int) -> Replacement:
        """Replace the outputs of these heads, out of `heads` heads, by 0.

        Raises:
            IndexError: there is no such head.
        """
        mask = torch.zeros(heads, dtype=torch.bool)
        for head in which:
            if not 0 <= head < heads:
                raise IndexError(f"head {head} does not exist: heads go from 0 to {heads - 1}")
            mask[head] = True
        return cls(mask)

    def apply(self, head_outputs: Tensor) -> Tensor:
        """Return the head outputs, (..., H, Tq, D), with the outputs of the chosen heads replaced."""
        mask = self.heads[..., None, None]  # (..., H, 1, 1)
        if self.values is None:
            return head_outputs.masked_fill(mask, 0.0)
        return torch.where(mask, self.values[:, None, :].to(head_outputs.dtype), head_outputs)


_replaced: ContextVar[Mapping[nn.Module, Replacement] | None] = ContextVar("replaced", default=None)


@contextmanager
def replaced(by_module: Mapping[nn.Module, Replacement]) -> Iterator[None]:
    """Replace outputs of heads in the forward passes that this thread runs inside the `with` block.

    Args:
        by_module: attention modules, such as `attnviz.toy.layers.MultiHeadAttention` or transformers'
            BertSelfAttention, and what is replaced in them. For other modules, an outer `with` block still applies.
    """
    token = _replaced.set({**(_replaced.get() or {}), **by_module})
    try:
        yield
    finally:
        _replaced.reset(token)


def is_replacing() -> bool:
    """Whether this thread's forward passes currently replace heads."""
    return bool(_replaced.get())


def with_replaced(module: nn.Module, steps: AttentionSteps) -> AttentionSteps:
    """Return the steps of an attention after this thread's replacements of head outputs."""
    replacement = (_replaced.get() or {}).get(module)
    return steps if replacement is None else replace(steps, head_outputs=replacement.apply(steps.head_outputs))
