"""The forward pass without some heads: their outputs are replaced, in the context of one thread.

The model is not changed, so other threads may run it at the same time. This works with every model of this project,
because all of them call `attnviz.trace.recorder.recorded_attention`. Recordings are not affected: they store the
operands of an attention, from which a replaced head's original output can still be computed.

    with replaced({model.bert.encoder.layers[3].attention: Replaced.by_zero([1], heads=12)}):
        hidden = model.bert(ids, segments)
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace

import torch
from torch import Tensor, nn

from attnviz.attention import AttentionSteps
from attnviz.reprs import ShortRepr


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
