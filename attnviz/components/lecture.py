"""The keys of every page, the list of them, and in lecture mode the way out: one small component in the browser.

Being on every page, it also keeps the lesson of one's own, for as long as its tab is open, and sees to it that a
change of page is one entry in the browser's history.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import streamlit as st

from attnviz.components.packing import pack
from attnviz.components.registration import component


def keyboard(
    lines: Sequence[dict[str, Any]],
    own: Mapping[str, str | None],
    *,
    lecture: bool,
    key: str,
    on_act: Callable[[str], None],
    on_lesson: Callable[[str], None],
) -> None:
    """Mount the listener.

    Args:
        lines: the list of keys, in its order: `shown` (the keys as they are written), `says` (what they do) and `sends`
            (a press such as "h" or "Shift+h" → the name of what it does). A button of the page whose Streamlit key is
            that name is pressed; "pin", "listing", "theme" and "help" the browser does itself; all else is sent.
        own: `lesson`, the text of one's own lesson: the browser keeps it, and where it is empty keeps none. Without it
            the session has not heard of one, and a browser that has one tells it; where it is None, any browser does,
            by an empty text if it has none.
        lecture: whether the page is in lecture mode, where Esc leaves it and two small buttons are shown.
        key: the Streamlit key.
        on_act: called with the name of what is to be done, before the script runs again. Anybody can send anything.
        on_lesson: called in the same way with the lesson that the browser has kept.
    """

    def told(name: str, on_text: Callable[[str], None]) -> None:
        sent = st.session_state[key].get(name)
        if isinstance(sent, str):
            on_text(sent)

    component("lecture")(
        data=pack({"lines": list(lines), "lecture": lecture, **own}, {}),
        key=key,
        on_act_change=partial(told, "act", on_act),
        on_lesson_change=partial(told, "lesson", on_lesson),
    )
