"""The chosen model of a part that shows any pretrained one."""

from __future__ import annotations

from typing import TYPE_CHECKING

import streamlit as st

from attnviz import trained
from attnviz.sources import PRETRAINED
from attnviz.ui import controls, state
from attnviz.ui.bert.look import built_in
from attnviz.ui.model_box import open_model
from attnviz.ui.plain import plain

if TYPE_CHECKING:
    from attnviz.pretrained import PretrainedModel


def choose() -> None:
    """Show the choice of a model, in the sidebar."""
    if PRETRAINED.names is not None:
        controls.choose_model(PRETRAINED.names)


def chosen() -> PretrainedModel:
    """Return the chosen model. If it can't be loaded or has no such vocabulary, say so and return the built-in one."""
    name = state.get("model")
    if trained.is_name(name):
        st.error(plain(f"“{name}” was trained here, on tokens of its own. Showing minilm."), icon="⚠️")
        return built_in()
    model: PretrainedModel = open_model(PRETRAINED)  # type: ignore[assignment]  # no trained one is left
    return model


def current() -> PretrainedModel:
    """Return the model that is shown, for Export, which says nothing of its own."""
    from attnviz.pretrained import ModelError
    from attnviz.ui import caches

    name = state.get("model")
    try:
        return built_in() if trained.is_name(name) or not name.strip() else caches.model(name)
    except ModelError:
        return built_in()
