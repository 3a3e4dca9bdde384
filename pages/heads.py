"""Heads: all layers and heads of a pretrained model at once, the chosen ones as lines and as heatmaps."""

import streamlit as st

from attnviz.serving.work.lock import page_lock
from attnviz.tokens import NoTokensError
from attnviz.ui import shell, state
from attnviz.ui.heads import delivery as heads_delivery
from attnviz.ui.model_box import ask_for_model, model_or_built_in
from attnviz.ui.waiting import starting


@st.fragment
@page_lock().held()
def explore(model_name: str) -> None:
    """Show the heads. A fragment, so requests of the browser do not rerun the controls."""
    with starting("heads"):
        from attnviz.ui.heads.view import show_heads
    try:
        show_heads(model_or_built_in(model_name))
    except NoTokensError as error:
        st.info(str(error))
    state.end()


shell.begin("heads")
heads_delivery.start_over()
with st.sidebar:
    chosen = ask_for_model("in the grid")
shell.text()
explore(chosen)
