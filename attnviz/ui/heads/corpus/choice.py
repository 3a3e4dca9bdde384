"""The choice on the page Heads between this text and a corpus. It imports nothing that takes time."""

from __future__ import annotations

import streamlit as st

from attnviz.corpus.names import NAMES
from attnviz.sources.shown import Shown
from attnviz.ui import state

OVER = {"text": "This text", "corpus": "A corpus"}
NONE = (
    "There are no corpus statistics for this model, so this text is shown. "
    "`python -m attnviz corpus FILES --model NAME` makes them, as a Parquet file."
)


def over_corpus(here: Shown) -> bool:
    """Offer the choice between this text and a corpus; return whether it is the corpus."""
    if here.model.name not in NAMES or here.kind != "encoder":
        if state.get("over") == "corpus":
            state.note(NONE)
            state.put("over", "text")
        return False
    if state.get("lecture"):
        return bool(state.get("over") == "corpus")
    chosen = state.choice(
        "over", st.segmented_control, "All heads over", list(OVER), required=True, format_func=OVER.get,
        label_visibility="collapsed", width="content",
    )  # fmt: skip
    return bool(chosen == "corpus")
