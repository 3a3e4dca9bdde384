"""What the model answers without the current head, and all heads ranked by how much the answer depends on them."""

from __future__ import annotations

from dataclasses import dataclass

import streamlit as st

from attnviz.links.values import ROLLOUT
from attnviz.measures.ablation import NoAnswerError
from attnviz.measures.survey import Survey
from attnviz.trace.model import Kind, Place
from attnviz.trace.trace import Trace
from attnviz.ui import answer, state
from attnviz.ui.caches import failures_shown
from attnviz.ui.heads import state as heads_state
from attnviz.ui.heads.table import show_table
from attnviz.ui.messages import plain

NO_HEAD = "The rollout follows all heads of its layers: choose a head, to see the answer without it."
ABOUT = (
    "The head’s slice of concat is 0 in a second pass of the model (Michel et al. 2019). Later layers may make up for "
    "it, so a head that changes little alone may still matter together with others."
)


@dataclass(slots=True)
class _Requested:
    """The text whose heads this session has asked to measure, although that takes seconds."""

    name: str = ""


def show_switched_off(trace: Trace, kind: Kind, survey: Survey) -> None:
    """Show the answer with and without the current head, and the ranking of all heads."""
    layer, head = heads_state.current()
    if head == ROLLOUT:
        st.info(NO_HEAD)
        return
    try:
        found = answer.answer_without(trace, Place(kind, layer), head)
    except NoAnswerError as reason:
        st.info(plain(str(reason)))
        return
    left, right = st.columns([2, 3], gap="medium")
    with left:
        st.markdown(answer.sentence(trace, found, f"layer {layer} · head {head}"))
        answer.show_table(trace, found)
        answer.show_note(trace)
        st.caption(ABOUT)
    with right:
        first = plain(answer.label_of(trace, int(found.tokens[0])))
        st.markdown(f"All heads, each switched off alone, by the change of the share of “{first}”:")
        requested = state.record(_Requested)
        if requested.name != survey.name and not answer.are_quick(trace, kind):
            st.button("Measure all heads", key="off_measure", on_click=_request, args=(survey.name,))
            return
        with failures_shown():
            show_table(survey, 100 * answer.answer_changes(trace, kind).numpy())


def _request(name: str) -> None:
    """Request the changes by all heads on a long text, from a callback."""
    state.record(_Requested).name = name
