"""The picture of a comparison: the payload with A, B and their difference, and the pinned cell."""

from __future__ import annotations

from collections.abc import Mapping

import streamlit as st

from attnviz.components.compare import comparison
from attnviz.export.comparison import Compared
from attnviz.links.link import STRETCH
from attnviz.ui import state

CHOSEN = ("q", "k", "focus")
"""The link keys of what a user chooses in the picture"""
_SENT, _CHOSEN = "compare_sent", "compare_chosen"
"""The digest of the picture last sent, and of the picture in which the user has chosen something. If both are equal and
the picture has not changed, the payload contains what is chosen only."""


def show_picture(compared: Compared) -> None:
    """Show A, B and their difference on one board, with the pinned cell."""
    stretch = STRETCH[state.get("stretch")]
    chosen = {**_pin(compared.labels), "focus": _focus(compared)}
    known = {"trace": compared.digest(stretch=stretch), **chosen}
    is_known = st.session_state.pop(_CHOSEN, None) == known["trace"]
    with st.container(key="comparison"):
        comparison(
            known if is_known else {**compared.header(stretch=stretch), **known},
            None if is_known else compared.matrices(),
            key="compare_picture",
            on_update=_take,
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


def _focus(compared: Compared) -> str:
    """Read the matrix that takes the whole picture from the view; reset one that is not there, with a note."""
    focus: str = state.get("focus")
    if focus and focus not in compared.matrices():
        state.note(f"The comparison shows no matrix {focus}, so all are shown.")
        state.put("focus", "")
        return ""
    return focus


def _take(values: Mapping[str, object]) -> None:
    pin = values.get("pin")
    state.take({**values, **(pin if isinstance(pin, Mapping) else {})}, CHOSEN)
    st.session_state[_CHOSEN] = st.session_state.get(_SENT)
