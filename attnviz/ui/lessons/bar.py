"""The bar of an open lesson, on every page: the scene's text, and controls to change the scene or leave.

Next first moves within the scene: it reveals the answer to a question, then goes through the scene's own steps.

On the same page, a callback opens a scene by setting the address; on another page, a link does. Both keep the session
and add one entry per scene to the browser's history.
"""

from __future__ import annotations

from html import escape

import streamlit as st

from attnviz.lessons.targets import html
from attnviz.links.pages import PAGES
from attnviz.ui import state
from attnviz.ui.lessons import state as lesson_state
from attnviz.ui.lessons.state import CurrentScene, LessonRecord
from attnviz.ui.messages import plain
from attnviz.ui.places import page_link
from attnviz.ui.styles import style

LONG = 240
"""A text of more characters has smaller type in lecture mode: it would have four lines, or three full ones"""


def show(page: str) -> None:
    """Open the scene that a callback has requested; then show the bar if a lesson is open."""
    kept = state.record(LessonRecord)
    target, kept.target = kept.target, None
    if target is not None:
        state.go_to_page(PAGES[target.scene.page].script, lesson_state.link_to(target))
    here = lesson_state.here()
    if here is None:
        return
    _open(here)
    done = 100 * here.number / len(here.lesson.scenes)
    st.html(style("lesson"))
    if state.get("lecture"):
        st.html(style("lesson_lecture"))
    st.html(f"<style>:root {{ --done: {done:.1f}%; }}</style>")
    with st.container(key="lesson_bar", horizontal=True, vertical_alignment="center"):
        if _step_beside(here, -1):
            _step_control("scene_back", "Previous step", ":material/chevron_left:", -1)
        else:
            _scene_control("scene_back", "Previous scene", ":material/chevron_left:", here.at(here.number - 1), page)
        st.html(_text(here, page))
        _outline(here, page)
        _scene_control("lesson_back", "Back to the scene as it was", ":material/restart_alt:", here, page)
        if _has_question(here, page):
            with st.container(key="scene_on"):
                st.button("Reveal", key="lesson_reveal", type="primary", on_click=go, args=(1,))
        elif _step_beside(here, 1):
            _step_control("scene_on", "Next", ":material/chevron_right:", 1)
        else:
            _scene_control("scene_on", "Next", ":material/chevron_right:", here.at(here.number + 1), page)
        st.button(
            "Leave the lesson",
            key="lesson_leave",
            icon=":material/close:",
            type="tertiary",
            on_click=lesson_state.leave,
        )


def is_open() -> bool:
    """Whether a lesson is open."""
    return bool(state.get("lesson")) and lesson_state.find(state.get("lesson")) is not None


def hides(part: str) -> bool:
    """Whether a control or a text leaves the page: in a scene in lecture mode, unless the scene's sentence names it.

    Nothing leaves another page than the scene's.
    """
    here = lesson_state.here()
    if here is None or not state.get("lecture") or here.scene.page != state.page():
        return False
    return all(mark.target.item != part for mark in here.scene.said.marks)


def go(by: int) -> None:
    """Go forward (1) or back (-1), from a callback: first to a question's answer, then through the scene's steps."""
    here = lesson_state.here()
    if here is None:
        return
    if by > 0 and lesson_state.asks():
        lesson_state.reveal()
        return
    step = _step_beside(here, by)
    if step is not None:
        state.put(PAGES[here.scene.page].step_key, step)
        return
    scene = here.at(here.number + by)
    if scene is not None:
        state.record(LessonRecord).target = scene


def _open(here: CurrentScene) -> None:
    """Open the scene's page and view if the link has no key of the page's views."""
    if not state.is_opening_link() or state.notes():
        return
    if state.opened_bare() and "lesson" in st.query_params:
        state.go_to_page(PAGES[here.scene.page].script, lesson_state.link_to(here))


def _scene_control(key: str, label: str, icon: str, there: CurrentScene | None, page: str) -> None:
    """Show the control that opens a scene: a button if the scene is on this page, else a link."""
    with st.container(key=key, width="content"):
        if there is None or there.scene.page == page:
            st.button(label, key=f"{key}_button", icon=icon, disabled=there is None, on_click=_visit, args=(there,))
        else:
            page_link(there.scene.page, label, lesson_state.link_to(there), icon=icon)


def _step_beside(here: CurrentScene, by: int) -> str | None:
    """Return the scene's step after (1) or before (-1) the open one; None if there is none."""
    return here.scene.step_beside(state.get(PAGES[here.scene.page].step_key), by)


def _step_control(key: str, label: str, icon: str, by: int) -> None:
    with st.container(key=key, width="content"):
        st.button(label, key=f"{key}_button", icon=icon, on_click=go, args=(by,))


def _visit(there: CurrentScene | None) -> None:
    if there is not None:
        state.visit(lesson_state.link_to(there))


def _has_question(here: CurrentScene, page: str) -> bool:
    """Whether the scene shows a question without its answer."""
    return page == here.scene.page and lesson_state.asks()


def _text(here: CurrentScene, page: str) -> str:
    """Return the text of the bar as HTML: the title, and the question or the sentence."""
    text = here.scene.asked if _has_question(here, page) else here.scene.said
    shown = html(text) if page == here.scene.page else escape(text)
    length = len(here.scene.title) + sum(len(piece) for piece, _ in text.pieces())
    look = 'class="lesson-says"' + (' data-length="long"' if length > LONG else "")
    return f"<div {look}><b>{escape(here.scene.title)}</b> {shown}</div>"


@st.fragment
def _outline(here: CurrentScene, page: str) -> None:
    """Show the scene's number, and all scenes in a popover. A fragment, so opening it does not rerun the page."""
    count = len(here.lesson.scenes)
    # The key contains the scene, so the popover closes when another scene opens.
    with st.popover(f"{here.number} of {count}", key=f"lesson_outline_{here.number}", on_change="rerun") as outline:
        if outline.open:
            st.markdown(f"**{plain(here.lesson.title)}**")
            with st.container(key="lesson_list"):
                _list(here, page)


def _list(here: CurrentScene, page: str) -> None:
    for number, scene in enumerate(here.lesson.scenes, 1):
        there = here.at(number)
        label = f"{number} · {plain(scene.title)}"
        label = f"**{label}**" if number == here.number else label
        if there is not None and scene.page == page:
            if st.button(label, key=f"lesson_to_{number}", type="tertiary"):
                state.record(LessonRecord).target = there
                st.rerun()
        elif there is not None:
            page_link(scene.page, label, lesson_state.link_to(there))
