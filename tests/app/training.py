"""What the browser requests of a training: the files that the page Train offers."""

from __future__ import annotations

import numpy as np
from safetensors.numpy import load

from attnviz.runtime.arrays import array_store


def moment(digest: str, step: int) -> dict[str, np.ndarray]:
    """Return what the model does at one snapshot, as the browser requests it."""
    found: dict[str, np.ndarray] = load(array_store().request(f"{digest}~s.{step}").result(60).decompressed())
    return found


def generated(digest: str, part: str = "") -> dict[str, np.ndarray]:
    """Return a generated text with the numbers of its draws, or a part of it."""
    found: dict[str, np.ndarray] = load(array_store().request(digest + part).result(60).decompressed())
    return found


def accuracies(digest: str, step: int) -> np.ndarray:
    """Return the accuracy without each head, and last of the whole model."""
    found: np.ndarray = load(array_store().request(f"{digest}~a.{step}").result(60).decompressed())["accuracy"]
    return found
