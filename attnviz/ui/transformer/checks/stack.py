"""The stacks of blocks of a traced model, and the choice of one, and of a token."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import streamlit as st

from attnviz.ui import state
from attnviz.ui.sources import RESOURCES

if TYPE_CHECKING:
    from attnviz.sources.transformer import ShownPart
    from attnviz.tokens import Tokens
    from attnviz.trace.block import Block

_STACK = "check_stack"
NOT_KNOWN = "What follows attention is not known of this model."


def choose_stack(here: ShownPart) -> tuple[tuple[Block, ...], Tokens]:
    """Return the blocks and the tokens of the stack that the walk shows; a user may choose the other one, for both."""
    trace = here.trace(RESOURCES)
    first = {place.stack: number for number, place in reversed(list(enumerate(here.places)))}
    kind = here.place.stack
    if len(first) > 1:
        st.session_state[_STACK] = kind
        st.segmented_control("Stack", sorted(first, key=first.__getitem__), required=True, key=_STACK,
                             on_change=_open_stack, args=(first,))  # fmt: skip
    return trace.blocks[kind], trace.query_tokens(kind)


def _open_stack(first: Mapping[str, int]) -> None:
    """Lead the walk to the first attention of the stack that the user has chosen; the pinned cell was the other's."""
    number = first.get(st.session_state[_STACK])
    if number is not None:
        for name, value in (("block", number), ("q", None), ("k", None)):
            state.put(name, value)


def choose_token(tokens: Tokens, label: str = "Token") -> int:
    """Return the token that the user chooses, which is also the row that is pinned in the walk."""
    rows = list(range(len(tokens)))
    if state.get("q") is None:
        state.put("q", rows[-1])
    return int(state.choice("q", st.selectbox, label, rows, format_func=lambda row: f"{row}  {tokens.labels[row]}"))


def numbered(tokens: Sequence[str]) -> list[str]:
    """Return labels that differ, though words may be the same."""
    return [f"{number} {token}" for number, token in enumerate(tokens)]
