"""What Streamlit runs for every visitor: the page's configuration, the navigation, and the page that was asked for."""

import streamlit as st

from attnviz.links.pages import PAGES
from attnviz.serving.work.lock import page_lock

st.set_page_config(page_title="attnviz", page_icon="🔎", layout="wide")
page = st.navigation(
    [
        st.Page(page.script, title=page.title, url_path=page.path.strip("/") or None, default=page.path == "/")
        for page in PAGES.values()
    ],
    position="top",
)
with page_lock().held():
    page.run()
