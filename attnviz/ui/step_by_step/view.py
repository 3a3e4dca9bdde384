"""The main part of Step by step: the walk through all steps of a head, which the browser shows from documents."""

from __future__ import annotations

from collections.abc import Mapping

import streamlit as st

from attnviz.links.pages import PAGES
from attnviz.sources.shown import Shown
from attnviz.ui import shell, state
from attnviz.ui.guide import tour
from attnviz.ui.lessons import state as lesson_state
from attnviz.ui.sources import SavedView, view_of
from attnviz.ui.step_by_step.opening import SHIPPED
from attnviz.ui.tokens.tokenizers import char_vocab
from attnviz.ui.walk.documents import offer_documents
from attnviz.ui.walk.view import Keys, check_pins, mount_walk, take

_VALUES = ("step", "layer", "head", "q", "k", "drawing", "predict", "stretch", "limit", "focus")
KEYS = {name: name for name in _VALUES}
"""What a user chooses in the walk, and its link keys"""
_RUN_ALL = "walk_run_all"
"""Set if what the user did in the walk, which is a fragment, changes other parts of the page"""


def show_walk(here: Shown) -> None:
    """Show the walk of a text.

    Raises:
        attnviz.tokens.NoTokensError: the text has no tokens.
    """
    if st.session_state.pop(_RUN_ALL, False):
        st.rerun()
    queries, keys = here.axes()
    shell.token_notes(queries)
    check_pins(queries, keys)
    view = SavedView(view_of(here), char_vocab(here.text))
    mount_walk(
        PAGES["step_by_step"],
        offer_documents(here, view, (queries, keys), SHIPPED),
        KEYS,
        source=here.source.key,
        on_update=_take,
        on_tour=_start_tour,
        values={name: state.get(name) for name in KEYS} | {"layer": here.layer, "head": here.head},
        layers=here.layers,
        only_layer=here.source.only_layer,
        opening=state.is_opening_view(),
        asks=lesson_state.asks(),
    )


def _take(keys: Keys, values: Mapping[str, object]) -> None:
    asked = lesson_state.asks()
    take(keys, values)
    if asked and not lesson_state.asks():
        st.session_state[_RUN_ALL] = True  # the bar of the lesson shows the answer


def _start_tour() -> None:
    tour.start()
    st.session_state[_RUN_ALL] = True
