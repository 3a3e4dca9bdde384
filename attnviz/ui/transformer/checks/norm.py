"""LayerNorm: mean and variance of each token before and after, and the mistake of one norm over all tokens."""

from __future__ import annotations

from typing import TYPE_CHECKING

import streamlit as st

from attnviz.formatting import nonzero, number
from attnviz.ui import state
from attnviz.ui.palette import palette
from attnviz.ui.plain import plain
from attnviz.ui.transformer.checks.stack import NOT_KNOWN, choose_stack, choose_token, numbered
from attnviz.ui.widgets import plot

if TYPE_CHECKING:
    from attnviz.sources.transformer import ShownPart


def show(here: ShownPart) -> None:
    """Show the norm after the first attention (post-norm) or before the feed-forward (pre-norm) of the first block."""
    from torch import Tensor
    from torch.nn.functional import layer_norm

    from attnviz.figures.plots import lines
    from attnviz.measures.changes import CHANGE, change_row, moments, norm_over_all, row_differences

    blocks, tokens = choose_stack(here)
    steps = blocks[0].steps()
    if steps is None:
        st.info(NOT_KNOWN)
        return
    colours, labels, x = palette(), numbered(tokens.labels), steps.attention_residual
    over_all = state.bound("over_all", st.toggle, "The mistake: one mean and one variance of all tokens together")
    with_norm = norm_over_all if over_all else lambda given: layer_norm(given, given.shape[-1:])
    before, after = moments(x), moments(with_norm(x))
    st.markdown(
        "LayerNorm moves and rescales the row of each token by itself: mean 0, variance 1. Then each dimension is "
        "multiplied by γ, and β is added. A model learns both; they are left out here. The rows are those of block 0, "
        "after attention was added."
    )
    left, right = st.columns(2)
    for place, what in ((left, "mean"), (right, "variance")):
        series: dict[str, Tensor] = {f"{what} before": getattr(before, what), f"{what} after": getattr(after, what)}
        with place:
            listed = {name: one.tolist() for name, one in series.items()}
            plot(lines(listed, labels, colours, title=what, across="token"), f"check_{what}")
    token = choose_token(tokens, "Change this token")
    moved = row_differences(with_norm(x), with_norm(change_row(x, token)))
    before_it = (
        f"Rows before it change by at most **{nonzero(moved[:token].max().item(), 3)}**."
        if token
        else "No row stands before it."
    )
    st.markdown(
        f"Add {number(CHANGE, 2)} to every second number of **“{plain(tokens.labels[token])}”**: which rows change? "
        + before_it
        + (
            " The future leaks into the past, and no causal mask can prevent it."
            if over_all
            else " Nothing leaks: each token is normalised alone."
        )
    )
    plot(
        lines({"largest change": moved.tolist()}, labels, colours, title="change after the norm", across="token"),
        "check_leak",
    )
