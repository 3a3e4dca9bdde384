"""What changes when a text changes: causality and order, as checks that a class can make.

Shapes: T tokens, C width.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
from torch import Tensor

CHANGE = 1.0
"""What is added to every second number of a row to change it; a norm would remove what is added to all of them"""


def change_row(x: Tensor, row: int) -> Tensor:
    """Return (T, C) with `CHANGE` added to every second number of one row."""
    changed = x.clone()
    changed[row, ::2] += CHANGE
    return changed


def row_differences(before: Tensor, after: Tensor) -> Tensor:
    """Return the largest difference in each row of two matrices (T, C), as (T,).

    After a change of token j, rows before j differ by 0 where a causal mask hides the future from them.

    Raises:
        ValueError: the matrices have different shapes.
    """
    if before.shape != after.shape:
        raise ValueError(f"{tuple(before.shape)} and {tuple(after.shape)} can't be compared row by row")
    return (before - after).abs().amax(-1)


def order_matters(model: Callable[[Tensor], Tensor], x: Tensor, positions: Tensor, order: Sequence[int]) -> Tensor:
    """Return how far each token's output moves when the words change places, (T,).

    Self-attention without a mask and without positions gives each token the same output in any order: the differences
    are those of rounding (Vaswani et al. 2017, section 3.5, is why positions are added).

    Args:
        model: takes and returns (T, C).
        x: the tokens without their positions, (T, C).
        positions: what is added to them, (T, C); zeros for none.
        order: the new order of the words, a permutation of 0 ... T − 1.

    Raises:
        ValueError: `order` is no permutation of the tokens.
    """
    if sorted(order) != list(range(len(x))):
        raise ValueError(f"{list(order)} is no order of {len(x)} tokens")
    moved = torch.tensor(order)
    return row_differences(model(x + positions)[moved], model(x[moved] + positions))
