"""The first step: the tokens of the text, with ids and positions."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from attnviz.formulas import latex
from attnviz.steps import TOKENS
from attnviz.tokens import NO_ID, NoTokensError, Tokens
from attnviz.ui.picture import palette
from attnviz.ui.shell import token_notes
from attnviz.ui.tokens.chips import token_strip


def show_tokens(tokens: Tokens) -> None:
    """Show the tokens as chips with their ids, and as a table.

    Raises:
        NoTokensError: there are no tokens.
    """
    if not len(tokens):
        raise NoTokensError
    picture, beside = st.columns([0.7, 0.3], gap="medium")
    with picture:
        st.latex(latex(TOKENS.formula(tokens), palette().ink.of))
        st.html(token_strip(tokens))
        st.dataframe(token_table(tokens), hide_index=True, height=min(420, 38 + 35 * len(tokens)))
    with beside:
        st.html(f'<div class="notice">{TOKENS.notice(tokens)}</div>')
        st.caption(f"{len(tokens)} tokens, from a vocabulary of {tokens.vocab_size:,}.")
        token_notes(tokens)
        if NO_ID in tokens.ids:
            st.caption("A character that is not in the vocabulary has no id; all of them share one embedding.")
        with st.expander("The same in Python", key="listing", on_change="rerun") as listing:
            if listing.open:
                st.code(TOKENS.code(tokens), language="python")


def token_table(tokens: Tokens) -> pd.DataFrame:
    """Return one row per token: position, piece, id (NA if it has none), and the characters that it covers."""
    return pd.DataFrame(
        {
            "position": range(len(tokens)),
            "token": tokens.labels,
            "id": pd.array([None if id_ == NO_ID else id_ for id_ in tokens.ids], dtype="Int64"),
            "stands for": [repr(tokens.source(i)) if not tokens.special[i] else "added" for i in range(len(tokens))],
            "characters": [_place(start, end) for start, end in tokens.offsets],
        }
    )


def _place(start: int, end: int) -> str:
    """Return the character range [start, end) as text, 0-based with the last included, as in the chips' tooltips."""
    return "–" if end <= start else str(start) if end - start == 1 else f"{start} to {end - 1}"
