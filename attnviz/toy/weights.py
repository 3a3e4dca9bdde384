"""Random weights that stay put: each quantity has its own seed, so one control never moves another's numbers."""

from __future__ import annotations

import hashlib

import torch
from torch import Tensor


def draw(seed: int, quantity: str, index: int, rows: int, cols: int) -> Tensor:
    """Draw (rows, cols) standard normal numbers that depend on nothing but the arguments.

    Callers draw the largest size and cut: the first columns of a wide matrix are then those of a narrow one."""
    name = f"{seed}/{quantity}/{index}".encode()
    generator = torch.Generator().manual_seed(int.from_bytes(hashlib.blake2b(name, digest_size=7).digest()))
    return torch.randn(rows, cols, generator=generator)
