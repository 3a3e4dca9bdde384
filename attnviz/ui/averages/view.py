"""From averages to attention: three equivalent averages of the user's tokens, then weights from the data."""

from __future__ import annotations

from dataclasses import replace

import streamlit as st

from attnviz.figures.averages import lay_out_way
from attnviz.figures.panels import Layout
from attnviz.formulas import latex
from attnviz.steps.averages import WAYS
from attnviz.tokens import Tokens
from attnviz.toy.averages import attend_to_past, average_past
from attnviz.toy.block import Toy
from attnviz.toy.config import ToyConfig
from attnviz.ui import caches, state
from attnviz.ui.picture import palette, show_picture

MAX_TOKENS = 64
"""The limit keeps the Python loop fast."""


def show_way(way: str, tokens: Tokens) -> None:
    """Show one way on the first tokens of the text, and its largest difference to the loop."""
    toy = Toy(ToyConfig.of(state.get), lambda _: tokens)
    layer = caches.trace(toy, tokens.text, None).layer(0)
    x = layer.query_input
    if x is None:
        return
    averages = average_past(x)
    attended = attend_to_past(x, layer.query[0], layer.key[0])
    step = WAYS[way]
    st.latex(latex(step.formula(averages), palette().text_ink.of))
    picture, beside = st.columns([0.67, 0.33], gap="medium")
    with picture:
        layout = _for_numbers(lay_out_way(way, x, averages, attended))
        alt = f"{step.title}: {step.notice(averages)}"
        about = {"alt": alt, "walk": "averages", "order": list(WAYS).index(way), "step": way}
        show_picture(layout, {"query": tokens.labels, "key": tokens.labels}, about)
    with beside:
        st.html(f'<div class="notice">{step.notice(averages)}</div>')
        results = {"matrix": averages.by_matrix, "softmax": averages.by_softmax, "data": attended.head_outputs}
        if way in results:
            difference = float((results[way] - averages.by_loop).abs().max())
            st.metric(
                "Largest difference to the loop", f"{difference:.1e}" if difference < 1e-3 else f"{difference:.2f}"
            )
        st.code(step.code(averages), language="python")


def _for_numbers(layout: Layout) -> Layout:
    """Widen the weights of a product beyond their share of columns, so that their numbers stay readable."""
    if not layout.products:
        return layout
    left = max(layout.widths[0] / sum(layout.widths), 0.4)
    return replace(layout, widths=(left, 1 - left))
