"""The models of the page BERT at work: the built-in one, and the chosen one of a part that shows any pretrained one."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

import streamlit as st

from attnviz import trained
from attnviz.pretrained.names import BUILT_IN
from attnviz.sources import PRETRAINED
from attnviz.ui import controls, state
from attnviz.ui.controls import open_model
from attnviz.ui.messages import plain
from attnviz.ui.sources import with_model

if TYPE_CHECKING:
    from attnviz.pretrained import PretrainedModel
    from attnviz.pretrained.built_in import BuiltInModel


def built_in() -> BuiltInModel:
    """Return the built-in model, which all sessions share. If it is not installed, the page ends with the reason."""
    return cast("BuiltInModel", open_model(PRETRAINED, with_model(state.get, BUILT_IN)))


def choose_model() -> None:
    """Show the choice of a model, in the sidebar."""
    if PRETRAINED.names is not None:
        controls.choose_model(PRETRAINED.names)


def chosen_model() -> PretrainedModel:
    """Return the chosen model. If it can't be loaded or has no such vocabulary, say so and return the built-in one."""
    name = state.get("model")
    if trained.is_name(name):
        st.error(plain(f"“{name}” was trained here, on tokens of its own. Showing minilm."), icon="⚠️")
        return built_in()
    model: PretrainedModel = open_model(PRETRAINED)  # type: ignore[assignment]  # no trained one is left
    return model


def shown_model() -> PretrainedModel:
    """Return the model that is shown, for Export, which says nothing of its own."""
    from attnviz.pretrained import ModelError
    from attnviz.ui import caches

    name = state.get("model")
    try:
        return built_in() if trained.is_name(name) or not name.strip() else caches.model(name)
    except ModelError:
        return built_in()
