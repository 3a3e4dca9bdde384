"""The built-in model's forward pass as a TorchScript graph, for a server whose threads also build pages.

In Python a forward pass takes the interpreter's lock some two hundred times, and waits for each while other threads
run: with one busy thread beside it, a pass of 16 tokens takes 300 ms in place of 18. The graph takes the lock once,
and the same pass takes 22 ms. The operations are those of the encoder, so the results are equal bit for bit.

`torch.jit.trace` is deprecated in favour of `torch.export`, whose programs run in the interpreter, and of
`torch.compile`, which needs a C++ compiler where the app runs and fuses operations, which changes the last bits.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable

import torch
from torch import Tensor, nn

from attnviz.toy.bert import Bert
from attnviz.trace.recorder import Call, Pass, recording

EXAMPLE = (101, 102)
"""Token ids of the pass from which the graph is made: [CLS] [SEP]. The graph takes any number of tokens."""
OPERANDS = 4
"""Tensors that `RecordedBert` returns of each layer"""


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
