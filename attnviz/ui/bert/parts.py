"""The parts of the page on BERT: the interface of a part, and the one that the view has."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING

import streamlit as st

from attnviz.ui import state
from attnviz.ui.bert import MODULES
from attnviz.ui.messages import starting
from attnviz.ui.styles import style

if TYPE_CHECKING:
    import pandas as pd


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
