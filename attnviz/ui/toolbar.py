"""The toolbar of every page, right of the navigation: Share, Export, Lecture and, on Step by step, the tour."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

import streamlit as st

from attnviz.links.pages import PAGES
from attnviz.ui import lecture
from attnviz.ui.guide import tour

TABS = {
    "step_by_step": ("This picture", "All steps", "Numbers, code", "Web page"),
    "heads": ("This picture", "Web page"),
    "averages": ("This picture", "Web page"),
    "transformer": ("This picture", "All steps", "Numbers, code", "Web page"),
    "compare": ("This picture", "Web page"),
    "bert": (),
}
"""The tabs of Export on the pages that have more than a picture"""


Tabs = Mapping[str, Callable[[], None]]
"""Tabs of Export that belong to one page alone: what each shows, by its title"""
NONE: Tabs = MappingProxyType({})


@st.fragment
def show(page: str, own: Tabs = NONE) -> None:
    """Show the toolbar of a page. The content of a popover is created when it opens, from the current view."""
    with st.container(key="toolbar", horizontal=True, vertical_alignment="center", width="content"):
        with st.popover("Share", icon=":material/share:", key="share", on_change="rerun") as share:
            if share.open:
                from attnviz.ui.export.share import show_share
                from attnviz.ui.lessons.builder import show_add

                show_share(page)
                show_add(page)
        if PAGES[page].in_lessons or own:  # the others have no picture
            _export(page, own)
        lecture.switch()


def _export(page: str, own: Tabs) -> None:
    """Show the button Export; its content is created when it opens."""
    with st.popover("Export", icon=":material/download:", key="export", on_change="rerun") as export:
        if export.open:
            _show_exports(page, own)
    tour.show(page)


def _show_exports(page: str, own: Tabs) -> None:
    """Show the export of the current picture and, where there are any, of all steps, numbers, code and a web page."""
    from attnviz.ui.export.view import show_export

    names = (*TABS.get(page, ("This picture",)), *own)
    if len(names) == 1:
        show_export(page)
        return
    for name, tab in zip(names, st.tabs(names, key="export_tab", on_change="rerun"), strict=True):
        if tab.open:
            with tab:
                if name in own:
                    own[name]()
                else:
                    _show_tab(name, page)


def _show_tab(name: str, page: str) -> None:
    """Show what is in a tab of Export. Modules are imported when a tab opens."""
    if name == "All steps":
        from attnviz.ui.export.walk import show_walk_export

        show_walk_export(page)
    elif name == "Numbers, code":
        from attnviz.ui.export.numbers import show_numbers_export

        show_numbers_export(page)
    elif name == "Web page":
        from attnviz.ui.export.web import show_web_export

        show_web_export(page)
    else:
        from attnviz.ui.export.view import show_export

        show_export(page)
