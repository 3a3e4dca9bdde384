"""The shared parts of every page: style sheet, toolbar, text field, and notes about the link."""

from __future__ import annotations

from html import escape

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from attnviz.components.bundle import styles
from attnviz.links.pages import PAGES
from attnviz.settings import settings
from attnviz.tokens import Tokens
from attnviz.ui import lecture, state, toolbar
from attnviz.ui.guide import examples, message, surprise
from attnviz.ui.lessons import bar as lesson_bar
from attnviz.ui.messages import busy_note, plain
from attnviz.ui.styles import style
from attnviz.ui.tokens.chips import unknown_sentence


def begin(page: str, *, with_text: bool = True, exports: toolbar.Tabs = toolbar.NONE) -> DeltaGenerator:
    """Begin a page: read the link, handle shortcuts, show the toolbar and the text field.

    A page that calls `text_field` itself says so with `with_text`; `exports` are tabs of Export of its own. Returns the
    place of the text field.
    """
    state.begin(page)
    state.sync_widget("text")
    st.set_page_config(page_title=PAGES[page].tab_title)
    st.html(f'<h1 class="page-title">{escape(PAGES[page].title)}</h1>')
    st.html(style("base"))
    st.html(f"<style>{styles('marks/marks.css')}</style>")
    toolbar.show(page, exports)
    lecture.begin(page)
    for sentence in state.notes():
        st.warning(plain(sentence), icon=":material/link:")
    busy_note()
    lesson_bar.show(page)
    place = _text_of(page, with_field=with_text) if "text" in PAGES[page].keys else st.container()
    message.show()
    return place


def _text_of(page: str, *, with_field: bool) -> DeltaGenerator:
    """Show the text field, or return its place only, with the buttons beside it."""
    with st.sidebar, st.container(key="text_field"):
        place = st.container(key="text_place")
        if with_field:
            text_field(place)
        _text_tools(page)
    return place


def text_field(place: DeltaGenerator) -> None:
    """Show the text field in its place. In a fragment, a new text runs the page if more of it tells of the text."""
    before = state.get("text")
    with place:
        value = state.bound(
            "text", st.text_area, "Text", height=88, max_chars=settings().largest_text, placeholder="Type a sentence"
        )
    if value != before and state.in_fragment() and (state.notes() or state.is_elsewhere() or message.is_about(before)):
        st.rerun()


def _text_tools(page: str) -> None:
    """Show example sentences, and on pages with heads the button "Surprise me"."""
    with st.container(key="text_tools", horizontal=True, gap="xxsmall"):
        if page in surprise.PAGES:
            surprise.show_button(page)
        if page != "lessons":  # it has a tab of them
            examples.show_examples(page)


def text() -> str:
    """Return the text. If it is blank, show what to do and end the page."""
    value: str = state.get("text")
    if not value.strip():
        where = "on the left (on a phone, behind the » at the top)"
        if state.get("lecture"):  # lecture mode has no sidebar
            where = "after pressing L"
        st.info(f"Type a sentence {where} to see what attention does with it.")
        state.end(("text",))
        st.stop()
    return value


def token_notes(tokens: Tokens) -> None:
    """Warn about dropped and unknown tokens."""
    if tokens.dropped:
        st.warning(f"Only the first {len(tokens)} tokens are used; {tokens.dropped} were dropped.")
    unknown = unknown_sentence(tokens)
    if unknown:
        st.warning(plain(unknown[0].upper() + unknown[1:] + "."))
