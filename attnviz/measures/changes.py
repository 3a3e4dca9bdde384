"""What changes the rows of a stack: another row, another order, padding, dropout; LayerNorm and a norm over all tokens.

Dropout is that of Srivastava et al. 2014, LayerNorm that of Ba, Kiros and Hinton 2016.

Shapes: T tokens, N padding tokens, C model width.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from attnviz.attention import padding_mask
from attnviz.reprs import ShortRepr

CHANGE = 1.0
"""Added to every second number of a row to change it; a norm would cancel a constant added to all of them"""


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
    """Return how much each token's output changes when the words change places, (T,).

    Self-attention without a mask and without positions gives each token the same output in any order, up to rounding.
    That is why positions are added (Vaswani et al. 2017, section 3.5).

    Args:
        model: takes and returns (T, C).
        x: the tokens without their positions, (T, C).
        positions: the positions added to them, (T, C); zeros for none.
        order: the new order of the words, a permutation of 0 ... T − 1.

    Raises:
        ValueError: `order` is not a permutation of the tokens.
    """
    if sorted(order) != list(range(len(x))):
        raise ValueError(f"{list(order)} is not an order of {len(x)} tokens")
    permutation = torch.tensor(order)
    return row_differences(model(x + positions)[permutation], model(x[permutation] + positions))


Stack = Callable[..., Tensor]
"""Takes (T, C) and `mask`, as `attnviz.toy.stacks.Encoder` does; returns (T, C)"""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class PaddingChange(ShortRepr):
    """How much padding changes each token's output: the largest difference in its row."""

    with_mask: Tensor
    """(T,)"""
    without: Tensor
    """(T,)"""


def padding_moves(stack: Stack, x: Tensor, pads: Tensor) -> PaddingChange:
    """Return how much the outputs of the tokens change when padding follows them.

    Args:
        stack: the blocks.
        x: the tokens' input, (T, C).
        pads: the padding's input, (N, C).
    """
    count, whole = len(x), torch.cat([x, pads])
    mask = padding_mask(torch.tensor([count]), len(whole))[0, 0]  # (1, T + N)
    with torch.inference_mode():
        alone = stack(x)
        return PaddingChange(
            row_differences(alone, stack(whole, mask=mask)[:count]), row_differences(alone, stack(whole)[:count])
        )


COUNTS = (1, 4, 16, 64, 256)
"""Numbers of draws that are averaged"""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class DropoutDraw(ShortRepr):
    """One draw of dropout."""

    kept: Tensor
    """(T, C) bool"""
    result: Tensor
    """(T, C): 0, or the number times 1 / (1 − p)"""


def dropout(x: Tensor, rate: float, seed: int) -> DropoutDraw:
    """Return what torch's dropout in training returns for (T, C) after `torch.manual_seed(seed)`.

    The draw has its own generator, because other threads use torch's global one.

    Args:
        x: the numbers.
        rate: p, from 0 to less than 1: the probability of a 0.
        seed: the seed of the draw.

    Raises:
        ValueError: p is not in that range.
    """
    return _drop(x, rate, torch.Generator().manual_seed(seed))


def mean_differences(x: Tensor, rate: float, seed: int, counts: Sequence[int] = COUNTS) -> list[float]:
    """Return how far averages of several dropout draws are from dropout's input: the mean over all numbers.

    Each number's expected value is (1 − p) · x / (1 − p) + p · 0 = x, so the distance falls with 1 / √(number of
    draws).

    Args:
        x: the numbers, (T, C).
        rate: p.
        seed: the seed of all draws together.
        counts: the number of draws in each average, in ascending order.

    Raises:
        ValueError: as `dropout`.
    """
    generator, total, differences = torch.Generator().manual_seed(seed), torch.zeros_like(x), {}
    for number in range(1, counts[-1] + 1):
        total += _drop(x, rate, generator).result
        if number in counts:
            differences[number] = float((total / number - x).abs().mean())
    return [differences[count] for count in counts]


def _drop(x: Tensor, rate: float, generator: torch.Generator) -> DropoutDraw:
    if not 0 <= rate < 1:
        raise ValueError(f"a dropout of {rate} is not from 0 to less than 1")
    noise = torch.empty_like(x).bernoulli_(1 - rate, generator=generator)
    return DropoutDraw(noise.bool(), x * noise.div(1 - rate))


EPS = 1e-5


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Moments(ShortRepr):
    """Mean and variance of each token's numbers."""

    mean: Tensor
    """(T,)"""
    variance: Tensor
    """(T,), divided by C, not by C − 1"""


def moments(x: Tensor) -> Moments:
    """Return the moments of each row of (T, C)."""
    variance, mean = torch.var_mean(x, dim=-1, correction=0)
    return Moments(mean, variance)


def norm_over_all(x: Tensor) -> Tensor:
    """Return (x − mean) / √(variance + ε) for x of (T, C), with one mean and one variance of all T · C numbers.

    This is a mistake: each row then depends on all rows, so the future leaks into the past, even with a causal mask.
    """
    variance, mean = torch.var_mean(x, correction=0)
    return (x - mean) / torch.sqrt(variance + EPS)
