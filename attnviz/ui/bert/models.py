"""The models of the page on BERT: the built-in one, and the user's choice in parts that take any model."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

import streamlit as st

from attnviz import trained
from attnviz.pretrained.names import BUILT_IN
from attnviz.sources import PRETRAINED
from attnviz.trained.shipped import title
from attnviz.ui import controls, shell, state
from attnviz.ui.controls import open_model
from attnviz.ui.messages import plain
from attnviz.ui.sources import RESOURCES, AppResources, with_model

if TYPE_CHECKING:
    from attnviz.pretrained import PretrainedModel
    from attnviz.pretrained.built_in import BuiltInModel
    from attnviz.tokens import Tokens


def built_in() -> BuiltInModel:
    """Return the built-in model, which all sessions share. If it is not installed, the page stops and says why."""
    return cast("BuiltInModel", open_model(PRETRAINED, with_model(state.get, BUILT_IN)))


def read_text() -> tuple[BuiltInModel, Tokens]:
    """Return the built-in model and the text as its tokens, with notes on them; without a text the page stops."""
    model, text = built_in(), shell.text()
    tokens = model.tokenize(text)
    shell.token_notes(tokens)
    return model, tokens


def text_at_hand() -> tuple[BuiltInModel, Tokens] | None:
    """Return the same for Export, without the notes; None if there is no text."""
    text = state.get("text")
    if not text.strip():
        return None
    model = built_in()
    return model, model.tokenize(text)


def choose_model() -> None:
    """Let the user choose a model, in the side bar."""
    if PRETRAINED.names is not None:
        controls.choose_model(PRETRAINED.names)


def chosen_model(resources: AppResources = RESOURCES) -> PretrainedModel:
    """Return the chosen model. If it can't be loaded or is no pretrained one, say so and return the built-in one.

    With the resources `DESCRIBED`, the built-in one may be without its weights.
    """
    name = state.get("model")
    if trained.is_name(name):
        st.error(plain(f"“{name}” was trained here, on tokens of its own. Showing {title(BUILT_IN)}."), icon="⚠️")
        return built_in()
    model: PretrainedModel = open_model(PRETRAINED, resources=resources)  # type: ignore[assignment]  # trained models are excluded above
    return model


def shown_model() -> PretrainedModel:
    """Return the model on screen, for Export, without the messages of `chosen_model`."""
    from attnviz.pretrained import ModelError
    from attnviz.ui import caches

    name = state.get("model")
    try:
        return built_in() if trained.is_name(name) or not name.strip() else caches.model(name)
    except ModelError:
        return built_in()
