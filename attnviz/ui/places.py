"""The bar at the top: the app's name, its places, and the chapters of the place that is open.

Its links lead to other pages without loading the app anew, with the text and all else that both pages have in common.
A chapter that is another part of the same page is a button: an old link in the address bar can't undo its callback.
"""

from __future__ import annotations

import streamlit as st

from attnviz.links.pages import PAGES, Chapter, chapters
from attnviz.links.places import PLACES, START
from attnviz.ui import state
from attnviz.ui.page_links import page_link


def show(page: str) -> None:
    """Show the bar, except in lecture mode."""
    if state.get("lecture"):
        return
    now = PAGES[page].chapter(state.get)
    with st.container(key="places", gap=None):
        with st.container(key="place_list", horizontal=True, gap=None):
            page_link(START.opens, "attnviz", {})
            for place in PLACES:
                page_link(place.opens, _marked(place.title, is_open=place is now.place), {})
        of_place = chapters(now.place)
        if len(of_place) > 1:
            with st.container(key="chapter_list", horizontal=True, gap=None):
                for chapter in of_place:
                    _show_chapter(chapter, is_open=chapter == now, page=page)


def _show_chapter(chapter: Chapter, *, is_open: bool, page: str) -> None:
    label = _marked(chapter.title, is_open=is_open)
    if chapter.part and chapter.page.name == page:
        key = f"chapter_{chapter.part}"
        st.button(label, key=key, type="tertiary", on_click=state.open_part, args=(chapter.part,))
    else:
        page_link(chapter.page.name, label, chapter.query)


def _marked(title: str, *, is_open: bool) -> str:
    """Return a label in Markdown; style sheets and the browser side find the open one by its bold type."""
    return f"**{title}**" if is_open else title
