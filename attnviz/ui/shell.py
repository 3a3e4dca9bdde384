"""The shared parts of every page: style sheet, places, toolbar, text field, and notes about the link.

The toolbar, right of the places, has Settings, Share, Export and Lecture.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from html import escape
from types import MappingProxyType

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from attnviz.components.styles import styles
from attnviz.formatting import were
from attnviz.links.pages import PAGES
from attnviz.settings import settings
from attnviz.sources.shown import ShownHead, hide_word
from attnviz.tokens import Tokens
from attnviz.ui import lecture, places, side_bar, state, suggestions
from attnviz.ui.lessons import bar as lesson_bar
from attnviz.ui.messages import busy_note, plain
from attnviz.ui.styles import style
from attnviz.ui.tokens.chips import unknown_sentence

EXPORT_TABS = {
    "step_by_step": ("This picture", "All steps", "Numbers, code", "Web page"),
    "heads": ("This picture", "Web page"),
    "averages": ("This picture", "Web page"),
    "transformer": ("This picture", "All steps", "Numbers, code", "Web page"),
    "compare": ("This picture", "Web page"),
    "bert": (),
}
"""The tabs of Export, for the pages that don't have only "This picture" """
Tabs = Mapping[str, Callable[[], None]]
"""Tabs of Export for a single page: by title, the function that shows the tab"""
NO_TABS: Tabs = MappingProxyType({})
APPLY = '<button type="button" class="apply" title="Apply the text (Enter)">Apply</button>'
"""The button that sends what is typed, as Enter does: frontend/page/text_field.ts handles both"""


def begin(page: str, *, with_text: bool = True, exports: Tabs = NO_TABS) -> DeltaGenerator:
    """Begin a page: read the link, handle shortcuts, show the toolbar and the text field.

    A page that calls `text_field` itself passes `with_text=False`; `exports` are tabs of Export for this page only.
    Returns the container of the text field.
    """
    state.begin(page)
    suggestions.drop_surprise_of_others(page)
    state.sync_widget("text")
    chapter = PAGES[page].chapter(state.get)
    st.set_page_config(page_title=chapter.tab_title)
    st.html(f'<h1 class="page-title">{escape(chapter.heading)}</h1>')
    st.html(style("base"))
    st.html(f"<style>{styles('marks/marks.css')}</style>")
    places.show(page)
    _toolbar(page, exports)
    lecture.begin(page)
    state.show_notes()
    busy_note()
    lesson_bar.show(page)
    has_text = "text" in PAGES[page].keys and PAGES[page].in_lessons  # Lessons has a tab with the examples
    if not has_text:
        return st.container()
    place = _text_of(page, with_field=with_text)
    suggestions.show_message()
    return place


def _text_of(page: str, *, with_field: bool) -> DeltaGenerator:
    """Show the text field, or only its empty container, and the buttons beside it; return the container."""
    with st.container(key="text_field", horizontal=True, vertical_alignment="top", gap="xsmall"):
        place = st.container(key="text_place")
        if with_field:
            text_field(place)
        with st.container(key="text_tools", horizontal=True, gap="xsmall", width="content"):
            st.html(APPLY, width="content")
            suggestions.open_surprise(page)
            suggestions.show_examples(page)
    return place


def text_field(place: DeltaGenerator) -> None:
    """Show the text field in its container. In a fragment, a new text reruns the page if other parts depend on it."""
    before = state.get("text")
    with place:
        value = state.bound(
            "text",
            st.text_area,
            "Text",
            height="content",
            max_chars=settings().largest_text,
            label_visibility="collapsed",
            placeholder="Type a sentence",
        )
    if (
        value != before
        and state.in_fragment()
        and (state.notes() or state.is_elsewhere() or suggestions.is_about(before))
    ):
        st.rerun()


def text(names: Iterable[str] | None = None) -> str:
    """Return the text. If it is blank, show what to do and stop the page; `names` are for `state.end`."""
    value: str = state.get("text")
    if not value.strip():
        st.info(f"Type a sentence {text_place()} to see what attention does with it.")
        state.end(names)
        st.stop()
    return value


def text_place() -> str:
    """Return where a text is typed, in words: lecture mode has no text field."""
    return "after pressing L" if state.get("lecture") else "above"


def token_notes(tokens: Tokens) -> None:
    """Warn about dropped and unknown tokens."""
    sentences = []
    if tokens.dropped:
        first = "token is" if len(tokens) == 1 else f"{len(tokens):,} tokens are"
        sentences.append(f"Only the first {first} used; {tokens.dropped:,} {were(tokens.dropped)} dropped.")
    unknown = unknown_sentence(tokens)
    if unknown:
        sentences.append(plain(unknown[0].upper() + unknown[1:] + "."))
    if sentences:
        st.warning(" ".join(sentences))


def hidden_word_note(*shown: ShownHead) -> None:
    """Say that the page shows a model the whole text, if the view hides a word of it: this is for other pages.

    The hidden word is followed into another text, as on Step by step.
    """
    for here in shown:
        if state.get("blank_at") is None or not here.model.description.guesses_hidden_words:
            continue
        labels = here.model.read(here.text, here.pair)[0].labels
        place = state.keep_token("blank_at", "The hidden word", labels)
        masked = here if place is None else hide_word(here, place)
        if masked.hidden is None:
            continue
        word, masks = masked.hidden.word, masked.hidden.masks
        st.warning(plain(f"Here the model reads the hidden word “{word}” too: to hide it, type {masks} in its place."))
        return


@st.fragment
def _toolbar(page: str, page_tabs: Tabs = NO_TABS) -> None:
    """Show the toolbar of a page. The content of a popover is created when it opens, from the current view."""
    with st.container(key="toolbar", horizontal=True, vertical_alignment="center", width="content"):
        st.html(side_bar.BUTTON, width="content")
        with st.popover("Share", icon=":material/share:", key="share", on_change="rerun") as share:
            if share.open:
                from attnviz.ui.share import show_add, show_share

                show_share(page)
                show_add(page)
        if PAGES[page].in_lessons or page_tabs:  # other pages have no picture
            with st.popover("Export", icon=":material/download:", key="export", on_change="rerun") as export:
                if export.open:
                    _show_exports(page, page_tabs)
        lecture.switch()


def _show_exports(page: str, page_tabs: Tabs) -> None:
    """Show the page's tabs of Export: the current picture and, if available, all steps, numbers, code, a web page."""
    from attnviz.ui import export

    tabs: Tabs = {
        "This picture": partial(export.show_picture_export, page),
        "All steps": partial(export.show_walk_export, page),
        "Numbers, code": partial(export.show_numbers_export, page),
        "Web page": partial(export.show_web_export, page),
        **page_tabs,
    }
    names = (*EXPORT_TABS.get(page, ("This picture",)), *page_tabs)
    if len(names) == 1:
        tabs[names[0]]()
        return
    for name, tab in zip(names, st.tabs(names, key="export_tab", on_change="rerun"), strict=True):
        if tab.open:
            with tab:
                tabs[name]()
