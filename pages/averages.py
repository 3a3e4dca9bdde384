"""From averages to attention: why a softmax of scores, starting from a plain mean."""

import streamlit as st

from attnviz.serving.work.lock import page_lock
from attnviz.ui import controls, shell, state
from attnviz.ui.averages.stepper import ways
from attnviz.ui.sources import view_tokens
from attnviz.ui.waiting import starting


@st.fragment
@page_lock().held()
def one_way() -> None:
    """Show one of the ways. A fragment, so changing the way does not rerun the controls."""
    ways()
    with starting("averages"):
        from attnviz.ui.averages.view import MAX_TOKENS, show_way
    tokens = view_tokens(MAX_TOKENS)
    shell.token_notes(tokens)
    show_way(state.get("way"), tokens)
    state.end()


shell.begin("averages")
with st.sidebar:
    controls.averages_controls()
shell.text()
one_way()
