"""Records forward passes: every attention module calls `recorded_attention`, which stores its operands or weights.

Several threads may run one model at once. A forward pass is recorded in its own context (a ContextVar), never on the
model, so sessions cannot see each other's text.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import partial
from typing import Any, TypeVar

from torch import Tensor, nn

from attnviz.attention import AttentionSteps, Mask, attend
from attnviz.reprs import ShortRepr
from attnviz.trace.ablation import with_replaced

Inputs = tuple[Tensor | None, Tensor | None]
"""The inputs of an attention module's queries and of its keys and values; None if not known"""

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

    def take(self, module: nn.Module, steps: AttentionSteps) -> None:
        """Store the operands of an attention call; of a batch, (B, H, T, D), only the first text's."""
        query, key, value, cells = steps.query, steps.key, steps.value, steps.mask
        if query.ndim > 3:
            query, key, value = query[0], key[0], value[0]
            cells = cells[0] if cells is not None and cells.ndim > 3 else cells
        self.modules.append(module)
        self.calls.append(Call(query, key, value, cells, steps.scale, *self.inputs, self.block_input))
        self.inputs, self.block_input = (None, None), None


class _AllRecorded(Exception):  # noqa: N818 — no error: it ends a pass
    """The last requested attention has run."""


class _Weights:
    """Stores the weights of a pass, and ends the pass after `calls` attention calls."""

    def __init__(self, calls: int) -> None:
        self.calls, self.weights = calls, list[Tensor]()

    def take(self, _: nn.Module, steps: AttentionSteps) -> None:
        self.weights.append(steps.weights)
        if len(self.weights) == self.calls:
            raise _AllRecorded


_recorder: ContextVar[Recorder | _Weights | None] = ContextVar("recorder", default=None)


@contextmanager
def recording() -> Iterator[Recorder]:
    """Record the forward passes that this thread runs inside the `with` block."""
    with _recorded_by(Recorder()) as recorder:
        yield recorder


def batch_weights(run: Callable[[], object], calls: int) -> list[Tensor]:
    """Return the weights of the first attention calls of a forward pass, with the batch axis, (B, H, Tq, Tk) each.

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
    module: nn.Module,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    *,
    mask: Tensor | Mask | None = None,
    scale: float | None = None,
) -> AttentionSteps:
    """Run `attend` for an attention module, and record the call if a recording is active.

    The returned steps have the replacements of `attnviz.trace.ablation.replaced`; the recorded call does not.
    """
    steps = attend(query, key, value, mask=mask, scale=scale)
    recorder = _recorder.get()
    if recorder is not None:
        recorder.take(module, steps)
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
