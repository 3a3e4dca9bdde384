"""From averages to attention: why a softmax of scores, starting from a plain mean."""

import streamlit as st

from attnviz.serving.turns import turns
from attnviz.ui import controls, shell, state, stepper
from attnviz.ui.patience import starting
from attnviz.ui.sources import toy_tokens


@st.fragment
@turns().turn()
def one_way(text: str) -> None:
    """Show one of the ways. A fragment: going to another leaves the controls alone."""
    stepper.ways()
    with starting("averages"):
        from attnviz.ui.averages_view import MAX_TOKENS, show_way
    tokens = toy_tokens(text, MAX_TOKENS)
    shell.token_notes(tokens)
    show_way(state.get("way"), tokens)
    state.end(("text", "way", "drawing", "tokenizer", "charset", "positions", "seed"))


shell.begin("averages")
with st.sidebar:
    controls.averages_controls()
one_way(shell.text())
