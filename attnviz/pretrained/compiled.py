"""The built-in model's forward pass as a TorchScript graph, for a server whose threads also build pages.

In Python a forward pass takes the interpreter's lock some two hundred times, and waits for each while other threads
run: with one busy thread beside it, a pass of 16 tokens takes 300 ms in place of 18. The graph takes the lock once,
and the same pass takes 22 ms. The operations are those of the encoder, so the results are equal bit for bit.

`torch.jit.trace` is deprecated in favour of `torch.export`, whose programs run in the interpreter, and of
`torch.compile`, which needs a C++ compiler where the app runs and fuses operations, which changes the last bits.

Linear maps take most of a pass. oneDNN computes them in less than half of the time that torch's own products take, if
it finds the weights in an order of its own (`pack`); torch's compiler calls the same operation.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from functools import cache
from typing import Any

import torch
from torch import Tensor, nn

from attnviz.toy.bert import Bert
from attnviz.trace.recorder import Call, Pass, recording

EXAMPLE = (101, 102)
"""Token ids of the pass from which the graph is made: [CLS] [SEP]. The graph takes any number of tokens."""
OPERANDS = 4
"""Tensors that `RecordedBert` returns of each layer"""


class PackedLinear(nn.Linear):
    """A linear map with a second copy of its weight, in the order in which oneDNN reads it."""

    packed: Tensor
    """What oneDNN computes with; only its operations can read it"""

    def __init__(self, linear: nn.Linear) -> None:
        """Share the weight, (out, in), and the bias of a map, and copy the weight in oneDNN's order."""
        nn.Module.__init__(self)  # not nn.Linear's own, which draws a weight
        self.in_features, self.out_features = linear.in_features, linear.out_features
        self.weight, self.bias = linear.weight, linear.bias
        reordered = torch.ops.mkldnn._reorder_linear_weight(linear.weight.detach())
        self.register_buffer("packed", reordered, persistent=False)

    def forward(self, x: Tensor) -> Tensor:
        """Return x @ weightᵀ + bias, (..., in) to (..., out)."""
        mapped: Tensor = _packed_linear()(x, self.packed, self.bias)
        return mapped


def pack(model: nn.Module) -> None:
    """Replace the linear maps of a model by packed ones, where this build of torch has oneDNN's operations."""
    if not can_pack():
        return
    for owner in list(model.modules()):
        for name, part in list(owner.named_children()):
            if type(part) is nn.Linear:
                setattr(owner, name, PackedLinear(part))


def can_pack() -> bool:
    """Return whether this build of torch has the operations, which are not part of its documented interface."""
    known = torch.ops.mkldnn
    return torch.backends.mkldnn.is_available() and all(
        hasattr(known, name) for name in ("_reorder_linear_weight", "_linear_pointwise")
    )


@cache
def _packed_linear() -> Any:
    """Return the operation as a graph of its own: `torch.jit.trace` knows no empty list of optional numbers."""
    return torch.jit.CompilationUnit("""
def packed_linear(x: Tensor, weight: Tensor, bias: Optional[Tensor]) -> Tensor:
    scalars: List[Optional[number]] = []
    return torch.ops.mkldnn._linear_pointwise(x, weight, bias, "none", scalars, "")
""").packed_linear


class RecordedBert(nn.Module):
    """BERT that returns the operands of its attention calls as plain tensors."""

    def __init__(self, bert: Bert) -> None:
        super().__init__()
        self.bert = bert

    def forward(self, ids: Tensor, segments: Tensor) -> tuple[Tensor, ...]:
        """Encode (T,) ids and segments: returns query, key, value and input of each layer, then the hidden state."""
        with recording() as recorder:
            hidden = self.bert(ids, segments)
        operands = [(call.query, call.key, call.value, call.query_input) for call in recorder.calls]
        return (*(tensor for of_call in operands for tensor in of_call if tensor is not None), hidden)


def compiled(bert: Bert) -> Callable[[Tensor, Tensor], Pass]:
    """Return a function from (T,) ids and segments to the record of the forward pass."""
    example = torch.tensor(EXAMPLE), torch.zeros(len(EXAMPLE), dtype=torch.long)
    with warnings.catch_warnings(), torch.inference_mode():
        warnings.simplefilter("ignore")  # of the deprecation, and that Python's values become constants of the graph
        graph = torch.jit.trace(RecordedBert(bert), example, check_trace=False)

    def run(ids: Tensor, segments: Tensor) -> Pass:
        with torch.inference_mode():
            *operands, hidden = graph(ids, segments)
        of_calls = zip(*(operands[first::OPERANDS] for first in range(OPERANDS)), strict=True)
        calls = (
            Call(query, key, value, None, 1 / math.sqrt(query.shape[-1]), x, x) for query, key, value, x in of_calls
        )
        return Pass(tuple(calls), hidden)

    return run
