"""Serves the explorer's own page, with the routes of the app."""

from pathlib import Path

import streamlit as st

from attnviz.serving.app import ROUTES

app = st.App(Path(__file__).with_name("explorer_app.py"), routes=ROUTES)
