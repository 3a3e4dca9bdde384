"""Transformer: a whole model, encoder, decoder or both, step by step from the text to the next token."""

from __future__ import annotations

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from attnviz.runtime.lock import page_lock
from attnviz.sources.shown import TRANSFORMER_SOURCES, ShownPart
from attnviz.tokens import NoTokensError
from attnviz.ui import controls, shell, side_bar, state
from attnviz.ui.controls import is_slow, source_settings
from attnviz.ui.messages import starting
from attnviz.ui.sources import DESCRIBED, shown_with
from attnviz.ui.transformer.view import CHECKS, PAGE, model_controls, show_purpose, show_transformer, toy_controls


@st.fragment
@page_lock().held()
def walk(model_name: str | None, text_place: DeltaGenerator | None, purpose_place: DeltaGenerator | None) -> None:
    """Show the text field and the walk. A fragment, so that what they report does not run the rest of the page."""
    if text_place is not None:
        shell.text_field(text_place)
    if purpose_place is not None and not state.get("text").strip():
        show_purpose(purpose_place, None)
    shell.text()
    with starting(PAGE.name):
        here = shown_with(model_name, resources=DESCRIBED, page=PAGE.name)
    try:
        if isinstance(here, ShownPart):
            if purpose_place is not None:
                show_purpose(purpose_place, here)
            if not CHECKS.stand_alone():
                show_transformer(here)
            CHECKS.show(here)
    except NoTokensError as error:
        st.info(str(error))
    state.end()


place = shell.begin(PAGE.name, with_text=False)
chosen = purpose = None
with side_bar.settings():
    source = TRANSFORMER_SOURCES[controls.choose_source(TRANSFORMER_SOURCES)]
    must_wait = is_slow(source, DESCRIBED)
    if must_wait:  # for the model; the field is there meanwhile
        shell.text_field(place)
    if source.has_names:
        chosen = source_settings(source, resources=DESCRIBED)
        model_controls(source, chosen)
    else:
        purpose = toy_controls()
walk(chosen, None if must_wait else place, purpose)
