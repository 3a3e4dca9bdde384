"""The keys of every page, the list of them, and in lecture mode the way out: one small component in the browser."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import streamlit as st

from attnviz.components.packing import pack
from attnviz.components.registration import component


def keyboard(lines: Sequence[dict[str, Any]], *, lecture: bool, key: str, on_act: Callable[[str], None]) -> None:
    """Mount the listener.

    Args:
        lines: the list of keys, in its order: `shown` (the keys as they are written), `says` (what they do) and `sends`
            (a press such as "h" or "Shift+h" → the name of what it does). A button of the page whose Streamlit key is
            that name is pressed; "pin", "listing", "theme" and "help" the browser does itself; all else is sent.
        lecture: whether the page is in lecture mode, where Esc leaves it and two small buttons are shown.
        key: the Streamlit key.
        on_act: called with the name of what is to be done, before the script runs again. Anybody can send anything.
    """

    def acted() -> None:
        act = st.session_state[key].act
        if isinstance(act, str):
            on_act(act)

    component("lecture")(data=pack({"lines": list(lines), "lecture": lecture}, {}), key=key, on_act_change=acted)
