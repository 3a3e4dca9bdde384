"""Serves the explorer's own page, with the routes of the app, its arrays, and the sources of the browser side."""

from pathlib import Path

import streamlit as st
from starlette.middleware import Middleware

from attnviz.serving.app import ROUTES
from attnviz.serving.arrays import Arrays
from tests.browser.sources import ROUTE

app = st.App(Path(__file__).with_name("explorer_app.py"), routes=[*ROUTES, ROUTE], middleware=[Middleware(Arrays)])
