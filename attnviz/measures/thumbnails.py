"""Thumbnails of attention matrices: one byte per cell, max-pooled so that single large weights stay visible."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

SIZE = 48
"""The most cells along a side of a thumbnail, about one per pixel."""
FULL = 65535
"""The code of a weight of 1 where weights are sent to the browser as 16-bit numbers"""


def thumbnails(weights: npt.NDArray[Any], size: int = SIZE) -> npt.NDArray[np.uint8]:
    """Shrink attention weights (H, Tq, Tk) to at most `size` cells per side: (H, n, m) bytes, 255 for a weight of 1.

    Each cell is the *largest* weight of its block: a mean would wash out single peaks.
    """
    pooled = np.nan_to_num(_pool(np.fmax, weights, size), nan=0.0)
    shades: npt.NDArray[np.uint8] = np.rint(np.clip(pooled, 0.0, 1.0) * 255).astype(np.uint8)
    return shades  # (H, n, m)


def hidden_thumbnail(codes: npt.NDArray[np.uint8], size: int = SIZE) -> npt.NDArray[np.uint8]:
    """Shrink the cells that a mask hides, (Tq, Tk), to (n, m) bytes: above 0 if *all* cells of the block are hidden.

    Args:
        codes: 0 for a visible cell; for a hidden one why it is, as `MaskReasons.codes` says it, or 1 if that is not
            known. Of several reasons in a block, the first one counts.
        size: the most cells along a side.
    """
    return _pool(np.minimum, codes, size)  # (n, m)


def _pool(combine: np.ufunc, array: npt.NDArray[Any], size: int) -> npt.NDArray[Any]:
    """Reduce the last two axes in blocks of nearly equal size, so that neither has more than `size` entries."""
    if size < 1:
        raise ValueError(f"a thumbnail needs at least 1 cell per side, not {size}")
    rows, columns = array.shape[-2:]
    if rows > size:
        # Reduce whole rows: numpy's reduceat goes cell by cell along this axis and is four times slower.
        edges = np.arange(size + 1) * rows // size
        blocks = [combine.reduce(array[..., start:end, :], axis=-2) for start, end in pairwise(edges)]
        array = np.stack(blocks, axis=-2)
    if columns > size:
        array = combine.reduceat(array, np.arange(size) * columns // size, axis=-1)
    return array
