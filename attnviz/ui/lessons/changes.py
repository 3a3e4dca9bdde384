"""Changes of the visitor's own lesson, each of which can be undone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import streamlit as st

from attnviz.lessons import MAX_SCENES, OWN, Lesson, LessonError, Scene, check_scene, write_lesson
from attnviz.ui.lessons import state as lesson_state

NEW = Lesson(OWN, "My lesson", "", ())
_BEFORE = "lesson_before"
"""What was done to the lesson, and the lesson before it, newest last"""
_REFUSED = "lesson_refused"
_MOST = 20
"""The most changes that can be undone"""


def own() -> Lesson:
    """Return the visitor's own lesson, or one without scenes."""
    return lesson_state.own() or NEW


def keep(lesson: Lesson | None, done: str) -> None:
    """Keep a changed lesson; None drops it. `done` completes "Undo: "."""
    before = st.session_state.get(_BEFORE, [])
    st.session_state[_BEFORE] = [*before, (done, lesson_state.own())][-_MOST:]
    lesson_state.keep(lesson)


def keep_scenes(scenes: Sequence[Scene], done: str) -> None:
    """Keep the lesson with these scenes.

    Raises:
        LessonError: a scene is invalid, there are too many, or the file would be too large to read.
    """
    for scene in scenes:
        check_scene(scene)
    if len(scenes) > MAX_SCENES:
        raise LessonError(f"The lesson has {MAX_SCENES} scenes, the maximum.")
    lesson = replace(own(), scenes=tuple(scenes))
    write_lesson(lesson)
    keep(lesson, done)


def last() -> str:
    """Return what was done last; "" if there is nothing to undo."""
    before = st.session_state.get(_BEFORE)
    return before[-1][0] if before else ""


def undo() -> None:
    """Undo the last change, from a callback."""
    before = st.session_state.get(_BEFORE)
    if before:
        _, lesson = before.pop()
        lesson_state.keep(lesson)


def refuse(why: LessonError) -> None:
    """Note, from a callback, why a change was refused."""
    st.session_state[_REFUSED] = str(why)


def refused() -> str:
    """Return why the last change was refused, once; "" if it was not."""
    why: str = st.session_state.pop(_REFUSED, "")
    return why
