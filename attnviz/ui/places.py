"""Links to views, and the bar at the top: the app's name, its places, what the settings choose, the place's chapters.

The bar's links lead to other pages without loading the app anew, with the text and all else that both pages have in
common. What leads to the page that is open is a button: Streamlit leaves the address as it is on the way to the same
page, and the next run would read it as a link that has just been opened.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import streamlit as st

from attnviz.links.pages import PAGES, PLACES, START, Place, chapters
from attnviz.ui import side_bar, state

START_ADDRESS = "./"
"""The address of the start page, beside that of any other page"""


class _Page(st.Page):
    """A page with an address for links.

    Streamlit gives the start page an empty one, to which the browser's address would add that of the current page.
    """

    @property
    def url_path(self) -> str:
        return super().url_path or START_ADDRESS


def page_link(page: str, label: str, query: Mapping[str, str], **options: Any) -> None:
    """Show a link to a view on the page with this name; `options` go to `st.page_link`."""
    to = PAGES[page]
    target = _Page(to.script, url_path=to.path.strip("/") or None, default=to.path == "/")
    st.page_link(target, label=label, query_params=query, **options)


def show(page: str) -> None:
    """Show the bar, except in lecture mode.

    Its container is always there: without it what follows would have another place, and the browser would make it anew.
    """
    place_of_bar = st.container(key="places", gap=None)
    if state.get("lecture"):
        return
    now = PAGES[page].chapter(state.get)
    with place_of_bar:
        with st.container(key="place_list", horizontal=True, gap=None):
            _show_first(START, "attnviz", page)
            for place in PLACES:
                _show_first(place, _marked(place.title, is_open=place is now.place), page)
            side_bar.make_place()
        of_place = chapters(now.place)
        if len(of_place) > 1:
            with st.container(key="chapter_list", horizontal=True, gap=None):
                for chapter in of_place:
                    label, part = _marked(chapter.title, is_open=chapter == now), chapter.part
                    if chapter.page.name == page:
                        st.button(label, key=f"chapter_{part}", type="tertiary", on_click=_open, args=(part,))
                    else:
                        page_link(chapter.page.name, label, chapter.query)


def _show_first(place: Place, label: str, page: str) -> None:
    """Show what leads to the first chapter of a place."""
    if place.opens == page:
        part = PAGES[page].chapters[0].part
        st.button(label, key=f"place_{label.strip('*')}", type="tertiary", on_click=_open, args=(part,))
    else:
        page_link(place.opens, label, {})


def _open(part: str) -> None:
    """Open a part of the current page; one without parts stays as it is."""
    if part:
        state.open_part(part)


def _marked(title: str, *, is_open: bool) -> str:
    """Return a label in Markdown; style sheets and the browser side find the open one by its bold type."""
    return f"**{title}**" if is_open else title
