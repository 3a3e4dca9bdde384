"""Step by step: one attention block, or one head of a real model, from the text to the output."""

from __future__ import annotations

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from attnviz.runtime.lock import page_lock
from attnviz.sources import SOURCES
from attnviz.tokens import NoTokensError
from attnviz.ui import controls, shell, side_bar, state
from attnviz.ui.controls import is_slow, source_settings
from attnviz.ui.messages import starting
from attnviz.ui.sources import DESCRIBED, shown_with
from attnviz.ui.step_by_step import CHECKS, follow_hidden_word, show_walk


@st.fragment
@page_lock().held()
def walk(model_name: str | None, text_place: DeltaGenerator | None) -> None:
    """Show the text field and the walk. A fragment, so that what they report does not run the rest of the page."""
    if text_place is not None:
        shell.text_field(text_place)
    shell.text()
    with starting(state.get("source")):
        here = follow_hidden_word(shown_with(model_name, resources=DESCRIBED), model_name)
    try:
        if not CHECKS.stand_alone():
            show_walk(here)
        CHECKS.show_chosen(here)
    except NoTokensError as error:
        st.info(str(error))
    state.end()


place = shell.begin("step_by_step", with_text=False)
with side_bar.settings():
    source = SOURCES[controls.choose_source()]
    must_wait = is_slow(source, DESCRIBED)
    if must_wait:  # for the model; the field is there meanwhile
        shell.text_field(place)
    chosen = source_settings(source, resources=DESCRIBED, more=CHECKS.choose)
walk(chosen, None if must_wait else place)
