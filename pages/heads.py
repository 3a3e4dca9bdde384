"""Heads: all layers and heads of a model at once, the chosen ones as lines and as heatmaps."""

import streamlit as st

from attnviz.runtime.lock import page_lock
from attnviz.sources.models import EVERY_MODEL
from attnviz.sources.shown import of_model
from attnviz.tokens import NoTokensError
from attnviz.ui import shell, side_bar, state
from attnviz.ui.controls import open_model, source_settings
from attnviz.ui.messages import starting
from attnviz.ui.sources import with_model


@st.fragment
@page_lock().held()
def explore(model_name: str | None) -> None:
    """Show the heads. A fragment, so changes in the explorer do not rerun the controls."""
    with starting("heads"):
        from attnviz.ui.heads.view import show_heads
    try:
        model = open_model(EVERY_MODEL, with_model(state.get, model_name))
        show_heads(of_model(EVERY_MODEL, model, state.get))
    except NoTokensError as error:
        st.info(str(error))
    state.end()


shell.begin("heads")
with side_bar.settings():
    chosen = source_settings(EVERY_MODEL, "in the grid")
shell.text()
explore(chosen)
