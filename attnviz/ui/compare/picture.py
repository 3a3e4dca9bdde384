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
    row, column = state.keep_pin(len(compared.labels["query"]), len(compared.labels["key"]), "there are")
    chosen = {"q": row, "k": column, "focus": _focus(compared)}
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
    state.apply_from_browser({**values, **(pin if isinstance(pin, Mapping) else {})}, CHOSEN)
    st.session_state[_CHOSEN] = st.session_state.get(_SENT)
