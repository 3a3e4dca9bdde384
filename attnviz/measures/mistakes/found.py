"""Computes what each mistake does on a text."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import torch

from attnviz.measures.mistakes import attention, block
from attnviz.measures.mistakes.case import Case, Found

COMPUTED: Mapping[str, Callable[[Case], Found]] = {
    "maps": attention.maps,
    "fill": attention.fill,
    "cross": attention.cross,
    "relu": block.relu,
    "norm": block.norm,
    "width": block.width,
    "mask": attention.mask,
    "sum": block.add,
    "same": attention.same,
}
"""By the names in `texts.TEXTS`"""


def find(name: str, case: Case) -> Found:
    """Compute a mistake beside what is right.

    Raises:
        NotKnownError: it can't be shown with this model.
    """
    with torch.inference_mode():
        return COMPUTED[name](case)
