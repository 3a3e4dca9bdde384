"""Lecture mode: type that is read from the last row of a hall, no side bar, no chrome, one idea a screen."""

from __future__ import annotations

from functools import partial

import streamlit as st

from attnviz.components.lecture import keyboard
from attnviz.ui import state
from attnviz.ui.lecture import keys
from attnviz.ui.lecture.look import CSS
from attnviz.ui.lessons import state as lesson_state


def begin(page: str) -> None:
    """Listen to the keys of a page, and where the view says so put it into lecture mode."""
    lecture = state.get("lecture")
    if lecture:
        st.html(CSS)
    lines = [{"shown": line.shown, "says": line.says, "sends": line.sends} for line in keys.lines(page)]
    keyboard(
        lines, lesson_state.for_browser(), lecture=lecture, key="keys",
        on_act=partial(keys.act, page), on_lesson=lesson_state.take_back,
    )  # fmt: skip


def switch() -> None:
    """Show the button that goes into lecture mode. It may stand in a fragment."""
    if st.button("Lecture", icon=":material/present_to_all:", key="lecture_switch", help="L; all keys: ?"):
        state.put("lecture", True)
        st.rerun()
