"""Start: what this is, lessons and examples, the visitor's own lesson, and checks before class."""

import streamlit as st

from attnviz.ui import shell, state
from attnviz.ui.lessons import own, shipped
from attnviz.ui.styles import style

shell.begin("lessons")
st.html(style("lessons"))
tabs = {
    "Lessons and examples": shipped.show_start,
    "All scenes": shipped.show_scenes,
    "Your own": own.show_own,
    "Ready for class": shipped.show_ready,
}
for show, tab in zip(tabs.values(), st.tabs(list(tabs), key="lessons_tab", on_change="rerun"), strict=True):
    if tab.open:
        with tab:
            show()
state.end()
