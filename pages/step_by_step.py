"""Step by step: one attention block, or one head of a real model, from the text to the output."""

from __future__ import annotations

import streamlit as st

from attnviz.serving.work.lock import page_lock
from attnviz.sources import SOURCES
from attnviz.tokens import NoTokensError
from attnviz.ui import controls, shell, state
from attnviz.ui.model_box import source_settings
from attnviz.ui.sources import DESCRIBED, shown_with
from attnviz.ui.step_by_step.view import show_walk
from attnviz.ui.waiting import starting


@st.fragment
@page_lock().held()
def walk(model_name: str | None) -> None:
    """Show the walk. A fragment, so that what the browser reports does not run the rest of the page."""
    with starting(state.get("source")):
        here = shown_with(model_name, resources=DESCRIBED)
    try:
        show_walk(here)
    except NoTokensError as error:
        st.info(str(error))
    state.end()


shell.begin("step_by_step")
with st.sidebar:
    chosen = source_settings(SOURCES[controls.choose_source()], resources=DESCRIBED)
shell.text()
walk(chosen)
