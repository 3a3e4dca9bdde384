"""The choice on the page Heads between this text and a corpus, and what the corpus says of this text's labels.

It imports nothing that takes time.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import streamlit as st

from attnviz.corpus.names import NAMES
from attnviz.corpus.shipped import shipped_labels
from attnviz.sources import PRETRAINED
from attnviz.sources.shown import Shown
from attnviz.sources.trained import source_of
from attnviz.ui import state
from attnviz.ui.heads.corpus.words import HALF, LABELS, LINKED, share
from attnviz.ui.plain import plain

if TYPE_CHECKING:
    from attnviz.measures.survey import Survey

OVER = {"text": "This text", "corpus": "A corpus"}
NONE = "There are no corpus statistics for this model: `python -m attnviz corpus FILES --model NAME` makes some."


def has_corpus(here: Shown) -> bool:
    """Whether statistics over a corpus ship for this model and kind of attention."""
    return here.model.name in NAMES and here.kind == "encoder"


def over_corpus(here: Shown) -> bool:
    """Return whether the corpus is chosen, before `choose`. If there is none, this text is shown, with a note."""
    state.adopt("over")
    if not has_corpus(here) and state.get("over") == "corpus":
        state.note("There are no corpus statistics for this model, so this text is shown.")
        state.put("over", "text")
    return bool(state.get("over") == "corpus")


def choose() -> None:
    """Show the choice."""
    state.choice(
        "over", st.segmented_control, "All heads over", list(OVER), required=True, format_func=OVER.get,
        label_visibility="collapsed", width="content",
    )  # fmt: skip


def of_labels(here: Shown, survey: Survey, layer: int, head: int) -> str:
    """Say on which share of the corpus the labels of a head hold: those of this text, and those that mostly do."""
    if not has_corpus(here):
        is_read = source_of(here.model.name) is PRETRAINED and here.kind != "cross"
        return NONE if is_read else ""  # of others the command makes none
    found = shipped_labels(here.model.name)
    shares = dict(found.shares.get((layer, head), ()))
    own = survey.labels[layer][head]
    names = [name for name, label in LINKED.items() if label in own]
    names += [name for name, part in shares.items() if part >= HALF and name not in names]
    said = ", ".join(f"{plain(LABELS[name])} on {share(shares.get(name, 0.0))}" for name in names)
    return f"Layer {layer} · head {head} over {found.sentences:,} sentences: {said or 'no label on half of them'}."
