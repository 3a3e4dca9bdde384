"""The parts of the page BERT at work: what one is made of, and the choice of one."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING

import streamlit as st

from attnviz.links.bert import BERT_PARTS
from attnviz.ui import state
from attnviz.ui.bert import MODULES
from attnviz.ui.lessons import bar as lesson_bar
from attnviz.ui.messages import starting
from attnviz.ui.styles import style

if TYPE_CHECKING:
    import pandas as pd


def _nothing() -> None:
    pass


def _never() -> bool:
    return False


@dataclass(frozen=True, slots=True)
class Part:
    """A part of the page. Its module is imported when it is chosen."""

    show: Callable[[], None]
    """Shows it, in a fragment"""
    tables: Callable[[], Mapping[str, pd.DataFrame]]
    """Returns the numbers that are shown as tables by the names of their files, for Export; it imports pandas late"""
    script: Callable[[], str]
    """Returns a script of plain torch that computes what is shown; "" if there is nothing"""
    controls: Callable[[], None] = _nothing
    """Shows what is set in the sidebar"""
    begin: Callable[[], None] = _nothing
    """Begins what was asked for; called before `is_live`, so that what ends while it is shown is shown again"""
    is_live: Callable[[], bool] = _never
    """Whether something is computed for it meanwhile, so that it has to be shown again and again"""


def choose_part() -> Part:
    """Show the choice of a part, except in a lecture and in a lesson, and return the chosen one."""
    st.html(style("bert"))
    st.html(style("bert_lecture" if state.get("lecture") else "bert_window"))
    if state.get("lecture") or lesson_bar.is_open():
        state.keep_within("bert_part", "Part", BERT_PARTS)
    else:
        state.choice("bert_part", st.segmented_control, "What BERT does", required=True, label_visibility="collapsed")
    with starting(f"bert, {state.get('bert_part')}"):
        return chosen_part()


def chosen_part() -> Part:
    """Return the part that the view has chosen."""
    part: Part = import_module(MODULES[state.get("bert_part")]).PART
    return part


def in_torch(lines: str | None = None) -> None:
    """Offer the lines of torch that compute what is shown, or else the part's script; a lecture has no place for them.

    They are sent when the expander is opened: the browser's code for listings takes as long as all the rest of a part.
    """
    if not state.get("lecture"):
        with st.expander("In torch", key="in_torch", on_change="rerun") as listing:
            if listing.open:
                st.code(chosen_part().script() if lines is None else lines, language="python", wrap_lines=True)
