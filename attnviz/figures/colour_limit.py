"""The end of the colour domain: the largest magnitude, or less where a few numbers would bleach all others, and where
weights are darkened."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from attnviz.formatting import scientific
from attnviz.steps.picture import MANY


def as_array(tensor: Tensor) -> npt.NDArray[np.float32]:
    """Return a tensor as a float32 array with NaN in place of −inf, which has no colour."""
    array = tensor.detach().to(torch.float32).numpy()
    return np.where(np.isneginf(array), np.float32(np.nan), array) if np.isneginf(array).any() else array


MIDDLE = 0.98
"""The share of a matrix's magnitudes within which colours end, if the others would bleach it"""
BLEACHED = 3
"""They would, if the largest is more than this multiple of the end"""


def colour_limit(*matrices: Tensor | npt.NDArray[Any]) -> float:
    """Return the end of the colour domain that these matrices share: the largest of their own ends, or 1 if that is 0.

    A matrix's own end is its largest finite magnitude. If it is more than three times the magnitude
    that only 2 % exceed, then the end is that one: a few large numbers would make all others almost white.
    """
    return max(map(_own_limit, matrices), default=0.0) or 1.0


def _own_limit(matrix: Tensor | npt.NDArray[Any]) -> float:
    values = matrix.detach().to(torch.float32).numpy() if isinstance(matrix, Tensor) else matrix
    magnitudes = np.abs(values[np.isfinite(values)])
    largest = float(magnitudes.max(initial=0))
    if not largest:
        return 0.0
    end = float(np.percentile(magnitudes, 100 * MIDDLE, method="higher"))
    return end if 0 < BLEACHED * end < largest else largest


DARKENED_BELOW = 0.8
"""Colours of weights are darkened only if they then end below this: else that would hardly be seen"""
SHARE = 0.9
"""The quantile of the rows' largest weights at which colours end, with many keys"""


def darkened_limit(*matrices: npt.NDArray[Any]) -> float:
    """Return the end of the darkened colour domain that these weights share; 1 if there are no weights.

    It is the largest weight. With `MANY` keys it is the weight that only one row in ten exceeds, so that a few rows do
    not make all others faint. It is 1 from `DARKENED_BELOW` on: darkening is neither offered nor done there.

    Args:
        matrices: (queries, keys) each, not finite in hidden cells.
    """
    rows = np.concatenate([np.where(np.isfinite(weights), weights, -1).max(axis=1, initial=-1) for weights in matrices])
    largest = np.sort(rows[rows >= 0])
    if not len(largest):
        return 1.0
    share = SHARE if matrices[0].shape[1] >= MANY else 1
    end = float(largest[int(share * (len(largest) - 1))])
    return end if 0 < end < DARKENED_BELOW else 1.0


def end_text(end: float) -> str:
    """Write the end of a colour domain, a number from 0 to 1, with two digits."""
    text = f"{end:.2g}"
    return scientific(end, 1) if "e" in text else text
