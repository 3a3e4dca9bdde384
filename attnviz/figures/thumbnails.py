"""Small pictures of whole attention matrices: one byte a cell, pooled so that a single bright cell stays visible."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

SIZE = 48
"""Cells along a thumbnail's longer side, about one a pixel."""


def thumbnails(weights: npt.NDArray[Any], size: int = SIZE) -> npt.NDArray[np.uint8]:
    """Shrink attention weights (H, Tq, Tk) to at most `size` cells a side, (H, n, m) bytes, 255 for a weight of 1.

    Each cell is the *largest* weight of its block: an average would wash out the single peaks of attention.
    """
    pooled = np.nan_to_num(_pool(np.fmax, weights, size), nan=0.0)
    shades: npt.NDArray[np.uint8] = np.rint(np.clip(pooled, 0.0, 1.0) * 255).astype(np.uint8)
    return shades  # (H, n, m)


def hidden_thumbnail(hidden: npt.NDArray[np.bool_], size: int = SIZE) -> npt.NDArray[np.uint8]:
    """Shrink a mask of hidden cells (Tq, Tk) to (n, m) bytes: 1 where *every* cell of the block is hidden."""
    return _pool(np.logical_and, hidden, size).astype(np.uint8)  # (n, m)


def _pool(combine: np.ufunc, array: npt.NDArray[Any], size: int) -> npt.NDArray[Any]:
    """Combine the last two axes in blocks, as even as they come, so that neither has more than `size`."""
    if size < 1:
        raise ValueError(f"a thumbnail needs at least 1 cell a side, not {size}")
    rows, columns = array.shape[-2:]
    if rows > size:
        # Whole rows at a time: numpy's reduceat walks along this axis cell by cell, four times as slowly.
        edges = np.arange(size + 1) * rows // size
        blocks = [combine.reduce(array[..., start:end, :], axis=-2) for start, end in pairwise(edges)]
        array = np.stack(blocks, axis=-2)
    if columns > size:
        array = combine.reduceat(array, np.arange(size) * columns // size, axis=-1)
    return array
