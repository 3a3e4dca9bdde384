"""Dropout: the zeros that it draws in training, that it is absent in use, and the expected value."""

from __future__ import annotations

from typing import TYPE_CHECKING

import streamlit as st

from attnviz.formatting import nonzero, number
from attnviz.links.link import MAX_DRAW
from attnviz.links.train import MAX_DROPOUT
from attnviz.ui import state
from attnviz.ui.palette import palette
from attnviz.ui.sources import RESOURCES
from attnviz.ui.transformer.checks.stack import numbered
from attnviz.ui.widgets import plot

if TYPE_CHECKING:
    from attnviz.sources.transformer import ShownPart

STEP = 0.05
"""Of p in its slider"""


def show(here: ShownPart) -> None:
    """Show dropout on the output of the shown attention."""
    from attnviz.figures.plots import heatmap, lines
    from attnviz.measures.changes import COUNTS, dropout, mean_differences

    trace = here.trace(RESOURCES)
    layer, tokens = trace.layer(here.place.layer, here.place.kind), trace.query_tokens(here.place.kind)
    x = layer.output()
    if x is None:
        st.info(layer.unavailable.get("output_projection", "The attention's output is not known of this model."))
        return
    left, right = st.columns(2)
    with left:
        rate = state.bound("dropout", st.slider, "Dropout p", 0.0, MAX_DROPOUT, step=STEP)
    with right:
        draw = state.bound("draw", st.number_input, "Seed of the draw", 0, MAX_DRAW)
    made = dropout(x, rate, draw)
    zeros, factor = int((~made.kept).sum()), 1 / (1 - rate)
    st.markdown(
        f"**In training**, before the output of {here.place.name} is added to the stream, each of its {x.numel():,} "
        f"numbers becomes 0 with the probability p = {rate:g}: here {zeros:,} of them, "
        f"{number(100 * zeros / x.numel(), 1)} %. All others are multiplied by 1 / (1 − p) = {number(factor, 3)}. "
        "**In use** there is no dropout at all: torch's `model.eval()` switches it off, and all else on this page "
        "is in use."
    )
    colours, labels = palette(), numbered(tokens.labels)
    dimensions, limit = list(map(str, range(x.shape[-1]))), float(made.result.abs().max().maximum(x.abs().max()))
    left, right = st.columns(2)
    for place, title, values, key in ((left, "In use", x, "use"), (right, "In training", made.result, "training")):
        with place:
            st.caption(title)
            plot(heatmap(values, labels, dimensions, colours, across="dimension", limit=limit), f"check_{key}")
    away = mean_differences(x, rate, draw)
    st.markdown(
        "**Why 1 / (1 − p)?** The expected value of each number is then p · 0 + (1 − p) · x / (1 − p) = x, so that "
        "what follows is given numbers of the same size in training and in use. The mean of many draws shows it: of "
        f"{COUNTS[-1]} it is {nonzero(away[-1], 3)} away from x on average, of one {nonzero(away[0], 3)}."
    )
    series = {"distance": away}
    plot(lines(series, list(map(str, COUNTS)), colours, title="distance from x", across="draws"), "check_draws")
    st.caption("Srivastava et al. 2014. The original transformer has p = 0.1 (Vaswani et al. 2017, section 5.4).")
