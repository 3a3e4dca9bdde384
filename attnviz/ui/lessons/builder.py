"""Building a lesson from Share: the current view becomes a scene of one's own lesson, or replaces one's view."""

from __future__ import annotations

from dataclasses import replace

import streamlit as st

from attnviz.lessons import OWN, PATHS, LessonError, Scene
from attnviz.lessons.scene import MARKS, MAX_CHARACTERS, WALKED, covers, first_step, query_of
from attnviz.ui import state
from attnviz.ui.lessons import changes
from attnviz.ui.messages import plain


def show_add(page: str) -> None:
    """Show the forms that put the current view into the visitor's lesson. They may be in a fragment."""
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
        _add(_scene(page, title or "", sentence or "", question or ""))
    if changes.own().scenes:
        _show_replace(page)


def _show_replace(page: str) -> None:
    scenes = changes.own().scenes
    labels = [f"{number} · {scene.title}" for number, scene in enumerate(scenes, 1)]
    here = state.get("scene") - 1 if state.get("lesson") == OWN else len(scenes) - 1
    with st.form("lesson_replace", border=False):
        at = st.selectbox(
            "Or replace the view of a scene, which keeps its words", range(len(scenes)),
            index=min(max(here, 0), len(scenes) - 1), format_func=labels.__getitem__, key="lesson_replace_at",
        )  # fmt: skip
        replaced = st.form_submit_button("Replace its view", icon=":material/swap_horiz:")
    if replaced and at in range(len(scenes)):
        _replace(at, page)


def _scene(page: str, title: str, sentence: str, question: str) -> Scene:
    return Scene(title.strip(), sentence.strip(), page, query_of(state.link()), question.strip())


def _add(scene: Scene) -> None:
    scenes = (*changes.own().scenes, scene)
    if _keep(scenes, f"add scene {len(scenes)}"):
        says = f"Scene {len(scenes)} of your lesson. It is listed on the page Lessons."
        st.toast(says, icon=":material/check:")


def _replace(at: int, page: str) -> None:
    """Replace the view of a scene. Its question and steps go, where the view is one that can't have them."""
    scenes = list(changes.own().scenes)
    before = scenes[at]
    view = _scene(page, before.title, before.sentence, "")
    asks = covers(page, view.values())
    known = WALKED.get(page, {})
    steps = tuple(step for step in before.steps if step in known and step != first_step(page, view.values()))
    scenes[at] = replace(view, question=before.question if asks else "", steps=steps)
    if _keep(tuple(scenes), f"replace the view of scene {at + 1}"):
        lost = " It asks no question now." if before.question and not asks else ""
        st.toast(f"Scene {at + 1} of your lesson shows this view.{lost}", icon=":material/check:")


def _keep(scenes: tuple[Scene, ...], done: str) -> bool:
    try:
        changes.keep_scenes(scenes, done)
    except LessonError as why:
        st.error(plain(str(why)))
        return False
    return True
