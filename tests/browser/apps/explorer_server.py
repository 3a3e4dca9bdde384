"""Serves the explorer's own page, with the routes of the app and its arrays."""

from pathlib import Path

import streamlit as st
from starlette.middleware import Middleware

from attnviz.serving.app import ROUTES
from attnviz.serving.arrays import Arrays

app = st.App(Path(__file__).with_name("explorer_app.py"), routes=ROUTES, middleware=[Middleware(Arrays)])
