"""The main script that Streamlit runs for every visitor: page configuration, pages and the requested one."""

import streamlit as st

from attnviz.links.pages import PAGES
from attnviz.runtime.lock import page_lock

st.set_page_config(page_icon="🔎", layout="wide", initial_sidebar_state="collapsed")
page = st.navigation(
    [
        st.Page(page.script, title=page.title, url_path=page.path.strip("/") or None, default=page.path == "/")
        for page in PAGES.values()
    ],
    position="hidden",  # attnviz/ui/places.py shows the links
)
with page_lock().held():
    page.run()
