"""The main part of "Text": the component with the model series, and what a loss on the text is."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import streamlit as st

from attnviz.components.training import model_series
from attnviz.runtime.training import keep, training_jobs
from attnviz.tokens import CharVocab
from attnviz.training.series import SERIES
from attnviz.ui import shell, state
from attnviz.ui.lessons import bar as lesson_bar
from attnviz.ui.plain import plain
from attnviz.ui.train import commands
from attnviz.ui.train.arrays import Reading, reading_of_tokens
from attnviz.ui.train.finished import open_if_asked
from attnviz.ui.train.text.arrays import offer_pairs
from attnviz.ui.train.text.chosen import chosen_facts
from attnviz.ui.train.text.commands import has_cut_changed, take, values
from attnviz.ui.train.text.cuts import cut_of
from attnviz.ui.train.text.facts import Facts
from attnviz.ui.train.text.plans import plan_of
from attnviz.ui.train.text.processors import show_processors
from attnviz.ui.train.text.stages import curves_of, rows_of, told
from attnviz.ui.trained.visitor import visitor


def show_text() -> None:
    """Show the stages, trained on the chosen text as far as they are."""
    open_if_asked()
    if has_cut_changed() and state.in_fragment():
        st.rerun()  # the sidebar shows the cut too
    name = visitor()
    keep(name)
    training_jobs().prepare()
    facts = chosen_facts()
    rows = rows_of(name, facts, state.get)
    with st.container():
        whole = _read(facts, max(row.plan.block_size for row in rows))
        if commands.refusal():
            st.warning(plain(commands.refusal()))
    header = {
        "text": {**facts.told(), "pairs": offer_pairs(facts), "cut": _cut(facts)},
        "rungs": [told(row, facts, name, whole.cut(row.plan.block_size), state.get) for row in rows],
        "values": values(),
        "in_lesson": lesson_bar.is_open(),
    }
    arrays = {f"{n}.{part}": array for n, row in enumerate(rows) for part, array in curves_of(row).items()}
    with st.container(key="training"):
        model_series(header, arrays, key="ladder_view", on_update=take)
    if not lesson_bar.is_open():  # its sentence and the picture have the window to themselves
        show_processors(len(facts.labels))


def _cut(facts: Facts) -> Mapping[str, Any] | None:
    """Return how the text will be cut, where that is shown."""
    return cut_of(facts, plan_of(SERIES[0], len(facts.labels), state.get)) if state.get("text_view") == "data" else None


def _read(facts: Facts, most: int) -> Reading:
    """Return what the models are shown: the view's text, or the beginning of the text that is trained on."""
    sample = state.get("sample")
    tokens = CharVocab(facts.labels).tokenize(sample or facts.text[:most])
    if sample:
        shell.token_notes(tokens)
    reading = reading_of_tokens("text", tokens)
    if reading.ids:
        return reading
    st.info("The models know none of these characters. Type something that stands in the text.")
    return reading_of_tokens("text", CharVocab(facts.labels).tokenize(facts.text[:most]))
