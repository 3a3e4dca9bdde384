"""One token: its vector after every part of its stack."""

from __future__ import annotations

from typing import TYPE_CHECKING

import streamlit as st

from attnviz.formatting import number
from attnviz.ui.palette import palette
from attnviz.ui.plain import plain
from attnviz.ui.transformer.checks.stack import NOT_KNOWN, choose_stack, choose_token, numbered
from attnviz.ui.widgets import plot

if TYPE_CHECKING:
    from attnviz.sources.transformer import ShownPart


def show(here: ShownPart) -> None:
    """Show the residual stream of one token."""
    from attnviz.figures.plots import heatmap, lines
    from attnviz.measures.residual_stream import residual_stream

    blocks, tokens = choose_stack(here)
    token = choose_token(tokens)
    stream = residual_stream(blocks, here.model.description.numbers[here.place.stack])
    if stream is None:
        st.info(NOT_KNOWN)
        return
    colours, labels = palette(), numbered(tokens.labels)
    norms, start = stream.norms[:, token], stream.similarity_to_start()[:, token]
    st.markdown(
        f"**“{plain(tokens.labels[token])}” through all parts.** Each part reads this row of numbers and adds to it; a "
        f"norm rescales it. Its length goes from {number(norms[0].item(), 3)} to {number(norms[-1].item(), 3)}. At the "
        f"end, its cosine to where it began is {number(start[-1].item(), 2)}. In the pictures 0, 1, ... "
        "are the blocks."
    )
    width, parts = stream.vectors.shape[-1], [part.removeprefix("block ") for part in stream.parts]  # fits a phone
    plot(
        heatmap(stream.vectors[:, token], parts, list(map(str, range(width))), colours, across="dimension"),
        "check_stream",
    )
    left, right = st.columns(2)
    with left:
        series = {"length of the vector": norms.tolist()}
        plot(lines(series, stream.parts, colours, title="length", across=""), "check_norms")
    with right:
        series = {"cosine to where it began": start.tolist()}
        plot(lines(series, stream.parts, colours, title="cosine", across=""), "check_start")
    st.caption("Its cosine to each token after the same part: tokens become more or less alike as they are mixed.")
    plot(heatmap(stream.similarity_to_others(token), parts, labels, colours, across="token"), "check_others")
