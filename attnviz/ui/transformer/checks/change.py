"""Change a word: which rows change, block by block."""

from __future__ import annotations

from typing import TYPE_CHECKING

import streamlit as st

from attnviz.formatting import nonzero
from attnviz.links.link import KEYS, MAX_OTHER
from attnviz.ui import state
from attnviz.ui.palette import palette
from attnviz.ui.plain import plain
from attnviz.ui.sources import RESOURCES
from attnviz.ui.transformer.checks.stack import NOT_KNOWN, choose_stack, choose_token, numbered
from attnviz.ui.widgets import plot

if TYPE_CHECKING:
    from attnviz.sources.transformer import ShownPart

CAUSAL = "The causal mask hides the change from them."
NOT_CAUSAL = "Every token looks at all others, so rows before the change depend on it too."


def show(here: ShownPart) -> None:
    """Show how far each token's row moves after each block when one word is another."""
    import torch

    from attnviz.figures.plots import heatmap
    from attnviz.measures.changes import row_differences
    from attnviz.measures.residual_stream import states
    from attnviz.tokens import NoTokensError

    trace = here.trace(RESOURCES)
    blocks, tokens = choose_stack(here)
    left, right = st.columns(2)
    with left:
        token = choose_token(tokens, "Change this token")
    with right:
        other = state.bound("other", st.text_input, "into", max_chars=MAX_OTHER).strip() or KEYS["other"].default
    start, end = tokens.offsets[token]
    if tokens.special[token] or end <= start:
        st.info("The tokenizer added this token; choose a word of the text.")
        return
    is_target = tokens is not trace.tokens
    text = f"{tokens.text[:start]}{other}{tokens.text[end:]}"
    try:
        changed = RESOURCES.trace(here.model, here.text if is_target else text, text if is_target else here.pair)
    except NoTokensError:
        st.info("Nothing is left of the text.")
        return
    kind = here.place.stack
    if len(changed.query_tokens(kind)) != len(tokens):
        st.info(f"“{plain(other)}” is not one token here, so the rows can't be compared one by one.")
        return
    if changed.query_tokens(kind).ids == tokens.ids:
        st.info("This is the same token for the model, so nothing changes.")
        return
    before, after = states(blocks), states(changed.blocks[kind])
    if before is None or after is None:
        st.info(NOT_KNOWN)
        return
    moved = torch.stack([row_differences(*pair) for pair in zip(before, after, strict=True)])  # (L + 1, T)
    past = moved[1:, :token].max().item() if token else 0.0
    said = CAUSAL if trace.layers[kind][0].mask.hides_later else NOT_CAUSAL
    st.markdown(
        f"**“{plain(tokens.labels[token])}” becomes “{plain(other)}”.** The rows before it move by at most "
        f"**{nonzero(past, 3)}**. {said if token else ''}"
    )
    rows = ["X", *(f"after block {number}" for number in trace.numbers_of(kind))]
    plot(heatmap(moved, rows, numbered(tokens.labels), palette(), across="token", signed=False), "check_change")
