"""The app for Streamlit Community Cloud: `app.py` with the settings of a public link, and 60 visitors at a time."""

import os

os.environ |= {
    "ATTNVIZ_PUBLIC": "1",
    "ATTNVIZ_SESSIONS": "60",
    "ATTNVIZ_TRAININGS": "1",
    "ATTNVIZ_FRAME_ANCESTORS": "'self',https://share.streamlit.io,https://*.streamlit.app",
}

# What follows reads the settings.
import streamlit as st

from attnviz.serving.app import ROUTES, middleware, warm_up
from attnviz.ui import FRAME

app = st.App(FRAME, lifespan=warm_up, routes=ROUTES, middleware=middleware())
