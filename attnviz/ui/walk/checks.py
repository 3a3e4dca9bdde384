"""What one can look at beside a walk: one check at a time, computed when it is chosen. Each is a module with `show`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from html import escape
from importlib import import_module
from typing import Any

import streamlit as st

from attnviz.sources.shown import Shown
from attnviz.ui import state
from attnviz.ui.lessons import bar as lesson_bar
from attnviz.ui.palette import palette
from attnviz.ui.sources import shown_with

SAVED = {"displaylogo": False, "modeBarButtons": [["toImage"]]}
"""A plot has one button, while it is pointed at: it saves the plot as SVG"""
LECTURE = 18
"""px: the letters of a plot in a lecture"""


@dataclass(frozen=True, slots=True)
class Checks:
    """The checks of a page."""

    page: str
    key: str
    """The link key of the one that is chosen"""
    titles: Mapping[str, str]
    """By the name in links, which is also the module's"""
    package: str
    """Of the modules"""

    def stand_alone(self) -> bool:
        """Whether a check takes the place of the walk: in a lecture and in a lesson, which show one thing at a time."""
        state.adopt(self.key)
        return bool(state.get(self.key) and (state.get("lecture") or lesson_bar.is_open()))

    def show(self, here: Shown) -> None:
        """Show the choice of a check, and the one that is chosen.

        A lecture has the choice only if its link holds one, and a lesson's scene in it has none.
        """
        if not state.get("lecture") or (state.get(self.key) and not lesson_bar.is_open()):
            self.choose()
        self.show_chosen(here)

    def show_chosen(self, here: Shown) -> None:
        """Show the check that is chosen, if one is."""
        chosen = state.get(self.key)
        if chosen:
            name = here.model.name if here.source.has_names else None
            found = shown_with(name, page=self.page)  # with the model's weights
            import_module(f"{self.package}.{chosen}").show(found)

    def choose(self) -> None:
        """Show the choice of a check."""
        names = list(self.titles)
        state.bound(self.key, st.segmented_control, "Look further", names, format_func=self.titles.get, among=names)


def notice(sentence: str) -> None:
    """Say what to notice. In a lesson the scene's sentence stands in its place."""
    if not lesson_bar.is_open():
        st.html(f'<div class="notice">{escape(sentence)}</div>')


def plot(figure: Mapping[str, Any], key: str, **more: Any) -> None:
    """Show a figure of `attnviz.figures.plots`, with larger letters in a lecture; `more` as in `st.plotly_chart`."""
    layout = {**figure["layout"], "modebar": {"bgcolor": "rgba(0,0,0,0)", "color": palette().rule}}
    if state.get("lecture"):
        layout["font"] = font = {**layout["font"], "size": LECTURE}
        layout["hoverlabel"] = {**layout["hoverlabel"], "font": font}
    st.plotly_chart(
        {**figure, "layout": layout}, theme=None, key=key,
        config=SAVED | {"toImageButtonOptions": {"format": "svg", "filename": key}}, **more,
    )  # fmt: skip


def clicked(key: str) -> object | None:
    """Return the `customdata` of the point that is selected in the plot with this key; None if there is none.

    A client may send a selection of any shape, also of a plot that is gone.
    """
    chosen = st.session_state.get(key)
    selection = chosen.get("selection") if isinstance(chosen, Mapping) else None
    points = selection.get("points") if isinstance(selection, Mapping) else None
    point = points[0] if isinstance(points, list) and points else None
    return point.get("customdata") if isinstance(point, Mapping) else None
