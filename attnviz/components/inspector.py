"""The inspector component: the arithmetic of the cell under the pointer, computed in the browser."""

from __future__ import annotations

from collections.abc import Callable

from attnviz.components.registration import component
from attnviz.components.updates import pin_handler


def inspector(payload: bytes, *, key: str, on_pin: Callable[[int | None, int | None], None]) -> None:
    """Mount the inspector of the figure in the container with the key "picture".

    `payload` is `packing.pack(header, arrays)`:

    - header: `step`, `steps` (the names of all, in order), `by_cell` (of those that each cell of queries by keys has),
      `q`, `k` (the pinned cell or None), `scale`, `scale_label`, `mask` ("none", "causal" or "array"),
      `query_labels`, `key_labels`, `acknowledged` (`updates.acknowledged(key)`);
    - arrays: float32 `query` (Tq, D), `key` and `value` (Tk, D), and `mask` (Tq, Tk), added to the scaled scores, where
      the header's `mask` is "array".

    `on_pin(q, k)` is called before the script reruns when a cell is pinned; both are None when it is unpinned.
    """
    component("inspector")(data=payload, key=key, on_updates_change=pin_handler(key, on_pin))
