"""What several pages show: a notice, a plot whose points can be selected, a button for a file."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from html import escape
from typing import TYPE_CHECKING, Any

import streamlit as st

from attnviz.ui import state
from attnviz.ui.lessons import bar as lesson_bar

if TYPE_CHECKING:  # figures import torch, which the first view does not wait for
    from attnviz.figures.style import Palette


def palette() -> Palette:
    """Return the palette of this browser's theme."""
    from attnviz.figures.style import DARK, LIGHT

    return DARK if st.context.theme.type == "dark" else LIGHT


SAVED = {"displaylogo": False, "modeBarButtons": [["toImage"]]}
"""A plot has one button, while it is pointed at: it saves the plot as SVG"""
LECTURE = 18
"""px: the letters of a plot in a lecture"""


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


def file_button(label: str, file: str, mime: str, data: Callable[[], bytes], *, key: str, refused: str = "") -> None:
    """Show a download button. With the reason `refused` it is disabled, and the tooltip shows the reason."""
    st.download_button(
        label, data, file, mime, key=key, on_click="ignore", disabled=bool(refused), help=refused or None
    )
