"""The picture of a comparison: the payload with A, B and their difference, and the pinned cell."""

from __future__ import annotations

import streamlit as st

from attnviz.components.compare import comparison
from attnviz.export.comparison import Compared
from attnviz.ui import state

_SENT, _PINNED = "compare_sent", "compare_pinned"
"""The digest of the picture last sent, and of the picture in which the user pinned a cell. If both are equal and the
picture has not changed, the payload contains the pin only."""


def show_picture(compared: Compared) -> None:
    """Show A, B and their difference on one board, with the pinned cell."""
    stretch = state.get("stretch")
    known = {"trace": compared.digest(stretch=stretch), **_pin(compared.labels)}
    only_pinned = st.session_state.pop(_PINNED, None) == known["trace"]
    with st.container(key="comparison"):
        comparison(
            known if only_pinned else {**compared.header(stretch=stretch), **known},
            None if only_pinned else compared.matrices(),
            key="compare_picture",
            on_pin=_take_pin,
        )
    st.session_state[_SENT] = known["trace"]


def _pin(labels: dict[str, list[str]]) -> dict[str, int | None]:
    """Read the pin from the view; reset a pin outside the picture, with a note."""
    pin: dict[str, int | None] = {}
    for name, kind, axis in (("q", "query", "row"), ("k", "key", "column")):
        value = state.get(name)
        if value is not None and value >= len(labels[kind]):
            state.note(f"The pinned {axis} {value} does not exist: there are {axis}s 0 to {len(labels[kind]) - 1}.")
            state.put(name, None)
            value = None
        pin[name] = value
    return pin


def _take_pin(q: int | None, k: int | None) -> None:
    state.put("q", q)
    state.put("k", k)
    st.session_state[_PINNED] = st.session_state.get(_SENT)
