"""How models of transformers turn queries and keys: found by trying, since no name says it.

An attention module receives cosines and sines as `position_embeddings`. Families differ in which two dimensions are a
pair, in where these tables have the numbers of a pair, and in how many dimensions they turn.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import product
from typing import Literal, get_args

import torch
from torch import Tensor

from attnviz.trace.model import Pairing
from attnviz.trace.recorder import Tables
from attnviz.trace.rotation import Rotation

Columns = Literal["halves", "neighbours", "once"]
"""Where a table, (T, R) or (T, R / 2), has the number of a pair: in both halves (Llama), in two columns side by side
(Cohere), or once (gpt-oss)"""


@dataclass(frozen=True, slots=True)
class RotaryLayout:
    """How an attention module turns queries and keys by the tables that it receives."""

    pairing: Pairing
    columns: Columns

    def rotation(self, cos: Tensor, sin: Tensor) -> Rotation:
        """Return the rotation by these tables."""
        return Rotation(self._once(cos)[0], self._once(sin)[0], self.pairing)

    def fits(self, tables: Tables, width: int) -> bool:
        """Return whether these tables have each number where this layout expects it, for heads of this width."""
        pairs = [self._once(table) for table in tables]
        return all(torch.equal(*pair) and 0 < 2 * pair[0].shape[-1] <= width for pair in pairs)

    def _once(self, table: Tensor) -> tuple[Tensor, Tensor]:
        """Return the number of each pair, (T, R / 2), as a table has it for the first and for the second dimension."""
        if self.columns == "once":
            return table, table
        if table.shape[-1] % 2:
            return table[..., :0], table[..., :0]
        if self.columns == "neighbours":
            return table[..., 0::2], table[..., 1::2]
        first, second = table.chunk(2, dim=-1)
        return first, second


LAYOUTS = tuple(RotaryLayout(*parts) for parts in product(get_args(Pairing), get_args(Columns)))


def find_rotary(tables: Tables | None, width: int, agrees: Callable[[Rotation], bool]) -> RotaryLayout | None:
    """Return how a module turns queries and keys by its tables; None if no known way agrees.

    Args:
        tables: what the module received, if it received any.
        width: D.
        agrees: whether a rotation gives what the attention received.
    """
    if tables is None or any(table.ndim != 2 for table in tables):
        return None
    fitting = (layout for layout in LAYOUTS if layout.fits(tables, width))
    return next((layout for layout in fitting if agrees(layout.rotation(*tables))), None)
