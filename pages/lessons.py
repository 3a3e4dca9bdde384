"""Start: what this is, lessons and examples, the visitor's own lesson, and checks before class."""

import streamlit as st

from attnviz.ui import shell, state
from attnviz.ui.lessons import start
from attnviz.ui.styles import style

shell.begin("lessons")
st.html(style("lessons"))
tabs = {
    "Lessons and examples": start.show_start,
    "All scenes": start.show_scenes,
    "Your own": start.show_own,
    "Ready for class": start.show_ready,
}
for show, tab in zip(tabs.values(), st.tabs(list(tabs), key="lessons_tab", on_change="rerun"), strict=True):
    if tab.open:
        with tab:
            show()
state.end()
