"""The app for `streamlit run app.py`. Its pages are in pages/ and attnviz/ui/."""

import streamlit as st

from attnviz.serving.app import ROUTES, middleware, warm_up
from attnviz.ui import FRAME

app = st.App(FRAME, lifespan=warm_up, routes=ROUTES, middleware=middleware())
