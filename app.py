"""attnviz: page configuration and navigation. Start it with `streamlit run app.py`.

The file is read twice: once by the server, which takes `app` and warms up, and at each run of a visitor's session, as
`__main__`, which shows a page.
"""

import streamlit as st

from attnviz.serving.turns import turns
from attnviz.ui.server import ROUTES, middleware, warm_up

if __name__ == "__main__":
    st.set_page_config(page_title="attnviz", page_icon="🔎", layout="wide")
    page = st.navigation(
        [
            st.Page("app_pages/step_by_step.py", title="Step by step", default=True),
            st.Page("app_pages/heads.py", title="Heads", url_path="heads"),
            st.Page("app_pages/averages.py", title="From averages to attention", url_path="averages"),
            st.Page("app_pages/tokens.py", title="Tokens", url_path="tokens"),
            st.Page("app_pages/compare.py", title="Compare", url_path="compare"),
            st.Page("app_pages/lessons.py", title="Lessons", url_path="lessons"),
        ],
        position="top",
    )
    with turns().turn():
        page.run()
else:
    app = st.App(__file__, lifespan=warm_up, routes=ROUTES, middleware=middleware())
