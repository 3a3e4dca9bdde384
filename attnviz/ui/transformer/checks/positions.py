"""Positions: the matrix, its dot products with itself, and what the order of the words does with and without it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import streamlit as st

from attnviz.formatting import nonzero, number
from attnviz.ui import state
from attnviz.ui.palette import palette
from attnviz.ui.sources import RESOURCES
from attnviz.ui.transformer.checks.stack import numbered
from attnviz.ui.widgets import plot

if TYPE_CHECKING:
    from attnviz.sources.transformer import ShownPart

FORMULAS = {
    "sinusoidal": "The paper's: dimensions 2i and 2i + 1 are sine and cosine of position / 10000^(2i/C). The dot "
    "product of two rows depends on their distance alone.",
    "lab": "A variant often taught: dimension j is a sine (j even) or a cosine (j odd) of position / 10000^(j/C). "
    "No two dimensions share a frequency. A dot product depends on more than the distance.",
    "random": "A table as it is before training: nothing is alike but each row and itself.",
}


def show(here: ShownPart) -> None:
    """Show the positions of the model, if it has some that are known."""
    from attnviz.figures.plots import heatmap

    trace = here.trace(RESOURCES)
    position = trace.embedding_parts.get("position")
    if position is None:
        st.info("This model has no positions." if not here.source.has_names else "Its positions are not known apart.")
    else:
        colours, labels = palette(), numbered(trace.tokens.labels)
        lengths = position.norm(dim=-1)
        kind = "" if here.source.has_names else FORMULAS.get(state.get("positions"), "")
        low, high = (number(one.item(), 3) for one in (lengths.min(), lengths.max()))
        spread = f"All rows have the same length, {low}." if low == high else f"Their lengths go from {low} to {high}."
        st.markdown(f"One row of numbers a position, which is added to the token's. {kind} {spread}")
        left, right = st.columns(2)
        dimensions = list(map(str, range(position.shape[-1])))
        with left:
            st.caption("The positions, one row each.")
            plot(heatmap(position, labels, dimensions, colours, across="dimension"), "check_positions")
        with right:
            st.caption("Dot products of the rows with each other: how alike two positions are.")
            plot(heatmap(position @ position.T, labels, labels, colours, across="position"), "check_dots")
    if not here.source.has_names:
        _show_order(here)


def _show_order(here: ShownPart) -> None:
    """Show what happens if the words stand in the opposite order."""
    import torch

    from attnviz.figures.plots import lines
    from attnviz.measures.changes import order_matters
    from attnviz.toy.stacks import Encoder
    from attnviz.toy.transformer.config import TransformerConfig
    from attnviz.toy.transformer.model import shared_stack

    trace = here.trace(RESOURCES)
    stack = shared_stack(TransformerConfig.of(state.get))
    encoder = stack if isinstance(stack, Encoder) else stack.encoder
    x, position = trace.embedding_parts["token"], trace.embedding_parts.get("position")
    order = list(range(len(x)))[::-1]
    with torch.inference_mode():
        without = order_matters(encoder, x, torch.zeros_like(x), order)
        series = {"without positions": without.tolist()}
        if position is not None:
            series["with positions"] = order_matters(encoder, x, position, order).tolist()
    causal = " The causal mask alone makes the order matter." if encoder.causal else ""
    st.markdown(
        f"**The words in the opposite order.** How far does the output of each word move? Without positions by at most "
        f"{nonzero(without.max().item(), 3)}.{causal}"
    )
    labels = numbered(trace.tokens.labels)
    plot(lines(series, labels, palette(), title="largest change", across="token"), "check_order")
