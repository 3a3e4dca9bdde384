"""The main part of Step by step: the walk through all steps of a head, which the browser shows from documents."""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import urlencode

import streamlit as st

from attnviz.components.walk import walk
from attnviz.links.link import KEYS, SHARED_KEYS
from attnviz.links.pages import PAGES
from attnviz.sources.shown import Shown
from attnviz.ui import shell, state
from attnviz.ui.guide import tour
from attnviz.ui.lessons import state as lesson_state
from attnviz.ui.picture import PICTURES
from attnviz.ui.sources import SavedView, view_of
from attnviz.ui.step_by_step.documents import offer_documents
from attnviz.ui.tokens.tokenizers import char_vocab

VALUES = ("step", "layer", "head", "q", "k", "drawing", "predict", "stretch", "limit", "focus")
"""The link keys of what a user chooses in the walk"""
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
    for name, axis, tokens in (("q", "row", queries), ("k", "column", keys)):
        _check_pin(name, axis, len(tokens))
    page = PAGES["step_by_step"]
    view = SavedView(view_of(here), char_vocab(here.text))
    header = {
        "documents": offer_documents(here, view, (queries, keys)),
        "values": {name: state.get(name) for name in VALUES} | {"layer": here.layer, "head": here.head},
        "layers": here.layers,
        "only_layer": here.source.only_layer,
        "drawings": list(PICTURES.items()),
        "lecture": state.get("lecture"),
        "opening": state.is_opening_view(),
        "asks": lesson_state.asks(),
        "link": {
            "keys": (*page.link_keys(here.source.key), *SHARED_KEYS),
            "bare": urlencode(page.opening),
            "plain": urlencode(page.plain),
            "defaults": {name: KEYS[name].default for name in VALUES},
        },
    }
    walk(header, key="walk", on_update=_take, on_tour=_start_tour)


def _take(values: Mapping[str, object]) -> None:
    asked = lesson_state.asks()
    state.take(values, VALUES)
    state.expect(values, VALUES)
    if asked and not lesson_state.asks():
        st.session_state[_RUN_ALL] = True  # the bar of the lesson shows the answer


def _start_tour() -> None:
    tour.start()
    st.session_state[_RUN_ALL] = True


def _check_pin(name: str, axis: str, count: int) -> None:
    """Reset a pin that this text does not have, with a note."""
    pinned = state.get(name)
    if pinned is not None and pinned >= count:
        state.note(f"The pinned {axis} {pinned} does not exist: this text has {axis}s 0 to {count - 1}.")
        state.put(name, None)
