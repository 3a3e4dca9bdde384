"""Padding: what tokens that only fill a text up do to the others, with the padding mask and without it.

Shapes: T tokens, N that are added, C model width.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from attnviz.attention import padding_mask
from attnviz.measures.transformer.differences import row_differences
from attnviz.reprs import ShortRepr

Stack = Callable[..., Tensor]
"""Takes (T, C) and `mask`, as `attnviz.toy.stacks.Encoder` does; returns (T, C)"""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Moved(ShortRepr):
    """How far padding moves each token's output: the largest difference in its row."""

    with_mask: Tensor
    """(T,)"""
    without: Tensor
    """(T,)"""


def padding_moves(stack: Stack, x: Tensor, pads: Tensor) -> Moved:
    """Return how far the outputs of the tokens move when padding follows them.

    Args:
        stack: the blocks.
        x: the tokens' input, (T, C).
        pads: that of the added ones, (N, C).
    """
    count, whole = len(x), torch.cat([x, pads])
    mask = padding_mask(torch.tensor([count]), len(whole))[0, 0]  # (1, T + N)
    with torch.inference_mode():
        alone = stack(x)
        return Moved(
            row_differences(alone, stack(whole, mask=mask)[:count]), row_differences(alone, stack(whole)[:count])
        )
