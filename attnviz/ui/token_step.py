"""The first step: the tokens of the text, with their ids."""

from __future__ import annotations

import streamlit as st

from attnviz.tokens import Tokens
from attnviz.ui.shell import token_notes
from attnviz.ui.token_view import token_strip


def show_tokens(tokens: Tokens) -> None:
    """Show the tokens as a strip of pieces over their ids."""
    st.latex(r"\text{text} \;\rightarrow\; \boxed{\text{tokens}} \;\rightarrow\; X")
    st.html(token_strip(tokens))
    token_notes(tokens)
