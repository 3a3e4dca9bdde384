"""The check of positions on the page Transformer: what is added for each, and what the order of the words changes."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import streamlit as st

from attnviz.formatting import joined, nonzero, number
from attnviz.toy.config import NOT_ADDED, TransformerConfig
from attnviz.ui import state
from attnviz.ui.sources import RESOURCES
from attnviz.ui.tokens.chips import numbered
from attnviz.ui.transformer.checks import encoder_of
from attnviz.ui.widgets import palette, plot

if TYPE_CHECKING:
    from attnviz.sources.shown import ShownPart

FORMULAS = {
    "sinusoidal": "The paper's: dimensions 2i and 2i + 1 are sine and cosine of position / 10000^(2i/C). The dot "
    "product of two rows depends on their distance alone.",
    "lab": "A variant often taught: dimension j is a sine (j even) or a cosine (j odd) of position / 10000^(j/C). "
    "No two dimensions share a frequency. A dot product depends on more than the distance.",
    "random": "A table as it is before training: nothing is alike but each row and itself.",
}
ROTARY = "Nothing is added to the embeddings: each self-attention turns its queries and keys by their position."
"""What is said of a model whose positions are rotary"""
BIASED = "Nothing is added to the embeddings: each self-attention adds a position bias to its scores, by the distance."
"""What is said of a model whose positions are in its scores"""
BIASED_TOO = "Positions are added to the embeddings, but not known apart; each self-attention adds a position bias too."
"""What is said of a model that has both, such as MPNet"""


def show_positions(here: ShownPart) -> None:
    """Show the position embeddings of the model, if they are known."""
    from attnviz.figures.plots import heatmap

    trace = here.trace(RESOURCES)
    position = trace.embedding_parts.get("position")
    steps_in = here.model.description.steps_in
    if position is None and any(steps_in.get("rotated", {}).values()):
        st.info(ROTARY)
    elif position is None and any(steps_in.get("biased", {}).values()):
        st.info(BIASED_TOO if trace.has_positions else BIASED)
    elif position is None:
        st.info("This model has no positions." if not here.source.has_names else "Its positions are not known apart.")
    else:
        colours, labels = palette(), numbered(trace.tokens.labels)
        lengths = position.norm(dim=-1)
        kind = "" if here.source.has_names else FORMULAS.get(state.get("positions"), "")
        low, high = (number(length.item(), 3) for length in (lengths.min(), lengths.max()))
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
    """Show what changes if the words are in reverse order."""
    import torch

    from attnviz.figures.plots import lines
    from attnviz.measures.changes import order_matters
    from attnviz.toy.transformer import shared_stack

    trace = here.trace(RESOURCES)
    config = TransformerConfig.of(state.get)
    plain = replace(config, positions="none") if config.positions in NOT_ADDED else config
    encoder, plain_encoder = (encoder_of(shared_stack(settings)) for settings in (config, plain))
    x, position = trace.embedding_parts["token"], trace.embedding_parts.get("position")
    order = list(range(len(x)))[::-1]
    with torch.inference_mode():
        without = order_matters(plain_encoder, x, torch.zeros_like(x), order)
        series = {"without positions": without.tolist()}
        if config.positions != "none":
            added = torch.zeros_like(x) if position is None else position
            series["with positions"] = order_matters(encoder, x, added, order).tolist()
    alone = _why_order_matters(config, len(x), causal=encoder.causal)
    st.markdown(
        f"**The words in the opposite order.** How far does the output of each word move? Without positions by at most "
        f"{nonzero(without.max().item(), 3)}.{alone}"
    )
    labels = numbered(trace.tokens.labels)
    plot(lines(series, labels, palette(), title="largest change", across="token"), "check_order")


def _why_order_matters(config: TransformerConfig, n: int, *, causal: bool) -> str:
    """Say which settings make the order of n tokens matter without positions, or only distances; "" if none does."""
    if n < 2:
        return " A single token has no order."
    reach = config.reach("decoder" if causal else "encoder")
    if reach is not None and not any(reach):
        return " In this window each token sees itself alone, so without positions no order matters."
    if causal:
        return " The causal mask alone makes the order matter."
    hides = reach is not None and min(reach) < n - 1
    names = ["ALiBi"] * (config.positions == "alibi") + ["a window"] * hides
    if not names:
        return ""
    subject = joined(names)
    changes = "change" if len(names) > 1 else "changes"
    return (
        f" {subject[0].upper()}{subject[1:]} {changes} nothing either: in the opposite order, all distances are the "
        "same. Another order matters."
    )
