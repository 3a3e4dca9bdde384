"""Lessons: the shipped lessons, the visitor's own lesson, example sentences, and checks before class."""

import streamlit as st

from attnviz.ui import shell, state
from attnviz.ui.lessons import own, shipped
from attnviz.ui.styles import style

shell.begin("lessons")
st.html(style("lessons"))
names = ["Lessons", "Your own", "Example sentences", "Ready for class"]
tabs = dict(zip(names, st.tabs(names, key="lessons_tab", on_change="rerun"), strict=True))
if tabs["Lessons"].open:
    with tabs["Lessons"]:
        shipped.show_shipped()
if tabs["Your own"].open:
    with tabs["Your own"]:
        own.show_own()
if tabs["Example sentences"].open:
    with tabs["Example sentences"]:
        shipped.show_gallery()
if tabs["Ready for class"].open:
    with tabs["Ready for class"]:
        shipped.show_ready()
state.end()
