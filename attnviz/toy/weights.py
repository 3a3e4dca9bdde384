"""Reproducible random weights: each quantity has its own seed, so a setting does not change unrelated weights."""

from __future__ import annotations

import hashlib

import torch
from torch import Tensor


def draw(seed: int, quantity: str, index: int, rows: int, cols: int) -> Tensor:
    """Draw (rows, cols) standard normal numbers that depend only on the arguments.

    Callers draw the largest size and slice it, so that a narrow matrix is a slice of a wide one.
    """
    return torch.randn(rows, cols, generator=generator(seed, quantity, index))


def generator(seed: int, quantity: str, index: int) -> torch.Generator:
    """Return a generator of numbers that depend only on the arguments."""
    name = f"{seed}/{quantity}/{index}".encode()
    return torch.Generator().manual_seed(int.from_bytes(hashlib.blake2b(name, digest_size=7).digest()))
