"""Links to views on the app's pages, which open the same view in a new tab as with a click."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import streamlit as st

from attnviz.links.pages import PAGES

START = "./"
"""The address of the start page, beside that of any other page"""


class _Page(st.Page):
    """A page with an address for links.

    Streamlit gives the start page an empty one, to which the browser's address would add that of the current page.
    """

    @property
    def url_path(self) -> str:
        return super().url_path or START


def page_link(page: str, label: str, query: Mapping[str, str], **options: Any) -> None:
    """Show a link to a view on the page with this name; `options` go to `st.page_link`."""
    to = PAGES[page]
    target = _Page(to.script, url_path=to.path.strip("/") or None, default=to.path == "/")
    st.page_link(target, label=label, query_params=query, **options)
