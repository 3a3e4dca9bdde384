"""All heads: a measure of their attention beside their effect on the sentence embedding."""

from __future__ import annotations

import math
from functools import partial

import streamlit as st

from attnviz.bert.ablation import spearman
from attnviz.formatting import number
from attnviz.ui import state
from attnviz.ui.bert.without.controls import click
from attnviz.ui.bert.without.results import Found, effects_of, measures_of
from attnviz.ui.palette import palette
from attnviz.ui.widgets import plot

TITLES = {
    "largest": "largest weight",
    "words": "weight on words",
    "entropy": "entropy",
    "distance": "distance",
    "norm": "norm",
}
"""By their names in links"""
SHORT = TITLES | {"largest": "largest", "words": "on words"}
AXES = {
    "largest": "largest weight of a word on a word, mean over words",
    "words": "weight of words on words, mean over words",
    "entropy": "entropy of a row of weights, bits, mean over tokens",
    "distance": "distance of a query to its keys, tokens, mean over tokens",
    "norm": "norm of what the head adds to the output, mean over tokens",
}
NOT_YET = "The effects of all heads on this text are not measured yet: the button beside it does that."


def show(here: Found) -> None:
    """Show all heads as points, with the rank correlation."""
    from attnviz.figures.ablation import BESIDE, LARGE, against

    effects = effects_of(here)
    if effects is None:
        st.info(NOT_YET)
        return
    if not state.get("lecture"):
        state.choice(
            "off_measure", st.segmented_control, "Measure", list(TITLES), required=True, format_func=SHORT.get,
            label_visibility="collapsed",
        )  # fmt: skip
    name = state.get("off_measure")
    measure, effect = getattr(measures_of(here), name), effects.sentence
    rank = spearman(measure, effect)
    if math.isnan(rank):
        st.info("There is nothing to be ranked: this measure is the same for all heads, or the text has no word.")
        return
    st.markdown(
        f"Spearman’s rank correlation of **{TITLES[name]}** and effect over all {effect.numel()} heads: "
        f"**{number(rank)}** (1: the same order, 0: no relation, −1: the reverse order)."
    )
    figure = against(
        measure.flatten().tolist(), effect.flatten().tolist(), here.off, palette(), title=AXES[name],
        heads=effect.shape[1], height=LARGE if state.get("lecture") else BESIDE,
    )  # fmt: skip
    key = f"off_against_{name}_{here.digest}"
    plot(figure, key, on_select=partial(click, key), selection_mode="points")
