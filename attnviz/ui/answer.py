"""What a model answers without some of its heads: the first guesses with their shares, before and after.

On Heads and Compare for one head alone, on the page of BERT for all that are switched off.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import streamlit as st

from attnviz.formatting import percent
from attnviz.measures.ablation import Answer, changes_in_steps, compared, hidden_without
from attnviz.measures.survey import survey_name
from attnviz.runtime.long_work import Work
from attnviz.tokens.value import bare
from attnviz.ui.caches import named_cache, result, wait_for
from attnviz.ui.messages import plain

if TYPE_CHECKING:
    import pandas as pd
    from torch import Tensor

    from attnviz.measures.ablation import AnswerChanges
    from attnviz.trace.model import Kind, Place
    from attnviz.trace.trace import Trace

ANSWER_BYTES = 2**18
"""The answers of some thousand texts and heads"""
CHANGE_BYTES = 2**20
"""The changes by all heads on some thousand texts"""
AT_ONCE_UP_TO = 64 * 72
"""Tokens times heads: more take seconds, and are measured on request only"""
FAILED = "The heads could not be measured: there may be too little memory for it just now. Choose a shorter text."


def answer_without(trace: Trace, place: Place, head: int) -> Answer:
    """Return the cached answer with all heads and without one, or compute it.

    Raises:
        attnviz.measures.ablation.NoAnswerError: there is no answer.
    """
    key = survey_name(trace, place.kind), place, head
    return result(
        "answers without a head", ANSWER_BYTES, key, lambda: compared(trace, hidden_without(trace, [(place, head)]))
    )


def answer_changes(trace: Trace, kind: Kind) -> Tensor:
    """Return how much the answer depends on each head, (L, H), from the cache or measured with a progress bar.

    Raises:
        attnviz.measures.ablation.NoAnswerError: there is no answer.
        attnviz.runtime.long_work.LongWorkError: there was too little memory.
    """
    work: Work[AnswerChanges] = Work(
        named_cache("answer changes", CHANGE_BYTES),
        survey_name(trace, kind),
        lambda: changes_in_steps(trace, kind),
        FAILED,
    )
    heads = sum(layer.heads for layer in trace.layers[kind])
    return wait_for(work, heads, "heads are measured").changes


def are_quick(trace: Trace, kind: Kind) -> bool:
    """Whether the changes by all heads are measured without a request."""
    return len(trace.query_tokens(kind)) * sum(layer.heads for layer in trace.layers[kind]) <= AT_ONCE_UP_TO


def label_of(trace: Trace, token: int) -> str:
    """Return the label of a token as guesses name it."""
    return bare(trace.vocabulary.label(token)) if trace.vocabulary is not None else str(token)


def sentence(trace: Trace, answer: Answer, off: str) -> str:
    """Return what becomes of the first guess without some heads, as Markdown; `off` names them, "" is no head."""
    kind = trace.places[-1].kind
    label = plain(trace.query_tokens(kind).labels[answer.row])
    where = f"For the first {label}" if kind == "encoder" else f"After “{label}”, the last token,"
    first = plain(label_of(trace, int(answer.tokens[0])))
    start = f"{where} the model’s first guess is **“{first}”** with **{percent(float(answer.before[0]), 1)}**"
    if not off:
        return f"{start}."
    best = int(answer.after.argmax())
    other = f", and “{plain(label_of(trace, int(answer.tokens[best])))}” comes first" if best else ""
    return f"{start}; without **{off}** it has **{percent(float(answer.after[0]), 1)}**{other}."


def table(trace: Trace, answer: Answer) -> pd.DataFrame:
    """Return the guesses with their shares with all heads and without some."""
    import pandas as pd

    shares = {"all heads": answer.before.tolist(), "without": answer.after.tolist()}
    return pd.DataFrame(shares, index=[label_of(trace, token) for token in answer.tokens.tolist()])


def show_table(trace: Trace, answer: Answer) -> None:
    """Show the guesses with their shares."""
    st.table(table(trace, answer).map(percent, digits=1))


def show_note(trace: Trace) -> None:
    """Say whose the language head is and how often it is right, where that has to be said."""
    if trace.vocabulary is not None and trace.vocabulary.note:
        st.caption(plain(trace.vocabulary.note))


def signed(change: float) -> str:
    """Write a change of a share in percentage points, with its sign."""
    return f"{'+' if change > 0 else '−' if change < 0 else ''}{100 * abs(change):.2f} points"
