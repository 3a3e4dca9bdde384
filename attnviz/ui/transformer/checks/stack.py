"""The stacks of blocks of a traced model, and the choice of one, of a token, and of a plot's place."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import streamlit as st

from attnviz.ui import state

if TYPE_CHECKING:
    from attnviz.tokens import Tokens
    from attnviz.trace.block import Block
    from attnviz.trace.whole import Trace

NOT_KNOWN = "What follows attention is not known of this model."


def choose_stack(trace: Trace) -> tuple[tuple[Block, ...], Tokens]:
    """Return the blocks and the tokens of a stack: of the only one, or of the one that the user chooses."""
    stacks = [kind for kind in trace.kinds if kind != "cross"]
    kind = stacks[0]
    if len(stacks) > 1:
        kind = st.segmented_control("Stack", stacks, default=stacks[0], required=True, key="check_stack")
    return trace.blocks[kind], trace.query_tokens(kind)


def choose_token(tokens: Tokens, label: str = "Token") -> int:
    """Return the token that the user chooses, which is also the row that is pinned in the walk."""
    rows = list(range(len(tokens)))
    if state.get("q") is None:
        state.put("q", rows[-1])
    return int(state.choice("q", st.selectbox, label, rows, format_func=lambda row: f"{row}  {tokens.labels[row]}"))


def plot(figure: Mapping[str, Any], key: str) -> None:
    """Show a figure of `attnviz.figures.plots`."""
    st.plotly_chart(figure, theme=None, key=key, config={"displaylogo": False, "displayModeBar": False})


def numbered(tokens: Sequence[str]) -> list[str]:
    """Return labels that differ, though words may be the same."""
    return [f"{number} {token}" for number, token in enumerate(tokens)]
