"""The tab Ready for class on the page Lessons: the checks of `python -m attnviz ready`."""

from __future__ import annotations

import streamlit as st

from attnviz.settings import settings
from attnviz.ui.messages import plain

_FOUND = "ready_checks"
MARKS = {
    "ok": ":green[:material/check_circle:]",
    "warn": ":orange[:material/warning:]",
    "fail": ":red[:material/error:]",
}


def show_ready() -> None:
    """Show the checks and their results; not on a public server, to which the machine's details are private."""
    if settings().public:
        st.info("These checks are for the person who runs the server: python \\-m attnviz ready")
        return
    st.caption(plain("Checks everything that a lecture needs. In a terminal: python -m attnviz ready"))
    if st.button("Check now", key="check_ready"):
        with st.spinner("Checking …"):
            from attnviz.ready import checks
            from attnviz.ui import caches

            st.session_state[_FOUND] = tuple(checks(load=lambda: caches.model("minilm")))
    for check in st.session_state.get(_FOUND, ()):
        line = f"{MARKS[check.state]} **{plain(check.name)}**: {plain(check.found)}"
        st.markdown(f"{line}  \n→ {plain(check.advice)}" if check.advice else line)
