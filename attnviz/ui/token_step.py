"""The first step: the tokens of the text, with their ids and their places in the text."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from attnviz.tokens import Tokens
from attnviz.ui.shell import token_notes
from attnviz.ui.token_view import token_strip

NOTICE = (
    "Attention never sees letters or words, only these numbered pieces. Each becomes one row of every matrix that "
    "follows: row 0 is the first."
)
CODE = {
    "word": "hashes = [blake2b(word.encode(), digest_size=8).digest() for word in text.split()]\n"
    "ids = [int.from_bytes(digest) % 20_000 for digest in hashes]",
    "char": "ids = [vocabulary.index(character) for character in text]",
}


def show_tokens(tokens: Tokens) -> None:
    """Show the tokens as a strip of pieces over their ids, and as a table."""
    st.latex(r"\text{text} \;\rightarrow\; \boxed{\text{tokens}} \;\rightarrow\; X")
    picture, beside = st.columns([0.7, 0.3], gap="medium")
    with picture:
        st.html(token_strip(tokens))
        st.dataframe(token_table(tokens), hide_index=True, height=min(420, 38 + 35 * len(tokens)))
    with beside:
        st.html(f'<div class="notice">{NOTICE}</div>')
        st.caption(f"{len(tokens)} tokens, from a vocabulary of {tokens.vocab_size:,}.")
        token_notes(tokens)
        with st.expander("The same in Python"):
            st.code(CODE.get(tokens.tokenizer, "ids = tokenizer(text).input_ids"), language="python")


def token_table(tokens: Tokens) -> pd.DataFrame:
    """Return one row a token: position, piece, id, and the characters of the text that it stands for."""
    return pd.DataFrame(
        {
            "position": range(len(tokens)),
            "token": tokens.labels,
            "id": tokens.ids,
            "stands for": [repr(tokens.source(i)) if not tokens.special[i] else "added" for i in range(len(tokens))],
            "characters": [f"{start} to {end}" if end > start else "–" for start, end in tokens.offsets],
        }
    )
