"""Dropout (Srivastava et al. 2014): zeros that are drawn in training, and nothing at all in use.

Shapes: T tokens, C model width.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from attnviz.reprs import ShortRepr

COUNTS = (1, 4, 16, 64, 256)
"""How many draws are averaged"""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Dropped(ShortRepr):
    """One draw."""

    kept: Tensor
    """(T, C) bool"""
    result: Tensor
    """(T, C): 0, or the number times 1 / (1 − p)"""


def dropout(x: Tensor, rate: float, seed: int) -> Dropped:
    """Return what torch's dropout makes of (T, C) in training after `torch.manual_seed(seed)`.

    The draw has a generator of its own, as other threads use torch's.

    Args:
        x: the numbers.
        rate: p, from 0 to less than 1: the probability of a 0.
        seed: of the draw.

    Raises:
        ValueError: p is not in that range.
    """
    return _drop(x, rate, torch.Generator().manual_seed(seed))


def mean_differences(x: Tensor, rate: float, seed: int, counts: Sequence[int] = COUNTS) -> list[float]:
    """Return the mean distance, over all numbers, of averages of several draws from what dropout was given.

    As (1 − p) · x / (1 − p) + p · 0 = x is the expected value of each number, it falls with 1 / √(number of draws).

    Args:
        x: the numbers, (T, C).
        rate: p.
        seed: of all draws together.
        counts: how many draws each average has, in ascending order.

    Raises:
        ValueError: as `dropout`.
    """
    drawn, total, found = torch.Generator().manual_seed(seed), torch.zeros_like(x), {}
    for number in range(1, counts[-1] + 1):
        total += _drop(x, rate, drawn).result
        if number in counts:
            found[number] = float((total / number - x).abs().mean())
    return [found[count] for count in counts]


def _drop(x: Tensor, rate: float, drawn: torch.Generator) -> Dropped:
    if not 0 <= rate < 1:
        raise ValueError(f"a dropout of {rate} is not from 0 to less than 1")
    noise = torch.empty_like(x).bernoulli_(1 - rate, generator=drawn)
    return Dropped(noise.bool(), x * noise.div(1 - rate))
