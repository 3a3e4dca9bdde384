"""Lecture mode: type that the last row of a hall can read, no sidebar and no controls."""

from __future__ import annotations

from functools import partial

import streamlit as st

from attnviz.components.lecture import keyboard
from attnviz.ui import state
from attnviz.ui.lecture import keys
from attnviz.ui.lessons import state as lesson_state
from attnviz.ui.styles import style


def begin(page: str) -> None:
    """Mount the keyboard shortcuts of a page, and apply lecture mode if the view has it."""
    lecture = state.get("lecture")
    if lecture:
        st.html(style("lecture"))
    shortcuts = [
        {"shown": shortcut.shown, "says": shortcut.text, "sends": shortcut.actions} for shortcut in keys.shortcuts(page)
    ]
    keyboard(
        shortcuts, lesson_state.for_browser(), lecture=lecture, key="keys",
        on_act=partial(keys.act, page), on_lesson=lesson_state.take_back,
    )  # fmt: skip


def switch() -> None:
    """Show the button for lecture mode. It may be in a fragment."""
    if st.button("Lecture", icon=":material/present_to_all:", key="lecture_switch", help="L; all keys: ?"):
        state.put("lecture", True)
        st.rerun()
