"""The popover "Share": the view's address as text and QR code, and the view as a scene file."""

from __future__ import annotations

import streamlit as st

from attnviz.components.share import share
from attnviz.hosts import address_for_others
from attnviz.lessons import OWN, PATHS, Lesson, LessonError, Scene, write_lesson
from attnviz.lessons.scene import query_of
from attnviz.ui import state
from attnviz.ui.messages import plain

_ASKED = "share_asked"
"""The address of the QR code that this session requested last."""
TITLE, SENTENCE = "A shared view", "Made with Share in attnviz."


def show_share(page: str) -> None:
    """Show the address, the QR code and the scene file of the view."""
    st.markdown("**Share this view**")
    host = address_for_others(st.get_option("server.address"))
    share(st.session_state.get(_ASKED, ""), host=host, key="share_link", on_code=_take_code)
    if page not in PATHS:
        return  # the page Lessons can't be a scene
    try:
        file = scene_file(page, query_of(state.link()))
    except LessonError as why:
        st.caption(plain(str(why)))
        return
    st.download_button(
        "Scene file", file, "attnviz-scene.yaml", "application/yaml", key="scene_file", icon=":material/download:",
        on_click="ignore", width="stretch", help="The view as a small file, however long its text is.",
    )  # fmt: skip
    st.caption("A scene file opens on the page Lessons, here or in anybody's attnviz.")


def scene_file(page: str, query: str) -> str:
    """Return a view as a lesson of one scene, in YAML.

    Raises:
        LessonError: the view exceeds the size of a lesson.
    """
    return write_lesson(Lesson(OWN, TITLE, SENTENCE, (Scene(TITLE, SENTENCE, page, query),)))


def _take_code(address: str) -> None:
    st.session_state[_ASKED] = address
