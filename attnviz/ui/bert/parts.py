"""The parts of the page on BERT: the interface of a part, the one that the view has, and the tabs of its Export."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from types import MappingProxyType
from typing import TYPE_CHECKING

import streamlit as st

from attnviz.export.csv_files import table_csv
from attnviz.ui import state
from attnviz.ui.bert import MODULES
from attnviz.ui.long_work import failures_shown
from attnviz.ui.messages import starting
from attnviz.ui.shell import Tabs
from attnviz.ui.styles import style
from attnviz.ui.widgets import FileOffer, offer_files

if TYPE_CHECKING:
    import pandas as pd

PICTURES = (
    "Point at a plot, and press the camera at its upper right corner: it is saved as SVG, which slides and papers take "
    "in any size."
)
PICTURES_ONLY, WITH_PICTURES = ("language", "subsets", "blank"), "without"
"""The parts whose matrices and bars are all our own, not Plotly's, and the one that also has a plot of Plotly's"""
NOTHING = "This part has none yet: there is nothing to be saved."


@dataclass(frozen=True, slots=True)
class Part:
    """A part of the page. Its module is imported when it is chosen."""

    show: Callable[[], None]
    """Shows the part, in a fragment"""
    tables: Callable[[], Mapping[str, pd.DataFrame]]
    """Returns the numbers on screen as tables, keyed by file name, for Export; imports pandas only when called"""
    script: Callable[[], str]
    """Returns a script of plain torch that computes the numbers on screen; "" if there are none"""
    controls: Callable[[], None] = lambda: None
    """Shows the part's settings, in the side bar"""
    begin: Callable[[], None] = lambda: None
    """Starts requested work; called before `is_live`, so that the part is redrawn if the work ends while it is drawn"""
    is_live: Callable[[], bool] = lambda: False
    """Whether a computation for it is running, so that the part must be redrawn regularly"""


def open_part() -> Part:
    """Begin the page, and return the view's part."""
    st.html(style("bert"))
    st.html(style("bert_lecture" if state.get("lecture") else "bert_window"))
    with starting(f"bert, {state.get('bert_part')}"):
        return chosen_part()


def chosen_part() -> Part:
    """Return the view's part."""
    part: Part = import_module(MODULES[state.get("bert_part")]).PART
    return part


def in_torch(lines: str | None = None) -> None:
    """Offer torch code for what is on screen, by default the part's script; a lecture has no room for it.

    It is sent when the expander opens: the browser takes as long to show a listing as for all the rest of a part.
    """
    if not state.get("lecture"):
        with st.expander("In torch", key="in_torch", on_change="rerun") as listing:
            if listing.open:
                st.code(chosen_part().script() if lines is None else lines, language="python", wrap_lines=True)


def _show_pictures() -> None:
    """Offer the pictures of a part that has some, and say how to save a plot of another."""
    part = state.get("bert_part")
    if part in PICTURES_ONLY or part == WITH_PICTURES:
        from attnviz.ui.export import show_picture_export

        show_picture_export("bert")
    if part not in PICTURES_ONLY and not (part == WITH_PICTURES and state.get("off_view") != "measures"):
        with st.container(key="hint_pictures"):
            st.caption(PICTURES)


def _show_numbers() -> None:
    """Offer each table of the shown part as CSV."""
    with failures_shown():
        files = [
            FileOffer(f"{name}.csv", f"{name}.csv", partial(table_csv, table), f"export_{name}")
            for name, table in chosen_part().tables().items()
        ]
        if files:
            offer_files("bert_numbers_export", *files)
        else:
            st.caption(NOTHING)


def _show_script() -> None:
    """Offer the script of the shown part."""
    with failures_shown():
        script, file = chosen_part().script(), f"bert_{state.get('bert_part')}.py"
        if not script:
            st.caption(NOTHING)
            return
        offer_files("bert_script_export", FileOffer("Script", file, script.encode, "export_script"))
        st.caption("Plain torch and transformers, without attnviz: it prints the numbers that are shown.")


EXPORTS: Tabs = MappingProxyType({"Pictures": _show_pictures, "Numbers": _show_numbers, "Script": _show_script})
"""Keyed by title"""
