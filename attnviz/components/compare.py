"""The component of a comparison: heatmaps of A, B and A − B, and the numbers of the cell under the pointer."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from attnviz.compare.matrices import encode
from attnviz.components.updates import mount_with_updates


def comparison(
    header: Mapping[str, Any],
    matrices: Mapping[str, npt.NDArray[np.float32]] | None,
    *,
    key: str,
    on_update: Callable[[Mapping[str, object]], None],
) -> None:
    """Mount the comparison.

    Args:
        header: `trace` (an id: equal ids have equal numbers), `panels` (name, title, role, low, high, scale of each
            matrix), `labels` (of the aligned rows, "query", and columns, "key"), `own` (for "a" and "b" and each axis,
            the label at each aligned position or null), `hidden` (what a hatched cell of an aligned token means, or
            null), `q` and `k` (the pinned cell or null), `focus` (the matrix that takes the whole picture, or ""),
            `alt` (the text alternative).
        matrices: "a", "b" and "difference", (P, R) float32 each, and optionally "divergence", (P, 1), between the rows
            of A and B in bits; NaN where finite is no number. None if only what is chosen has changed: then the header
            is `trace`, `q`, `k` and `focus`, and a browser without that trace requests the full payload.
        key: the Streamlit key.
        on_update: called with what a user has chosen before the script reruns: `pin`, of `q` and `k`, or `focus`.
    """
    coded, ranges = {}, {}
    for name, matrix in (matrices or {}).items():
        coded[name], ranges[name] = encode(matrix)
    full_header = {**header, "ranges": ranges}
    # A request for the full payload reruns the page, and only a rerun after an update sends what is chosen alone.
    mount_with_updates("compare", full_header, coded, key=key, on_update=on_update, on_want_change=lambda: None)
