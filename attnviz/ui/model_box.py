"""Opens the chosen model with a spinner; if it can't be loaded, shows an error message and its source's fallback."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from typing import TYPE_CHECKING

import streamlit as st

from attnviz import trained
from attnviz.settings import settings
from attnviz.sources import Get, Source
from attnviz.ui import controls, state
from attnviz.ui.messages import plain
from attnviz.ui.sources import RESOURCES, AppResources, with_model
from attnviz.ui.tokens.chips import shorten
from attnviz.ui.trained import own

if TYPE_CHECKING:
    from attnviz.trace.model import Model

ABOVE = "above the picture"
MAX_SHOWN = 80
"""The most characters of a model's name in the spinner."""


def open_model(source: Source, get: Get = state.get, resources: AppResources = RESOURCES) -> Model:
    """Return the model that a view selects. If it can't be loaded, show the reason and return the source's fallback.

    If there is no fallback, or it can't be loaded either, the page ends with the reason.
    """
    names = source.names
    if names is None:
        return source.open(get, resources)
    name = names.own(get("model"))
    loading = st.spinner(f"Loading {plain(shorten(name, MAX_SHOWN))} …") if resources.is_slow(name) else nullcontext()
    with loading:
        from attnviz.pretrained import ModelError

        try:
            return source.open(with_model(get, name), resources)
        except ModelError as error:
            reason = str(error)
    if name.strip() == names.fallback:
        st.error(plain(reason), icon="⚠️")
        st.stop()
    st.error(plain(f"{reason} Showing {names.fallback}."), icon="⚠️")
    return open_model(source, with_model(get, names.fallback), resources)


def is_slow(source: Source, resources: AppResources = RESOURCES) -> bool:
    """Whether `source_settings` has to load a model first, which takes seconds."""
    state.sync_widget("model")
    return source.names is not None and resources.is_slow(source.names.own(state.get("model")))


def source_settings(
    source: Source,
    where: str = ABOVE,
    resources: AppResources = RESOURCES,
    more: Callable[[], None] | None = None,
) -> str | None:
    """Show the settings of a source; return the name of the model in use if its models have names.

    `where` names the place on the page that selects layer and head, `resources` open the model, `more` shows what the
    page offers beside them.

    It returns a name, because a page's global variables live as long as a session, and would keep a model in memory.
    """
    get: Get = state.get
    if source.names is not None:
        get = with_model(get, controls.choose_model(source.names))
    controls.settings_of(source.keys, more)
    if not source.has_layers and source.names is None:
        return None
    model = open_model(source, get, resources)
    if source.has_layers:
        controls.layer_controls(source, model, where)
    if trained.is_name(model.name):
        from attnviz.ui.guide.trained import show_card  # late: it imports torch

        show_card(model, state.page())
    _show_more(source, model, more)
    return model.name if source.names is not None else None


def _show_more(source: Source, model: Model, more: Callable[[], None] | None) -> None:
    """Show what the page offers beside the settings, and the field for a trained model's file."""
    takes_file = trained.is_name(model.name) and settings().uploads
    has_more = more is not None and "seed" not in source.keys
    if takes_file or has_more:
        with st.popover("More" if has_more else "Open a model's file"):
            if more is not None and has_more:
                more()
            if takes_file:
                own.show_upload()
        own.show_refusal()
