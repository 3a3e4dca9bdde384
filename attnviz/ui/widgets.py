"""Widgets that several pages use: a notice, a plot whose points can be selected, and download buttons."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from html import escape
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import streamlit as st

from attnviz.links.link import KEYS
from attnviz.ui import state
from attnviz.ui.lessons import bar as lesson_bar
from attnviz.ui.messages import plain

if TYPE_CHECKING:  # figures import torch, for which the first view must not wait
    from streamlit.elements.lib.mutable_popover_container import PopoverContainer

    from attnviz.figures.style import Palette


def palette() -> Palette:
    """Return the palette of this browser's theme."""
    from attnviz.figures.style import DARK, LIGHT

    return DARK if st.context.theme.type == "dark" else LIGHT


class _Label(str):
    """A label in whose place a number counts in a widget's identity, for which Streamlit hashes `str` of all arguments.

    A key does not do this: Streamlit (1.67) hashes the label of a popover beside its key (`key_as_main_identity=False`
    in `layouts.py`), so with another label the browser would make another button, closed and without the focus.
    """

    number: int

    def __new__(cls, label: str, number: int) -> Self:
        """Return a label with its number."""
        numbered = super().__new__(cls, label)
        numbered.number = number
        return numbered

    def __str__(self) -> str:
        return f"{self.number}"


def settings_popover(label: str, key: str, **options: Any) -> PopoverContainer:
    """Return a button with settings behind it, which are to be created only where it is `open`.

    While it is closed the browser would keep their values, and send what has become old with the next change of
    something else. What is typed and left by a click beside the settings comes together with the closing, so it is
    read here. With another label it is the same button, open or closed as before. `options` are those of `st.popover`.

    Where a link is opened, as by Back, it is another button, which is closed: until the browser has it, it may close
    the button of the view before, and send that view's values, which count for nothing then.
    """
    if not st.session_state.get(key):
        for name in KEYS:
            state.sync_widget(name)
    return st.popover(_Label(label, state.opened_links()), key=key, **{"on_change": "rerun", **options})


SAVED = {"displaylogo": False, "modeBarButtons": [["toImage"]]}
"""Plotly's settings: under the pointer, a plot shows one button, which saves it as SVG"""
MIME = {
    ".csv": "text/csv", ".gif": "image/gif", ".html": "text/html", ".ipynb": "application/x-ipynb+json",
    ".json": "application/json", ".jsonl": "application/jsonl", ".npz": "application/octet-stream",
    ".pdf": "application/pdf", ".png": "image/png",
    ".pptx": "application/vnd.openxmlformats-officedocument.presentationml.presentation", ".py": "text/x-python",
    ".safetensors": "application/octet-stream", ".tex": "application/x-tex", ".txt": "text/plain",
    ".zip": "application/zip",
}  # fmt: skip
"""The types of files, by the ends of their names"""
TEXT_HEIGHT, PASTED_HEIGHT = 88, 120
"""px: the heights of fields for a sentence, and for a whole text that is pasted"""
LECTURE = 18
"""The font size of plots in lecture mode, in px"""


def notice(sentence: str) -> None:
    """Show what to notice. In a lesson, the scene's sentence replaces it."""
    if not lesson_bar.is_open():
        st.html(f'<div class="notice">{escape(sentence)}</div>')


def plot(figure: Mapping[str, Any], key: str, **more: Any) -> None:
    """Show a figure of `attnviz.figures.plots`, in lecture mode with larger type; `more` goes to `st.plotly_chart`."""
    layout = {**figure["layout"], "modebar": {"bgcolor": "rgba(0,0,0,0)", "color": palette().rule}}
    if state.get("lecture"):
        layout["font"] = font = {**layout["font"], "size": LECTURE}
        layout["hoverlabel"] = {**layout["hoverlabel"], "font": font}
    if "pandas" in sys.modules:  # Plotly looks there, and fails on what another visitor's thread is still importing
        import_module("pandas")
    st.plotly_chart(
        {**figure, "layout": layout}, theme=None, key=key,
        config=SAVED | {"toImageButtonOptions": {"format": "svg", "filename": key}}, **more,
    )  # fmt: skip


def clicked(key: str) -> object | None:
    """Return the `customdata` of the selected point in the plot with this key; None if no point is selected.

    A client may send a selection of any shape, even of a plot that no longer exists.
    """
    widget_state = st.session_state.get(key)
    selection = widget_state.get("selection") if isinstance(widget_state, Mapping) else None
    points = selection.get("points") if isinstance(selection, Mapping) else None
    point = points[0] if isinstance(points, list) and points else None
    return point.get("customdata") if isinstance(point, Mapping) else None


@dataclass(frozen=True, slots=True)
class FileOffer:
    """A file that a button downloads. A click makes it, on a thread without access to the session."""

    label: str
    name: str
    data: Callable[[], bytes]
    key: str
    refused: str = ""
    """Why the button is disabled, for its tooltip"""


def offer_files(row: str, *files: FileOffer) -> None:
    """Show a row of download buttons, in a container with this key."""
    with st.container(horizontal=True, key=row):
        for file in files:
            st.download_button(
                file.label, file.data, file.name, MIME[Path(file.name).suffix], key=file.key, on_click="ignore",
                disabled=bool(file.refused), help=file.refused or None,
            )  # fmt: skip


@contextmanager
def reasons_shown(*errors: type[Exception]) -> Iterator[None]:
    """End the block at one of these errors, and show its message."""
    try:
        yield
    except errors as error:
        st.caption(plain(str(error)))
