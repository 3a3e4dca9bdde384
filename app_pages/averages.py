"""From averages to attention: why a softmax of scores, starting from a plain mean."""

import streamlit as st

from attnviz.explain_averages import WAYS
from attnviz.ui import controls, shell, state
from attnviz.ui.patience import starting
from attnviz.ui.sources import toy_tokens

shell.begin("averages")
with st.sidebar:
    controls.averages_controls()
text = shell.text()
way = state.choice(
    "way", st.segmented_control, "Way", WAYS, format_func=lambda name: WAYS[name].title,
    required=True, label_visibility="collapsed",
)  # fmt: skip
with starting("averages"):
    from attnviz.ui.averages_view import MAX_TOKENS, show_way
tokens = toy_tokens(text, MAX_TOKENS)
shell.token_notes(tokens)
show_way(way, tokens)
state.end(("text", "way", "drawing", "tokenizer", "charset", "positions", "seed"))
