"""attnviz: page configuration and navigation. Start it with `streamlit run app.py`."""

import streamlit as st

st.set_page_config(page_title="attnviz", page_icon="🔎", layout="wide")

st.navigation(
    [
        st.Page("app_pages/step_by_step.py", title="Step by step", default=True),
        st.Page("app_pages/averages.py", title="From averages to attention", url_path="averages"),
        st.Page("app_pages/tokens.py", title="Tokens", url_path="tokens"),
    ],
    position="top",
).run()
