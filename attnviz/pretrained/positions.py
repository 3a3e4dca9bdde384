"""How many tokens a model can read: what its tables of positions have room for, seen in a pass on a few tokens.

RoBERTa begins to number positions after its padding token, OPT and BART with 2, BERT with 0; models with relative or
rotated positions have no such table. So nothing is concluded from names: a table of positions is what a pass reads in
consecutive rows, one for each token.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.overrides import TorchFunctionMode


class PositionTables(TorchFunctionMode):
    """Sees which tables the passes inside the `with` block read a row of for each token.

    A table is known before it is read, so also if it has too few rows and the pass fails.
    """

    def __init__(self, model: nn.Module, ids: Sequence[int]) -> None:
        """Watch the passes of a model on these token ids."""
        super().__init__()
        self._ids = list(ids)
        self._stored = {tensor.data_ptr() for tensor in (*model.parameters(), *model.buffers())}
        self.rooms: list[int] = []
        """For how many tokens each table has rows, from the first token's on"""

    def __torch_function__(
        self,
        func: Callable[..., Any],
        types: Collection[type],
        args: tuple[Any, ...] = (),
        kwargs: dict[str, Any] | None = None,
    ) -> Any:
        """Run an operation of torch, and note the rows that it reads."""
        del types
        named = kwargs or {}
        if func is functional.embedding:
            self._note(args[1] if len(args) > 1 else named["weight"], 0, args[0] if args else named["input"])
        elif func in (Tensor.index_select, torch.index_select, torch.gather) and self._is_stored(args[0]):
            axis, index = (*args[1:], *(named[name] for name in ("dim", "index") if name in named))
            self._note(args[0], axis, index)
        elif func is Tensor.__getitem__ and self._is_stored(args[0]):
            indices = args[1] if isinstance(args[1], tuple) else (args[1],)
            for axis, index in enumerate(indices[: args[0].ndim]):
                if index is Ellipsis or index is None:
                    break
                self._note(args[0], axis, index)
        return func(*args, **named)

    def _is_stored(self, table: Tensor) -> bool:
        return table.data_ptr() in self._stored

    def _note(self, table: Tensor, axis: int, index: Any) -> None:
        if isinstance(index, slice):
            first, last = index.start or 0, index.stop
            if isinstance(first, int) and isinstance(last, int) and last - first == len(self._ids):
                self.rooms.append(table.shape[axis] - first)
        elif isinstance(index, Tensor) and index.ndim and index.numel() == len(self._ids) == index.shape[-1]:
            rows = index.flatten().tolist()
            if rows != self._ids and rows == list(range(rows[0], rows[0] + len(rows))):
                self.rooms.append(table.shape[axis] - rows[0])
