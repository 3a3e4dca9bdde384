"""The tab with the visitor's own lesson: opened from a file or built from views, changed here, downloaded as a file."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import streamlit as st
from streamlit.runtime.uploaded_file_manager import UploadedFile

from attnviz.lessons import MAX_BYTES, OWN, Lesson, LessonError, read_lesson
from attnviz.lessons.files import write_lesson
from attnviz.lessons.scene import MAX_CHARACTERS, check_summary, check_text
from attnviz.links.pages import PAGES
from attnviz.settings import settings
from attnviz.ui.lessons import changes
from attnviz.ui.lessons import state as lesson_state
from attnviz.ui.lessons.edit import show_edit
from attnviz.ui.lessons.state import Here
from attnviz.ui.messages import plain

FORMAT = """\
title: My lesson
summary: What it is about, in a sentence or two. It may be left out.
scenes:
  - title: The first scene
    sentence: >-
      What there is to see here. [Row "you"](row=you) and [this score](row=you column=2 matrix=scores) light up in the
      picture when someone points at the words.
    link: /?text=you+can+link+to+this&source=toy&step=scores
    steps: [scaled, weights]  # Right shows these too before the next scene
  - title: The second scene
    question: What will row 3 look like?
    sentence: Shown when the row is revealed.
    page: step_by_step
    query: {source: pretrained, layer: 3, head: 1, step: weights, q: 3, predict: 1}
"""
_AT = "lesson_at"
"""The index of the scene that is chosen"""


def show_own() -> None:
    """Show the visitor's own lesson: upload, download, and its scenes to open, change, move and remove."""
    if settings().uploads:
        st.file_uploader(
            "Open a lesson file (YAML, up to 100 kB)",
            type=["yaml", "yml"],
            key="lesson_file",
            on_change=_take_file,
            max_upload_size=1,
        )
    refused = changes.refused()
    if refused:
        st.error(plain(refused))
    lesson = lesson_state.own()
    if lesson is None:
        st.caption("Or build one: go to a view, open Share at the top, and add the view as a scene.")
    else:
        _show_lesson(lesson)
    if changes.last():
        st.button(f"Undo: {plain(changes.last())}", icon=":material/undo:", key="lesson_undo", on_click=changes.undo)
    if lesson is not None and lesson.scenes:
        _show_scenes(lesson)
    with st.expander("How a lesson file is written", key="lesson_format", on_change="rerun") as written:
        if written.open:
            st.code(FORMAT, language="yaml")


def _take_file() -> None:
    """Open the uploaded file. If it is not a lesson, keep the previous one."""
    file = st.session_state.get("lesson_file")
    if not isinstance(file, UploadedFile):  # no file, or one that the server does not have
        return
    try:
        if file.size > MAX_BYTES:
            raise LessonError(f"The file has {file.size:,} bytes; at most {MAX_BYTES:,} are allowed.")
        changes.keep(read_lesson(file.getvalue(), OWN), "open a file")
    except LessonError as why:
        changes.refuse(why)


def _show_lesson(lesson: Lesson) -> None:
    for key, value in (("lesson_title", lesson.title), ("lesson_summary", lesson.summary)):
        st.session_state.setdefault(key, value)
        if st.session_state.get("lesson_shown") is not lesson:
            st.session_state[key] = value
    st.session_state["lesson_shown"] = lesson
    st.text_input("Title of the lesson", key="lesson_title", max_chars=MAX_CHARACTERS["title"], on_change=_rename)
    st.text_input(
        "What it is about (optional)", key="lesson_summary", max_chars=MAX_CHARACTERS["summary"], on_change=_rename
    )
    with st.container(horizontal=True, vertical_alignment="center"):
        if lesson.scenes:
            there = Here(lesson, 1)
            st.page_link(
                PAGES[there.scene.page].script, label="Start", icon=":material/play_arrow:",
                query_params=lesson_state.link_to(there, lecture=True),
            )  # fmt: skip
            st.download_button(
                "Download as YAML", data=lambda: write_lesson(lesson).encode(), file_name="lesson.yaml",
                mime="application/yaml", icon=":material/download:", on_click="ignore", key="lesson_download",
            )  # fmt: skip
        st.button("Start over", icon=":material/delete:", key="lesson_drop", on_click=_drop)
    st.caption("It is kept in this browser tab only: download it to keep it longer.")


def _show_scenes(lesson: Lesson) -> None:
    """Show the list of scenes, and beside it what can be done with the one that is chosen."""
    scenes = lesson.scenes
    labels = [f"{number} · {plain(scene.title)}" for number, scene in enumerate(scenes, 1)]
    st.session_state[_AT] = min(max(_chosen(), 0), len(scenes) - 1)
    listed, chosen = st.columns([2, 3], gap="medium")
    with listed:
        st.radio("Scenes", range(len(scenes)), format_func=labels.__getitem__, key=_AT)
    at = min(max(_chosen(), 0), len(scenes) - 1)
    with chosen:
        there = Here(lesson, at + 1)
        with st.container(horizontal=True, vertical_alignment="center", key="lesson_tools"):
            _tool("Up", "arrow_upward", _move(-1), disabled=at == 0)
            _tool("Down", "arrow_downward", _move(1), disabled=at == len(scenes) - 1)
            _tool("Remove", "close", _remove)
            st.page_link(
                PAGES[there.scene.page].script, label="Open", icon=":material/arrow_forward:",
                query_params=lesson_state.link_to(there),
            )  # fmt: skip
        show_edit(at)


def _tool(label: str, icon: str, act: Callable[[], None], *, disabled: bool = False) -> None:
    key = f"lesson_{label.lower()}"
    st.button(label, icon=f":material/{icon}:", key=key, disabled=disabled, on_click=act)


def _chosen() -> int:
    """Return the index of the chosen scene. A client may send any."""
    at = st.session_state.get(_AT)
    return at if isinstance(at, int) else 0


def _rename() -> None:
    lesson = lesson_state.own()
    title, summary = (str(st.session_state.get(key) or "").strip() for key in ("lesson_title", "lesson_summary"))
    try:
        check_text("title", title)
        check_summary(summary)
    except LessonError as why:
        changes.refuse(why)
        return
    if lesson is not None:
        changes.keep(replace(lesson, title=title, summary=summary), "change the lesson's title or summary")


def _move(by: int) -> Callable[[], None]:
    """Return the callback that moves the chosen scene up or down. It stays the chosen one."""

    def move() -> None:
        scenes, at = list(changes.own().scenes), _chosen()
        if not {at, at + by} <= set(range(len(scenes))):
            return
        scenes.insert(at + by, scenes.pop(at))
        changes.keep(replace(changes.own(), scenes=tuple(scenes)), f"move scene {at + 1}")
        st.session_state[_AT] = at + by

    return move


def _remove() -> None:
    scenes, at = list(changes.own().scenes), _chosen()
    if at in range(len(scenes)):
        removed = scenes.pop(at)
        changes.keep(replace(changes.own(), scenes=tuple(scenes)), f"remove “{removed.title}”")


def _drop() -> None:
    changes.keep(None, "start over")
