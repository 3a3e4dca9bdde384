"""Reproducible random weights: each quantity has its own seed, so a setting does not change unrelated weights."""

from __future__ import annotations

import hashlib

import torch
from torch import Tensor

from attnviz.toy.config import MAX_WIDTH, WIDTH


def draw(seed: int, quantity: str, index: int, rows: int, cols: int) -> Tensor:
    """Draw (rows, cols) standard normal numbers that depend only on the arguments.

    Callers draw the largest size and slice it, so that a narrow matrix is a slice of a wide one.
    """
    return torch.randn(rows, cols, generator=generator(seed, quantity, index))


def draw_wide(seed: int, quantity: str, index: int, rows: int, width: int) -> Tensor:
    """Draw (rows, C) standard normal numbers; the first columns do not depend on the width C.

    The columns beyond `WIDTH` are drawn by themselves.
    """
    first = draw(seed, quantity, index, rows, WIDTH)
    if width <= WIDTH:
        return first[:, :width]
    others = draw(seed, f"{quantity}, wider", index, rows, MAX_WIDTH - WIDTH)
    return torch.cat((first, others[:, : width - WIDTH]), dim=1)


def generator(seed: int, quantity: str, index: int) -> torch.Generator:
    """Return a generator of numbers that depend only on the arguments."""
    name = f"{seed}/{quantity}/{index}".encode()
    return torch.Generator().manual_seed(int.from_bytes(hashlib.blake2b(name, digest_size=7).digest()))
