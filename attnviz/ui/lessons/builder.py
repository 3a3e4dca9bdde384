"""The visitor's own lesson: opened from a file or built scene by scene, kept in the session, downloaded as a file."""

from __future__ import annotations

from dataclasses import replace

import streamlit as st
from streamlit.runtime.uploaded_file_manager import UploadedFile

from attnviz.lessons import MAX_BYTES, MAX_SCENES, OWN, PATHS, Lesson, LessonError, Scene, check_scene, read_lesson
from attnviz.lessons.scene import MAX_CHARACTERS, check_text, query_of
from attnviz.lessons.writing import write_lesson
from attnviz.links.pages import PAGES
from attnviz.settings import settings
from attnviz.ui import state
from attnviz.ui.lessons import state as lesson_state
from attnviz.ui.lessons.state import Here
from attnviz.ui.plain import plain

NEW = Lesson(OWN, "My lesson", "Scenes of my own.", ())
FORMAT = """\
title: My lesson
summary: What it is about, in a sentence or two.
scenes:
  - title: The first scene
    sentence: What there is to see here.
    link: /?text=you+can+link+to+this&step=weights
  - title: The second scene
    question: What will row 3 look like?
    sentence: Shown when the row is revealed.
    page: step_by_step
    query: {source: pretrained, layer: 3, head: 1, step: weights, q: 3, predict: 1}
"""


def show_add(page: str) -> None:
    """Show the form that adds the current view to the visitor's lesson. It may be in a fragment."""
    if page not in PATHS:
        return
    with st.form("lesson_add", border=False):
        st.markdown("**Add this view as a scene**")
        title = st.text_input("Title", max_chars=MAX_CHARACTERS["title"], key="lesson_add_title")
        sentence = st.text_area("Sentence", max_chars=MAX_CHARACTERS["sentence"], height=80, key="lesson_add_sentence")
        question = ""
        if page == "step_by_step" and state.get("predict") and state.get("q") is not None:
            question = st.text_input(
                "Question, asked before the row is revealed (optional)", max_chars=MAX_CHARACTERS["question"],
                key="lesson_add_question",
            )  # fmt: skip
        added = st.form_submit_button("Add to my lesson", icon=":material/add:")
    if added:
        _add(page, title or "", sentence or "", question or "")


def _add(page: str, title: str, sentence: str, question: str) -> None:
    scene = Scene(title.strip(), sentence.strip(), page, query_of(state.link()), question.strip())
    before = lesson_state.own() or NEW
    try:
        check_scene(scene)
        if len(before.scenes) == MAX_SCENES:
            raise LessonError(f"The lesson has {MAX_SCENES} scenes, the maximum.")
        after = replace(before, scenes=(*before.scenes, scene))
        write_lesson(after)  # raises if the file would be too large to read
    except LessonError as error:
        st.error(plain(str(error)))
        return
    lesson_state.keep(after)
    st.toast(f"Scene {len(after.scenes)} of your lesson. It is listed on the page Lessons.", icon=":material/check:")


def show_own() -> None:
    """Show the visitor's own lesson: upload, download, and its scenes to open, move and remove."""
    if settings().uploads:
        st.file_uploader(
            "Open a lesson file (YAML, up to 100 kB)",
            type=["yaml", "yml"],
            key="lesson_file",
            on_change=_take_file,
            max_upload_size=1,
        )
    refused = st.session_state.pop("lesson_refused", None)
    if refused:
        st.error(plain(refused))
    lesson = lesson_state.own()
    if lesson is None:
        st.caption("Or build one: go to a view, open Share at the top, and add the view as a scene.")
    else:
        _show_lesson(lesson)
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
        lesson_state.keep(read_lesson(file.getvalue(), OWN))
    except LessonError as why:
        st.session_state["lesson_refused"] = str(why)


def _show_lesson(lesson: Lesson) -> None:
    for key, value in (("lesson_title", lesson.title), ("lesson_summary", lesson.summary)):
        st.session_state.setdefault(key, value)
        if st.session_state.get("lesson_shown") is not lesson:
            st.session_state[key] = value
    st.session_state["lesson_shown"] = lesson
    st.text_input("Title of the lesson", key="lesson_title", max_chars=MAX_CHARACTERS["title"], on_change=_rename)
    st.text_input("What it is about", key="lesson_summary", max_chars=MAX_CHARACTERS["summary"], on_change=_rename)
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
    for number in range(1, len(lesson.scenes) + 1):
        _show_scene(Here(lesson, number))


def _show_scene(there: Here) -> None:
    """Show one scene: its link, and buttons to move and remove it."""
    number, count = there.number, len(there.lesson.scenes)
    with st.container(horizontal=True, vertical_alignment="center", key=f"lesson_line_{number}"):
        for label, icon, to in (("Up", "arrow_upward", number - 1), ("Down", "arrow_downward", number + 1)):
            st.button(
                label, icon=f":material/{icon}:", key=f"lesson_{label.lower()}_{number}", disabled=not 1 <= to <= count,
                on_click=_move, args=(number, to),
            )  # fmt: skip
        st.button("Remove", icon=":material/close:", key=f"lesson_remove_{number}", on_click=_remove, args=(number,))
        st.page_link(
            PAGES[there.scene.page].script, label=f"{number} · {plain(there.scene.title)}",
            query_params=lesson_state.link_to(there),
        )  # fmt: skip


def _rename() -> None:
    lesson = lesson_state.own()
    title, summary = st.session_state.get("lesson_title") or "", st.session_state.get("lesson_summary") or ""
    try:
        check_text("title", title)
        check_text("summary", summary)
    except LessonError as why:
        st.session_state["lesson_refused"] = str(why)
        return
    if lesson is not None:
        lesson_state.keep(replace(lesson, title=title, summary=summary))


def _move(number: int, to: int) -> None:
    lesson = lesson_state.own()
    if lesson is None or not {number, to} <= set(range(1, len(lesson.scenes) + 1)):
        return
    scenes = list(lesson.scenes)
    scenes.insert(to - 1, scenes.pop(number - 1))
    lesson_state.keep(replace(lesson, scenes=tuple(scenes)))


def _remove(number: int) -> None:
    lesson = lesson_state.own()
    if lesson is not None:
        scenes = tuple(scene for at, scene in enumerate(lesson.scenes, 1) if at != number)
        lesson_state.keep(replace(lesson, scenes=scenes))


def _drop() -> None:
    lesson_state.keep(None)
