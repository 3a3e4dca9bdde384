"""The popover "Share": the view's address, its QR code, and the view as a scene, in a file or the visitor's lesson."""

from __future__ import annotations

from dataclasses import dataclass, replace

import streamlit as st

from attnviz.components.share import share
from attnviz.hosts import address_for_others
from attnviz.lessons import OWN, PATHS, Lesson, LessonError, Scene, write_lesson
from attnviz.lessons.lesson import MARKS, MAX_CHARACTERS, WALKED, covers, first_step, query_of
from attnviz.ui import state
from attnviz.ui.lessons import state as lesson_state
from attnviz.ui.messages import plain
from attnviz.ui.widgets import reasons_shown

TITLE, SENTENCE = "A shared view", "Made with Share in attnviz."


@dataclass(slots=True)
class _ShareRecord:
    """What a session keeps of the popover."""

    address: str = ""
    """That of the QR code that was requested last"""


def show_share(page: str) -> None:
    """Show the address, the QR code and the scene file of the view."""
    st.markdown("**Share this view**")
    host = address_for_others(st.get_option("server.address"))
    share(state.record(_ShareRecord).address, host=host, key="share_link", on_code=_take_code)
    if page not in PATHS:
        return  # the page Start can't be a scene
    with reasons_shown(LessonError):
        file = scene_file(page, query_of(state.link()))
        st.download_button(
            "Scene file", file, "attnviz-scene.yaml", "application/yaml", key="scene_file", icon=":material/download:",
            on_click="ignore", width="stretch", help="The view as a small file, however long its text is.",
        )  # fmt: skip
        st.caption("A scene file opens on the page Start, here or in anybody's attnviz.")


def scene_file(page: str, query: str) -> str:
    """Return a view as a lesson of one scene, in YAML.

    Raises:
        LessonError: the view exceeds the size of a lesson.
    """
    return write_lesson(Lesson(OWN, TITLE, SENTENCE, (Scene(TITLE, SENTENCE, page, query),)))


def _take_code(address: str) -> None:
    state.record(_ShareRecord).address = address


def show_add(page: str) -> None:
    """Show the forms that put the current view into the visitor's lesson. They can be used in a fragment."""
    if page not in PATHS:
        return
    with st.form("lesson_add", border=False):
        st.markdown("**Add this view as a scene**")
        title = st.text_input("Title", max_chars=MAX_CHARACTERS["title"], key="lesson_add_title")
        sentence = st.text_area(
            "Sentence", max_chars=MARKS * MAX_CHARACTERS["sentence"], height=80, key="lesson_add_sentence"
        )
        question = ""
        if covers(page, state.link()):
            question = st.text_input(
                "Question, asked before the answer is revealed (optional)",
                max_chars=MARKS * MAX_CHARACTERS["question"], key="lesson_add_question",
            )  # fmt: skip
        added = st.form_submit_button("Add to my lesson", icon=":material/add:")
    if added:
        scene = _scene_of(page, title or "", sentence or "", question or "")
        number = len(lesson_state.own_or_new().scenes) + 1
        if _keep_scenes((*lesson_state.own_or_new().scenes, scene), f"add scene {number}"):
            says = f"Scene {number} of your lesson. It is listed on the page Start."
            st.toast(says, icon=":material/check:")
    if lesson_state.own_or_new().scenes:
        _show_replace(page)


def _show_replace(page: str) -> None:
    scenes = lesson_state.own_or_new().scenes
    labels = [f"{number} · {scene.title}" for number, scene in enumerate(scenes, 1)]
    current = state.get("scene") - 1 if state.get("lesson") == OWN else len(scenes) - 1
    with st.form("lesson_replace", border=False):
        at = st.selectbox(
            "Or replace the view of a scene, which keeps its words", range(len(scenes)),
            index=min(max(current, 0), len(scenes) - 1), format_func=labels.__getitem__, key="lesson_replace_at",
        )  # fmt: skip
        replaced = st.form_submit_button("Replace its view", icon=":material/swap_horiz:")
    if replaced and at in range(len(scenes)):
        _replace_view(at, page)


def _scene_of(page: str, title: str, sentence: str, question: str) -> Scene:
    return Scene(title.strip(), sentence.strip(), page, query_of(state.link()), question.strip())


def _replace_view(at: int, page: str) -> None:
    """Replace the view of a scene. Its question and steps are dropped if the new view can't have them."""
    scenes = list(lesson_state.own_or_new().scenes)
    before = scenes[at]
    view = _scene_of(page, before.title, before.sentence, "")
    asks = covers(page, view.values())
    known = WALKED.get(page, {})
    steps = tuple(step for step in before.steps if step in known and step != first_step(page, view.values()))
    scenes[at] = replace(view, question=before.question if asks else "", steps=steps)
    if _keep_scenes(tuple(scenes), f"replace the view of scene {at + 1}"):
        lost = " It asks no question now." if before.question and not asks else ""
        st.toast(f"Scene {at + 1} of your lesson shows this view.{lost}", icon=":material/check:")


def _keep_scenes(scenes: tuple[Scene, ...], done: str) -> bool:
    try:
        lesson_state.change_scenes(scenes, done)
    except LessonError as why:
        st.error(plain(str(why)))
        return False
    return True
