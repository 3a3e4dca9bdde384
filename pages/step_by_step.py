"""Step by step: one attention block, or one head of a real model, from the text to the output."""

from __future__ import annotations

import streamlit as st

from attnviz.serving.work.lock import page_lock
from attnviz.sources import SOURCES
from attnviz.sources.shown import Shown
from attnviz.steps import STEPS
from attnviz.tokens import NoTokensError
from attnviz.ui import controls, shell, state
from attnviz.ui.model_box import source_settings
from attnviz.ui.sources import RESOURCES, shown_with
from attnviz.ui.step_by_step.stepper import stepper
from attnviz.ui.step_by_step.tokens import show_tokens
from attnviz.ui.waiting import starting


@st.fragment
@page_lock().held()
def walk(model_name: str | None) -> None:
    """Show the steps. A fragment, so changing the step or head does not rerun the controls."""
    here = shown_with(model_name)
    try:
        if not STEPS[state.get("step")].matrices:
            tokens = here.tokens()
            stepper(here.layers)
            show_tokens(tokens)
        else:
            show_attention(here)
    except NoTokensError as error:
        st.info(str(error))
    state.end()


def show_attention(here: Shown) -> None:
    """Show one head at the view's step. The stepper appears even if the text has no tokens."""
    with starting("step_by_step"):
        from attnviz.ui.step_by_step.view import show_step
    try:
        found = here.walk(RESOURCES)
    except NoTokensError:
        stepper(here.layers)
        raise
    stepper(here.layers, found.layer)
    shell.token_notes(found.query_tokens)
    show_step(found, state.get("step"))


shell.begin("step_by_step")
with st.sidebar:
    chosen = source_settings(SOURCES[controls.choose_source()])
shell.text()
walk(chosen)
