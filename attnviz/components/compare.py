"""The picture of a comparison: A, B and A − B on one board, and the two numbers of the cell under the pointer."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from attnviz.components.packing import pack
from attnviz.components.registration import component
from attnviz.components.updates import acknowledged, pin_handler

EXACT_CELLS = 2**17
"""Matrices of up to so many cells (362 × 362) go to the browser as they are, larger ones in 16 bits a cell."""
_LEVELS = 2**16 - 2
_MISSING = 2**16 - 1


def comparison(
    header: Mapping[str, Any],
    matrices: Mapping[str, npt.NDArray[np.float32]] | None,
    *,
    key: str,
    on_pin: Callable[[int | None, int | None], None],
) -> None:
    """Mount the picture.

    Args:
        header: `trace` (names all that shapes the numbers), `panels` (name, title, role, low, high, scale of each
            matrix), `labels` (of the aligned rows, "query", and columns, "key"), `own` (for "a" and "b",
            each axis, the label in each aligned place or null), `hidden` (what a hatched cell that is there means, or
            null), `q` and `k` (the pinned place or null), `alt` (what the
            picture shows, for those who do not see it).
        matrices: "a", "b" and "difference", (P, R) float32 each, and "divergence", (P, 1), the bits between two rows,
            where there is one; NaN where there is no number. None, with a header of `trace`, `q` and `k`
            alone, where the browser has the picture and only the pin is another; where it has not, it asks for all.
        key: the Streamlit key.
        on_pin: called with the pinned row and column, before the script runs again; both None when it is unpinned.
    """
    coded, ranges = {}, {}
    for name, matrix in (matrices or {}).items():
        coded[name], ranges[name] = encode(matrix)
    data = pack({**header, "ranges": ranges, "acknowledged": acknowledged(key)}, coded)
    # A browser that asks for all makes the page run, and only a run that follows on a pin sends the pin alone.
    component("compare")(data=data, key=key, on_updates_change=pin_handler(key, on_pin), on_want_change=lambda: None)


def encode(matrix: npt.NDArray[np.float32]) -> tuple[npt.NDArray[Any], list[float] | None]:
    """Return a matrix as it goes to the browser, and the range that 16-bit numbers cover, or None where it is exact.

    In 16 bits a number is its range's low end plus level / 65534 of the range; 65535 stands for no number. So none is
    further from its float32 than 1/131068 of the range: 7.7e-6 for weights that go from 0 to 1.
    """
    if matrix.size <= EXACT_CELLS:
        return matrix, None
    there = np.isfinite(matrix)
    low, high = (float(matrix[there].min()), float(matrix[there].max())) if there.any() else (0.0, 1.0)
    levels = (matrix.astype(np.float64) - low) * (_LEVELS / ((high - low) or 1.0))
    coded = np.where(there, np.rint(np.where(there, levels, 0)), _MISSING).astype(np.uint16)
    return coded, [low, high]
