"""The head strip: every head of a layer as a thumbnail to choose from."""

from __future__ import annotations

from collections.abc import Callable

import streamlit as st

from attnviz.components.registration import component, position


def head_strip(payload: bytes, *, key: str, on_head: Callable[[int], None]) -> None:
    """Mount a strip of one button a head.

    `payload` is `packing.pack(header, arrays)` with the header's `selected` and `layer_label` ("layer 3"), the uint8
    array `weights` (H, n, m) from `thumbnails.thumbnails`, and, if cells are masked, the uint8 array `hidden` (n, m)
    from `thumbnails.hidden_thumbnail`.

    `on_head(head)` is called, before the script runs again, when another head is chosen.
    """

    def chosen() -> None:
        head = position(st.session_state[key].head)
        if head is not None:
            on_head(head)

    component("heads")(data=payload, key=key, on_head_change=chosen)
