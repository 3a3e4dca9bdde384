"""The sidebar of "Text": the text that is trained on, and the settings of all stages."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import streamlit as st

from attnviz.links.train import MAX_SAMPLE, MOST_BLOCK
from attnviz.training.series import FIRST_SHOWN
from attnviz.training.settings import TrainingSettings
from attnviz.ui import controls, state
from attnviz.ui.plain import plain
from attnviz.ui.train.controls import BATCHES, RATES
from attnviz.ui.train.plans import CUTS, DECAYS, OPTIMISERS
from attnviz.ui.train.schedule import schedule
from attnviz.ui.train.text.chosen import part_of_text, part_refused, text_choice
from attnviz.ui.train.text.plans import STAGES, plan_of

STEPS = (100, 200, 500, 1000, 2000, 5000, 10_000)
BLOCKS = (4, 8, 16, 32, 64, MOST_BLOCK)
WARM_UPS = (0, 50, 100, 200, 500)
WEIGHT_DECAYS = (0.01, 0.03, 0.1, 0.3)
DROPOUTS = (0.1, 0.2, 0.3, 0.5)
CUT_HELP = "Blocks go over line ends; the others stay within a line. “The text as data” shows the first ones."
USUAL = TrainingSettings()
"""What the stages leave as it is: all but steps, batch and learning rate"""


def text_controls() -> None:
    """Show all settings."""
    text_choice()
    part_of_text()
    if why := part_refused():
        st.error(plain(why))
    left, right = st.columns(2)
    with left:
        _pick("steps", "Steps", STEPS, "2,000")
        _pick("rate", "Learning rate", RATES, "usual")
    with right:
        _pick("train_block", "Block size", BLOCKS, "usual")
        _pick("batch", "Batch", BATCHES, "usual")
    controls.seed()
    with st.popover("More settings", width="stretch"):
        _more()
    state.bound(
        "sample", st.text_input, "Text for the heads", max_chars=MAX_SAMPLE, placeholder="the beginning of the text",
        help="Its first characters, as many as a block has, are what the heads are shown at every snapshot.",
    )  # fmt: skip
    st.caption(
        "Settings hold for what is trained next, for all models. “usual” is each model's own: blocks of 8 characters, "
        "of 32 for the GPT; where lines are cut, at most 40 for all."
    )


def _more() -> None:
    left, right = st.columns(2)
    with left:
        _pick("warm_up", "Warm-up steps", WARM_UPS, f"{USUAL.warm_up}")
        _pick("optimiser", "Optimiser", _others(OPTIMISERS, USUAL.optimiser), OPTIMISERS[USUAL.optimiser], OPTIMISERS)
        _pick("weight_decay", "Weight decay", WEIGHT_DECAYS, f"{USUAL.weight_decay:g}")
    with right:
        _pick("decay", "Decay of the rate", _others(DECAYS, USUAL.decay), DECAYS[USUAL.decay], DECAYS)
        _pick("train_dropout", "Dropout", DROPOUTS, "0")
        state.choice("cut", st.selectbox, "Sequences to train on", CUTS, format_func=CUTS.get, help=CUT_HELP)
    st.caption(schedule(plan_of(STAGES[state.get("rung") or FIRST_SHOWN], 2, state.get).training))
    st.caption(
        "Dropout and weight decay are for attention and feed-forward: the bigram and the GRU have none. Muon trains "
        "their matrices; AdamW trains all else."
    )


def _others(names: Mapping[str, str], usual: str) -> list[str]:
    return [name for name in names if name != usual]


def _pick(key: str, label: str, options: Sequence[Any], own: str, names: Mapping[str, str] | None = None) -> None:
    """Show a choice whose first option leaves each model its own; a link's other value is a choice too."""
    value = state.get(key)
    numbers: Sequence[Any] = options if value is None or value in options else sorted([*options, value])

    def written(one: Any) -> str:
        if one is None:
            return own
        return names[one] if names else f"{one:,g}"

    state.bound(
        key, st.selectbox, label, [None, *numbers], among=[None, *numbers], format_func=written, placeholder=own
    )
