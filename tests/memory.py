"""What a value holds in memory, to compare with what it says of itself: a cache has room for that."""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np
import torch


def held(*values: Any) -> int:
    """Return the bytes of all arrays and tensors in these values, each of them once."""
    found: dict[int, int] = {}

    def look(value: Any) -> None:
        if isinstance(value, torch.Tensor):
            found[value.data_ptr()] = value.numel() * value.element_size()
        elif isinstance(value, np.ndarray):
            found[value.ctypes.data] = value.nbytes
        elif isinstance(value, (tuple, list)):
            for one in value:
                look(one)
        elif is_dataclass(value):
            for field in fields(value):
                look(getattr(value, field.name))

    look(values)
    return sum(found.values())
