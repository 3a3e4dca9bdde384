"""Position embeddings that are computed, not learned."""

from __future__ import annotations

import torch
from torch import Tensor

BASE = 10000
"""The wavelengths go from 2π to about `BASE` · 2π."""


def sinusoidal_positions(n: int, width: int) -> Tensor:
    """Return sin and cos of position / 10000^(2i/C), interleaved, (n, C) (Vaswani et al. 2017, section 3.5).

    Dimensions 2i and 2i + 1 share a frequency, so all rows have the norm √(C/2), and the dot product of two rows
    depends on their distance alone. For odd C the last cosine is left out.

    Raises:
        ValueError: a number is negative.
    """
    _check(n, width)
    angle = torch.arange(n)[:, None] / BASE ** (torch.arange(0, width, 2) / max(width, 1))  # (n, C/2)
    return torch.stack((angle.sin(), angle.cos()), dim=-1).flatten(1)[:, :width]  # (n, C/2, 2) -> (n, C)


def lab_positions(n: int, width: int) -> Tensor:
    """Return a variant that is often taught: dimension j has the frequency 1 / 10000^(j/C), (n, C).

    Even dimensions are sines, odd ones cosines. The paper's formula counts pairs of dimensions, and both of a pair have
    the frequency of the first. Here each dimension has its own: the sines are the paper's, the cosines are a little
    slower. So the norms of the rows vary, and the dot product of two rows depends on more than their distance.

    Raises:
        ValueError: a number is negative.
    """
    _check(n, width)
    dimension = torch.arange(width)
    angle = torch.arange(n)[:, None] / BASE ** (dimension / max(width, 1))  # (n, C)
    return torch.where(dimension % 2 == 0, angle.sin(), angle.cos())


def _check(n: int, width: int) -> None:
    if n < 0 or width < 0:
        raise ValueError(f"{n} positions of width {width}: neither can be negative")
