"""A matrix of a comparison as the browser receives it."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

EXACT_CELLS = 2**17
"""Matrices with up to this many cells (362 × 362) are sent as float32, larger ones with 16 bits per cell."""
_LEVELS = 2**16 - 2
_MISSING = 2**16 - 1


def encode(matrix: npt.NDArray[np.float32]) -> tuple[npt.NDArray[Any], list[float] | None]:
    """Return a matrix as it is sent, and the range [low, high] of its 16-bit levels, or None if it is sent as float32.

    A 16-bit level stands for low + level / 65534 · (high − low); 65535 stands for NaN. So the error is at most 1/131068
    of the range: 7.7e-6 for weights from 0 to 1.
    """
    if matrix.size <= EXACT_CELLS:
        return matrix, None
    finite = np.isfinite(matrix)
    low, high = (float(matrix[finite].min()), float(matrix[finite].max())) if finite.any() else (0.0, 1.0)
    levels = (matrix.astype(np.float64) - low) * (_LEVELS / ((high - low) or 1.0))
    coded = np.where(finite, np.rint(np.where(finite, levels, 0)), _MISSING).astype(np.uint16)
    return coded, [low, high]
