"""Getting the chosen model with a note while it loads, and falling back to the built-in one with a reason."""

from __future__ import annotations

from contextlib import nullcontext
from typing import TYPE_CHECKING

import streamlit as st

from attnviz.ui import caches, controls
from attnviz.ui.plain import plain
from attnviz.ui.tokens.chips import shorten

if TYPE_CHECKING:
    from attnviz.pretrained import PretrainedModel

MAX_SHOWN = 80
"""Characters of a model's name that the note while it loads repeats."""


def model_or_built_in(name: str) -> PretrainedModel:
    """Return the model of this name; where it can't be loaded, say why and return the built-in one.

    Where the built-in one can't be loaded either, the page ends with the reason.
    """
    loading = nullcontext() if caches.is_loaded(name) else st.spinner(f"Loading {plain(shorten(name, MAX_SHOWN))} …")
    with loading:
        from attnviz.pretrained import BUILT_IN, ModelError

        try:
            return caches.model(name)
        except ModelError as error:
            why = str(error)
    if name.strip() == BUILT_IN:
        st.error(plain(why), icon="⚠️")
        st.stop()
    st.error(plain(f"{why} Showing {BUILT_IN}."), icon="⚠️")
    return model_or_built_in(BUILT_IN)


def ask_for_model(where: str = "above the picture") -> str:
    """Ask for a model and what it needs to know, and return the name of the one that is shown.

    `where` says where on this page layer and head are chosen.

    A name, because a page's global variables live as long as somebody has the page open, and a model that one of them
    holds could not make room for another.
    """
    model = model_or_built_in(controls.choose_model())
    controls.pretrained_controls(model, where)
    return model.name
