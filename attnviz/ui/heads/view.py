"""The main part of Heads: the explorer, with a caution above it, and the table and explanations below.

The page imports it after showing the controls, because it imports torch.
"""

from __future__ import annotations

from pathlib import Path

import streamlit as st

from attnviz.components.explorer import explorer
from attnviz.components.updates import acknowledged
from attnviz.corpus.offered import statistics
from attnviz.heads.payload import explorer_payload
from attnviz.links.link import KEYS
from attnviz.links.pages import PAGES
from attnviz.links.values import ROLLOUT
from attnviz.measures.labels import possible_labels
from attnviz.measures.survey import Survey, survey_name
from attnviz.sources.shown import Shown
from attnviz.sources.trained import source_of
from attnviz.trace.trace import Trace
from attnviz.ui import caches, shell, state
from attnviz.ui.heads import state as heads_state
from attnviz.ui.heads.arrays import Heads, offer_arrays
from attnviz.ui.heads.corpus import choice
from attnviz.ui.heads.corpus.words import words_for
from attnviz.ui.heads.more import show_care, show_measures
from attnviz.ui.sources import RESOURCES, settle

CAUTION = "A weight says where a head looks, not why: see *With care*, below."


def show_heads(here: Shown) -> None:
    """Show all heads of a text and kind of attention.

    Raises:
        attnviz.tokens.NoTokensError: the text has no token for this model.
    """
    # A container for notes, so that they do not change the explorer's position in the element tree.
    notes = st.container()
    kind, trace = here.kind, here.trace(RESOURCES)
    survey = caches.survey(trace, kind, survey_name(trace, kind))
    queries, keys = trace.query_tokens(kind), trace.key_tokens(kind)
    with notes:
        for tokens in dict.fromkeys((queries, keys)):
            shell.token_notes(tokens)
        settle(here)
        found = choice.corpora_of(here)
        is_over_corpus = choice.over_corpus(found)
        file = choice.file_of(found, is_over=is_over_corpus)
        sorts, labels = [one.name for one in survey.measures], possible_labels(survey.measures)
        if file is not None and is_over_corpus:
            sorts, labels = list(statistics(file)[0].present), list(words_for(survey).linked.values())
        heads_state.check(survey, len(queries), len(keys), rollout=kind != "cross", labels=labels, sorts=sorts)
    with st.container(key="heads_top", horizontal=True, vertical_alignment="center", horizontal_alignment="distribute"):
        if found and not state.get("lecture"):
            choice.choose(found)
        if file is None or not is_over_corpus:
            _say_what_labels_are(here, file, survey)
        _way_to_steps(here)
    if file is not None and is_over_corpus:
        from attnviz.ui.heads.corpus.view import show  # reads statistics, which takes a second once

        show(file, survey)
        return
    _explorer(here, trace, survey)
    more = state.choice("more", st.segmented_control, "More", label_visibility="collapsed")
    if more == "table":
        from attnviz.ui.heads.table import show_table  # pandas takes a third of a second to import

        show_table(survey)
    elif more == "measures":
        show_measures(survey)
    elif more == "care":
        show_care()


def _explorer(here: Shown, trace: Trace, survey: Survey) -> None:
    """Show the explorer, and offer it the weights."""
    heads = Heads(here.model.name, here.text, here.pair, here.kind, survey.name)
    files = offer_arrays(heads, survey, rollout=here.kind != "cross")
    view, known = heads_state.view(), acknowledged("explorer")
    payload = explorer_payload(trace, here.kind, survey, files, view, acknowledged=known)
    explorer(*payload, key="explorer", on_view=heads_state.take)


def _say_what_labels_are(here: Shown, file: Path | None, survey: Survey) -> None:
    """Say what weights and labels don't, and on which share of a corpus the labels of the current head hold."""
    layer, head = heads_state.current()
    said = choice.of_labels(here, file, survey, layer, head) if head != ROLLOUT else ""
    st.caption(f"{CAUTION}  \n{said}" if said else CAUTION, width="content")


def _way_to_steps(here: Shown) -> None:
    """Link to the same head in Step by step, with this page's settings, so that the way back restores them."""
    layer, head = state.get("layer"), state.get("head")
    view = state.every() | {"source": source_of(here.model.name).key, "step": "weights"}
    st.page_link(
        PAGES["step_by_step"].script,
        label=f"Layer {layer} · head {head}, step by step",
        icon=":material/arrow_forward:",
        icon_position="right",
        query_params=PAGES["step_by_step"].write(view, KEYS),
    )
