"""Loads the chosen model with a spinner, and falls back to the built-in model with an error message."""

from __future__ import annotations

from contextlib import nullcontext
from typing import TYPE_CHECKING

import streamlit as st

from attnviz.sources import PRETRAINED, SOURCES
from attnviz.ui import caches, controls, state
from attnviz.ui.plain import plain
from attnviz.ui.sources import RESOURCES
from attnviz.ui.tokens.chips import shorten

if TYPE_CHECKING:
    from attnviz.pretrained import PretrainedModel

ABOVE = "above the picture"
MAX_SHOWN = 80
"""The most characters of a model's name in the spinner."""


def model_or_built_in(name: str) -> PretrainedModel:
    """Return the model of this name. If it can't be loaded, show the reason and return the built-in model.

    If the built-in model can't be loaded either, the page ends with the reason.
    """
    loading = nullcontext() if caches.is_loaded(name) else st.spinner(f"Loading {plain(shorten(name, MAX_SHOWN))} …")
    with loading:
        from attnviz.pretrained import BUILT_IN, ModelError

        try:
            return caches.model(name)
        except ModelError as error:
            reason = str(error)
    if name.strip() == BUILT_IN:
        st.error(plain(reason), icon="⚠️")
        st.stop()
    st.error(plain(f"{reason} Showing {BUILT_IN}."), icon="⚠️")
    return model_or_built_in(BUILT_IN)


def ask_for_settings(source_key: str) -> str | None:
    """Show the settings of a source; return the name of the model in use if its models have names."""
    source = SOURCES[source_key]
    if source.has_names:
        return ask_for_model()
    controls.settings_of(source.keys)
    if source.has_layers:
        controls.layer_controls(source.open(state.get, RESOURCES), source.keys, ABOVE)
    return None


def ask_for_model(where: str = ABOVE) -> str:
    """Show the choice of a model with its settings, and return the name of the model in use.

    `where` names the place on the page that selects layer and head.

    It returns a name, because a page's global variables live as long as a session, and would keep a model in memory.
    """
    model = model_or_built_in(controls.choose_model())
    controls.layer_controls(model, PRETRAINED.keys, where)
    return model.name
