"""The other tabs of the page Lessons: the shipped lessons, the example sentences, and the checks before class."""

from __future__ import annotations

from html import escape

import streamlit as st

from attnviz.lessons import Example, Lesson, gallery, shipped
from attnviz.settings import settings
from attnviz.ui.lessons import state as lesson_state
from attnviz.ui.lessons.state import CurrentScene, LessonRecord
from attnviz.ui.messages import plain
from attnviz.ui.page_links import page_link
from attnviz.ui.state import record

ACROSS = 3
"""Lessons in a row"""


def show_shipped() -> None:
    """Show the shipped lessons with their outlines."""
    lessons = tuple(shipped().values())
    for start in range(0, len(lessons), ACROSS):
        row = lessons[start : start + ACROSS]
        for column, lesson in zip(st.columns(len(row), border=True), row, strict=True):
            with column:
                _card(lesson)


def _card(lesson: Lesson) -> None:
    st.html(f'<div class="lesson-card"><h2>{escape(lesson.title)}</h2></div>')
    if lesson.summary:
        st.caption(plain(lesson.summary))
    first = CurrentScene(lesson, 1)
    with st.container(key=f"lesson_start_{lesson.name}"):
        link = lesson_state.link_to(first, lecture=True)
        page_link(first.scene.page, f"Start, {len(lesson.scenes)} scenes", link, icon=":material/play_arrow:")
    for number in range(1, len(lesson.scenes) + 1):
        there = CurrentScene(lesson, number)
        page_link(there.scene.page, f"{number} · {plain(there.scene.title)}", lesson_state.link_to(there))


def show_gallery() -> None:
    """Show the example sentences, each with the figure that supports it."""
    st.caption(
        "Each sentence is here because a measure says that one head of the built-in model does something clear on it. "
        "Layers and heads count from 0."
    )
    columns = st.columns(3)
    for index, example in enumerate(gallery()):
        with columns[index % len(columns)].container(border=True):
            _example(example)


def _example(example: Example) -> None:
    at = f"layer {example.layer} · head {example.head}"
    st.html(
        f'<div class="example"><b>{escape(example.title)}</b> <span>{at}</span>'
        f"<q>{escape(example.text)}</q>{escape(example.said)}</div>"
    )
    with st.container(horizontal=True):
        for page, label in (("heads", "Heads"), ("step_by_step", "Step by step")):
            page_link(page, label, example.link(page), icon=":material/arrow_forward:")


MARKS = {
    "ok": ":green[:material/check_circle:]",
    "warn": ":orange[:material/warning:]",
    "fail": ":red[:material/error:]",
}


def show_ready() -> None:
    """Show the checks and their results; not on a public server, where the machine's details are private."""
    if settings().public:
        st.info("These checks are for the person who runs the server: python \\-m attnviz ready")
        return
    st.caption(plain("Checks everything that a lecture needs. In a terminal: python -m attnviz ready"))
    kept = record(LessonRecord)
    if st.button("Check now", key="check_ready"):
        with st.spinner("Checking …"):
            from attnviz.ready import checks
            from attnviz.ui import caches

            kept.checks = tuple(checks(load=lambda: caches.model("minilm")))
    for check in kept.checks:
        line = f"{MARKS[check.state]} **{plain(check.name)}**: {plain(check.detail)}"
        st.markdown(f"{line}  \n→ {plain(check.advice)}" if check.advice else line)
