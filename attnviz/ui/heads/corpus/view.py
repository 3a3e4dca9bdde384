"""The page Heads over a corpus: all heads by their mean weights, and one of them beside this text."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import streamlit as st

from attnviz.corpus.shipped import shipped
from attnviz.sources.shown import Shown
from attnviz.ui import state
from attnviz.ui.heads.corpus import panels
from attnviz.ui.heads.corpus.here import Here
from attnviz.ui.heads.corpus.words import LABELS, share
from attnviz.ui.palette import palette
from attnviz.ui.plain import plain
from attnviz.ui.walk.checks import clicked, notice, plot

if TYPE_CHECKING:
    from attnviz.measures.survey import Survey

VIEWS = {
    "measures": "Measures",
    "distribution": "Distribution",
    "positions": "Positions",
    "parts": "Parts of a sentence",
    "alike": "Heads like it",
    "examples": "Strongest",
    "heads": "All heads",
}
"""What is shown beside the grid, by its names in links: each is a function of `panels`"""
CSS = """
<style>
.st-key-corpus_examples [data-testid="stPageLink"] :is(span, div, p) { white-space: normal; }
</style>
"""
LECTURE_CSS = """
<style>
/* The corner of a lecture has two buttons; in a lesson they are in its bar. */
:root:not(:has(.st-key-lesson_bar)) .st-key-corpus_right { padding-top: 2.5rem; }
</style>
"""


def show(here: Shown, survey: Survey) -> None:
    """Show all heads over the corpus, and the chosen one beside this text."""
    statistics, card = shipped(here.model.name)
    found = Here(statistics, card, survey, state.get("layer"), state.get("head"))
    st.html(CSS + (LECTURE_CSS if state.get("lecture") else ""))
    left, right = st.columns([1, 1], gap="medium")
    with left:
        st.markdown(
            f"Each head’s **mean weights** over {statistics.sentences:,} sentences, by how far the key stands from the "
            "query, up to 8 tokens. Click a head."
        )
        _grid(found)
    with right, st.container(key="corpus_right"):
        st.markdown(f"**Layer {found.layer} · head {found.head}**: {_said(found)}")
        if state.get("lecture"):
            state.keep_within("corpus_view", "View", list(VIEWS))
        else:
            state.choice(
                "corpus_view", st.segmented_control, "Of this head", list(VIEWS), required=True,
                format_func=VIEWS.get, label_visibility="collapsed",
            )  # fmt: skip
        getattr(panels, state.get("corpus_view"))(found)
    notice(
        "A label that holds on one sentence may be chance; one that holds on nearly all of them is what the head does. "
        "Most heads have none: they do different things on different sentences."
    )
    st.caption(_of_corpus(found))


def _grid(here: Here) -> None:
    from attnviz.figures.corpus import GRID, LARGE, pictures

    layers, heads = here.statistics.shape
    said = {(layer, head): _labels(here, layer, head) for layer in range(layers) for head in range(heads)}
    figure = pictures(
        here.statistics.offset_mean, here.statistics.offsets, palette(), chosen=(here.layer, here.head), said=said,
        height=LARGE[0] if state.get("lecture") else GRID,
    )  # fmt: skip
    key = f"corpus_grid_{here.layer}_{here.head}"
    plot(figure, key, on_select=partial(_choose, key), selection_mode="points")


def _labels(here: Here, layer: int, head: int) -> str:
    """Return what a head says while it is pointed at: its most frequent labels."""
    return "".join(f"<br>{LABELS[name]}: <b>{share(part)}</b>" for name, part in here.labels(layer, head)[:3])


def _choose(key: str) -> None:
    """Show the head that the plot with this key says was clicked."""
    place = clicked(key)
    if isinstance(place, (list, tuple)) and len(place) == 2 and all(type(one) is int and one >= 0 for one in place):
        state.choose_head(place[0], place[1])


def _said(here: Here) -> str:
    """Say which labels hold, on which share of the sentences."""
    held = [(name, part) for name, part in here.labels(here.layer, here.head) if part >= 0.01]
    if not held:
        return f"no label holds on 1 % of {here.statistics.sentences:,} sentences."
    found = [f"**{plain(LABELS[name])}** on {share(part)}" for name, part in held]
    return f"{', '.join(found)} of {here.statistics.sentences:,} sentences."


def _of_corpus(here: Here) -> str:
    """Say what the corpus is."""
    licence = f" Licence: {plain(here.card.licence)}." if here.card.licence else ""
    return (
        f"Corpus: {plain(here.card.corpus)}; {here.statistics.sentences:,} sentences, {here.statistics.tokens:,} "
        f"tokens.{licence} Layers and heads are counted from 0."
    )
