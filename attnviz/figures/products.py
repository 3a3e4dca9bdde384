"""What all layouts are made with: numbers as they are drawn, a colour domain for several matrices, and products."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from attnviz.figures.panels import Layout, Panel


def as_array(tensor: Tensor) -> npt.NDArray[np.float32]:
    """Return the numbers as they are; −inf, which no colour has, becomes NaN."""
    array = tensor.detach().to(torch.float32).numpy()
    return np.where(np.isneginf(array), np.float32(np.nan), array) if np.isneginf(array).any() else array


def share(operand: int, result: int) -> tuple[float, float]:
    """Split the room between an operand and a result by their sizes, leaving both readable."""
    share = operand / max(1, operand + result)
    share = min(0.42, max(0.24, share))
    return share, 1 - share


def colour_limit(*tensors: Tensor) -> float:
    """Return the colour domain that several matrices share: their largest finite magnitude."""
    finite = [t[torch.isfinite(t)] for t in tensors]
    return max((float(t.abs().max()) for t in finite if t.numel()), default=1.0) or 1.0


def lay_product(left: Panel, right: Panel, result: Panel, text: str, bias: Tensor | None = None) -> Layout:
    """Lay out left @ right = result: left at the left, right on top, the result where they meet."""
    product = {"left": left.name, "right": right.name, "bias": None if bias is None else bias.tolist()}
    return Layout(
        grid=((None, right), (left, result)),
        widths=share(left.values.shape[1], result.values.shape[1]),
        heights=share(right.values.shape[0], result.values.shape[0]),
        products={result.name: product},
        between=text,
    )
