"""What the models of both panes answer without the heads that are compared."""

from __future__ import annotations

import streamlit as st

from attnviz.measures.ablation import NoAnswerError
from attnviz.sources.compared import Choice
from attnviz.sources.shown import shown
from attnviz.ui import answer
from attnviz.ui.messages import plain
from attnviz.ui.sources import RESOURCES

WHAT_IF = "It is without the other scale or mask of this pane, which no model was trained with."


def show_switched_off(a: Choice, b: Choice) -> None:
    """Show for each pane the answer with all heads and without its head.

    Raises:
        attnviz.tokens.NoTokensError: one of the texts has no tokens for its model.
    """
    for choice, column in zip((a, b), st.columns(2, gap="medium"), strict=True):
        with column:
            _show_pane(choice)


def _show_pane(choice: Choice) -> None:
    here = shown(choice.get, RESOURCES)
    trace = here.trace(RESOURCES)
    try:
        found = answer.answer_without(trace, here.place, here.head)
    except NoAnswerError as reason:
        st.info(f"{choice.name}: {plain(str(reason))}")
        return
    said = answer.sentence(trace, found, f"layer {here.layer} · head {here.head}")
    st.markdown(f"**{choice.name}** · {said}")
    answer.show_table(trace, found)
    if choice.is_what_if:
        st.caption(WHAT_IF)
    answer.show_note(trace)
