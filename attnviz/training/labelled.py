"""Vectors, each with a class: the training data of a linear layer. Does not import torch.

Shapes: N vectors of C numbers.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from attnviz.reprs import ArraysSize, ShortRepr


@dataclass(frozen=True, eq=False, repr=False)
class LabelledVectors(ShortRepr, ArraysSize):
    """Vectors and their classes. Equal data have the same digest."""

    features: NDArray[np.float32]
    """(N, C)"""
    classes: NDArray[np.int64]
    """(N,), from 0"""

    def __post_init__(self) -> None:
        for name in ("features", "classes"):
            getattr(self, name).setflags(write=False)
        rows, classes = self.features.shape, self.classes.shape
        if len(rows) != 2 or classes != rows[:1] or not rows[0]:
            raise ValueError(f"features {rows} and classes {classes} are not (N, C) and (N,)")
        if not np.isfinite(self.features).all() or self.classes.min() < 0:
            raise ValueError("features are finite numbers, and classes count from 0")

    @cached_property
    def digest(self) -> str:
        """The sha256 of all numbers."""
        return hashlib.sha256(self.to_bytes()).hexdigest()

    def to_bytes(self) -> bytes:
        """Return them as a safetensors file."""
        from safetensors.numpy import save

        return save({"features": self.features, "classes": self.classes})

    @classmethod
    def from_bytes(cls, data: bytes) -> LabelledVectors:
        """Read the vectors back from the output of `to_bytes`."""
        from safetensors.numpy import load

        arrays = load(data)
        return cls(arrays["features"], arrays["classes"])
