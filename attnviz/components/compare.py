"""The component of a comparison: heatmaps of A, B and A − B, and the numbers of the cell under the pointer."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from attnviz.components.packing import pack
from attnviz.components.registration import component
from attnviz.components.updates import acknowledged, pin_handler

EXACT_CELLS = 2**17
"""Matrices with up to this many cells (362 × 362) are sent as float32, larger ones with 16 bits per cell."""
_LEVELS = 2**16 - 2
_MISSING = 2**16 - 1


def comparison(
    header: Mapping[str, Any],
    matrices: Mapping[str, npt.NDArray[np.float32]] | None,
    *,
    key: str,
    on_pin: Callable[[int | None, int | None], None],
) -> None:
    """Mount the comparison.

    Args:
        header: `trace` (an id: equal ids have equal numbers), `panels` (name, title, role, low, high, scale of each
            matrix), `labels` (of the aligned rows, "query", and columns, "key"), `own` (for "a" and "b" and each axis,
            the label at each aligned position or null), `hidden` (what a hatched cell of an aligned token means, or
            null), `q` and `k` (the pinned cell or null), `alt` (the text alternative).
        matrices: "a", "b" and "difference", (P, R) float32 each, and optionally "divergence", (P, 1), between the rows
            of A and B in bits; NaN where finite is no number. None if only the pin has changed: then the header is
            `trace`, `q` and `k`, and a browser without that trace requests the full payload.
        key: the Streamlit key.
        on_pin: called with the pinned row and column before the script reruns; both are None when it is unpinned.
    """
    coded, ranges = {}, {}
    for name, matrix in (matrices or {}).items():
        coded[name], ranges[name] = encode(matrix)
    data = pack({**header, "ranges": ranges, "acknowledged": acknowledged(key)}, coded)
    # A request for the full payload reruns the page, and only a rerun after a pin sends the pin alone.
    component("compare")(data=data, key=key, on_updates_change=pin_handler(key, on_pin), on_want_change=lambda: None)


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
