"""The guided tour of Step by step: its button, and the browser component that shows it while it runs."""

from __future__ import annotations

import streamlit as st

from attnviz.components.registration import mount
from attnviz.ui import state

PAGE = "step_by_step"
_RUNS = "tour_runs"


def start() -> None:
    """Start the tour, from a callback of its button, or of the first view's "Walk through it"."""
    st.session_state[_RUNS] = True


def show(page: str) -> None:
    """Show the button of the tour, and the tour while it runs. It ends on another page and in lecture mode."""
    if page != PAGE or state.get("lecture"):
        _end()
    if page == PAGE:
        st.button("Tour", icon=":material/explore:", key="tour_start", on_click=start)
    if st.session_state.get(_RUNS):
        with st.container(key="tour_place"):
            mount("tour", {}, {}, key="tour", on_ended_change=_end)


def _end() -> None:
    st.session_state[_RUNS] = False
