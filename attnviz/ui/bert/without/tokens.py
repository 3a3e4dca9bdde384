"""How far the output embedding of each token, and that of the sentence, turns when heads are switched off."""

from __future__ import annotations

import streamlit as st

from attnviz.bert.ablation import cosine, sentence_embedding
from attnviz.formatting import number
from attnviz.ui import state
from attnviz.ui.bert.without.controls import named
from attnviz.ui.bert.without.results import Found
from attnviz.ui.palette import palette
from attnviz.ui.plain import plain
from attnviz.ui.widgets import plot


def show(here: Found) -> None:
    """Show a bar for each token, and the numbers in words."""
    from attnviz.figures.ablation import BESIDE, LARGE, changes

    before, labels = here.trace.last_hidden_state, here.trace.tokens.labels
    of_tokens = cosine(before, here.after)
    whole = number(float(cosine(sentence_embedding(before), sentence_embedding(here.after))), 4)
    most = int(of_tokens.argmin())
    heads = here.model.description.layers["encoder"][1]
    if here.off:
        st.markdown(
            f"Without **{named(here.off, heads)}** the sentence embedding has a cosine of **{whole}** to that of the "
            f"whole model. “{plain(labels[most])}” changes most: **{number(float(of_tokens[most]), 4)}**."
        )
    else:
        st.markdown("Nothing is switched off: every cosine is **1**. Click a head in the grid.")
    height = LARGE if state.get("lecture") else BESIDE
    plot(changes((1 - of_tokens).clamp_min(0).tolist(), labels, palette(), height), "off_tokens")
