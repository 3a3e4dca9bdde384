"""The sidebar of "Text": the text that is trained on, and the settings of all rungs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import streamlit as st

from attnviz.links.link import MAX_SAMPLE, MOST_BLOCK
from attnviz.ui import controls, state
from attnviz.ui.train.controls import BATCHES, RATES
from attnviz.ui.train.text.chosen import text_choice

STEPS = (100, 200, 500, 1000, 2000, 5000, 10_000)
BLOCKS = (4, 8, 16, 32, 64, MOST_BLOCK)


def text_controls() -> None:
    """Show all settings."""
    text_choice()
    left, right = st.columns(2)
    with left:
        _pick("steps", "Steps", STEPS, "2,000")
        _pick("rate", "Learning rate", RATES, "usual")
    with right:
        _pick("train_block", "Block size", BLOCKS, "usual")
        _pick("batch", "Batch", BATCHES, "usual")
    controls.seed()
    state.bound(
        "sample", st.text_input, "Text for the heads", max_chars=MAX_SAMPLE, placeholder="the beginning of the text",
        help="Its first characters, as many as a block has, are what the heads are shown at every snapshot.",
    )  # fmt: skip
    st.caption(
        "Settings hold for what is trained next, for all models. “usual” is each model's own: blocks of 8 characters, "
        "of 32 for the GPT."
    )


def _pick(key: str, label: str, options: Sequence[Any], own: str) -> None:
    """Show a choice whose first option leaves each model its own; a link's other value is a choice too."""
    value = state.get(key)
    numbers: Sequence[Any] = options if value is None or value in options else sorted([*options, value])

    def written(one: Any) -> str:
        return own if one is None else f"{one:,}" if one >= 1 else f"{one:g}"

    state.bound(
        key, st.selectbox, label, [None, *numbers], among=[None, *numbers], format_func=written, placeholder=own
    )
