"""The forward pass without some heads: what they put out is replaced, in the context of one thread.

The model stays as it is, so other threads may run it at the same time. It works with every model of this project,
because all of them call `attnviz.trace.recorder.recorded_attention`. Nothing is done to what a recording stores: the
operands of an attention, from which a replaced head's own output can still be computed.

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
class Replaced(ShortRepr):
    """What takes the place of the outputs of some heads of one attention. B texts, H heads, D head width."""

    heads: Tensor
    """bool, (H,), or (B, H) with other heads for each text of a batch: True where the output is replaced"""
    values: Tensor | None = None
    """(H, D): what every position gets in place of the head's output; None is 0"""

    @classmethod
    def by_zero(cls, which: Iterable[int], heads: int) -> Replaced:
        """Let these of `heads` heads put out 0.

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
        """Return head outputs, (..., H, Tq, D), in which those of the replaced heads are others."""
        mask = self.heads[..., None, None]  # (..., H, 1, 1)
        if self.values is None:
            return head_outputs.masked_fill(mask, 0.0)
        return torch.where(mask, self.values[:, None, :].to(head_outputs.dtype), head_outputs)


_replaced: ContextVar[Mapping[nn.Module, Replaced] | None] = ContextVar("replaced", default=None)


@contextmanager
def replaced(by_module: Mapping[nn.Module, Replaced]) -> Iterator[None]:
    """Replace outputs of heads in the forward passes that this thread runs inside the `with` block.

    Args:
        by_module: attention modules, such as `attnviz.toy.layers.MultiHeadAttention` or transformers'
            BertSelfAttention, and what is replaced in them. An outer block holds for all other modules.
    """
    token = _replaced.set({**(_replaced.get() or {}), **by_module})
    try:
        yield
    finally:
        _replaced.reset(token)


def is_replacing() -> bool:
    """Whether heads are replaced in this thread's forward passes now."""
    return bool(_replaced.get())


def with_replaced(module: nn.Module, steps: AttentionSteps) -> AttentionSteps:
    """Return the steps of an attention with the head outputs that this thread has it put out."""
    found = (_replaced.get() or {}).get(module)
    return steps if found is None else replace(steps, head_outputs=found.apply(steps.head_outputs))
