"""Tabs of the page Start: the shipped lessons and examples, all scenes, and checks before class."""

from __future__ import annotations

from html import escape

import streamlit as st

from attnviz.lessons import gallery, shipped
from attnviz.settings import settings
from attnviz.ui.lessons import state as lesson_state
from attnviz.ui.lessons.state import CurrentScene, LessonRecord
from attnviz.ui.messages import plain
from attnviz.ui.page_links import page_link
from attnviz.ui.state import record

SAYS = (
    "attnviz shows what attention computes in a real BERT and in small models, on your own text, down to the last "
    "number. Open a lesson, or an example and change its words."
)
ACROSS = 3
"""Lessons in a row, with all their scenes"""


def show_start() -> None:
    """Say what the app is, and show the shipped lessons and the example sentences as cards."""
    st.html(f'<p class="start-says">{SAYS}</p><h2 class="start-title">Lessons</h2>')
    with st.container(key="lesson_cards"):
        for lesson in shipped().values():
            first = CurrentScene(lesson, 1)
            summary = f"{lesson.summary.partition('. ')[0].rstrip('.')}." if lesson.summary else ""
            with st.container(key=f"lesson_start_{lesson.name}", border=True, gap=None):
                page_link(first.scene.page, f"**{plain(lesson.title)}**", lesson_state.link_to(first, lecture=True))
                st.html(f"<p>{escape(summary)} {len(lesson.scenes)} scenes.</p>")
    st.html('<h2 class="start-title">Examples, each with a head of a real BERT that does something clear on it</h2>')
    with st.container(key="example_cards"):
        for number, example in enumerate(gallery()):
            with st.container(key=f"example_card_{number}", border=True, gap=None):
                page_link("step_by_step", f"**{plain(example.title)}**", example.link("step_by_step"))
                st.html(f"<q>{escape(example.text)}</q><p>{escape(example.said)}</p>")


def show_scenes() -> None:
    """Show all scenes of the shipped lessons."""
    lessons = tuple(shipped().values())
    for start in range(0, len(lessons), ACROSS):
        row = lessons[start : start + ACROSS]
        for column, lesson in zip(st.columns(len(row), border=True), row, strict=True):
            with column:
                st.html(f'<div class="lesson-card"><h2>{escape(lesson.title)}</h2></div>')
                if lesson.summary:
                    st.caption(plain(lesson.summary))
                for number, scene in enumerate(lesson.scenes, 1):
                    link = lesson_state.link_to(CurrentScene(lesson, number))
                    page_link(scene.page, f"{number} · {plain(scene.title)}", link)


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
