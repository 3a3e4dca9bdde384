"""The sidebar of the classifier and of the agent: the texts, the features, and the settings of the training."""

from __future__ import annotations

import streamlit as st

from attnviz.bert.classification.classifier import WAYS
from attnviz.links.classification import MAX_CLASS_STEPS
from attnviz.ui import controls, state
from attnviz.ui.bert.classifier.data import data_choice
from attnviz.ui.bert.classifier.what import What

FEATURES = {"mean": "Mean of tokens", "cls": "[CLS]"}
FEATURES_HELP = """What the linear layer sees of a text, 384 numbers. **Mean of tokens**: of the last hidden states of
all tokens, as the built-in model was trained. **\\[CLS\\]**: the last hidden state of the first token alone, as BERT's
authors do."""
RATES = (0.0001, 0.0003, 0.001, 0.003, 0.01, 0.03, 0.1, 1.0)
CSS = """<style>.st-key-text_field { display: none; } /* this part has a text of its own */</style>"""


def show_controls(what: What) -> None:
    """Show all settings."""
    st.html(CSS)
    data_choice(what)
    state.choice(
        "features", st.segmented_control, "Features of a text", list(WAYS), required=True, format_func=FEATURES.get,
        width="stretch", help=FEATURES_HELP,
    )  # fmt: skip
    state.bound("tanh", st.toggle, "tanh of each number first")
    left, right = st.columns(2)
    with left:
        state.bound("class_steps", st.number_input, "Steps", 1, MAX_CLASS_STEPS, step=50)
        controls.seed()
    with right:
        rate = state.get("class_rate")
        rates = RATES if rate in RATES else tuple(sorted((*RATES, rate)))
        state.bound("class_rate", st.selectbox, "Learning rate", rates, among=rates, format_func="{:g}".format)
    st.caption(
        "The model stays frozen: only the linear layer learns, with AdamW, 32 texts a step. The seed is of the split, "
        "the first weights and the order."
    )
