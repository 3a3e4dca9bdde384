"""Helpers for layouts: arrays to draw, and a shared colour domain."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor


def as_array(tensor: Tensor) -> npt.NDArray[np.float32]:
    """Return a tensor as a float32 array with NaN in place of −inf, which has no colour."""
    array = tensor.detach().to(torch.float32).numpy()
    return np.where(np.isneginf(array), np.float32(np.nan), array) if np.isneginf(array).any() else array


def colour_limit(*tensors: Tensor) -> float:
    """Return the end of the colour domain that these matrices share: their largest finite magnitude, or 1."""
    finite = [t[torch.isfinite(t)] for t in tensors]
    return max((float(t.abs().max()) for t in finite if t.numel()), default=1.0) or 1.0
