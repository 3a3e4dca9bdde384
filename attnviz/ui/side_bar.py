"""The side bar: the settings of a page. It is closed at first; the bar at the top says in few words what they choose.

The button "Settings" in the toolbar opens and closes it: frontend/page/drawer.ts handles the button.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from html import escape

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from attnviz.links.pages import PAGES
from attnviz.pretrained.names import BUILT_IN
from attnviz.sources import Get
from attnviz.trained.shipped import title
from attnviz.ui import state
from attnviz.ui.tokens.chips import shorten

BUTTON = (
    '<button type="button" class="settings" title="Settings" aria-expanded="false">'
    '<span class="icon" aria-hidden="true">tune</span><span class="name">Settings</span></button>'
)
MAX_NAME = 40
"""The most characters of a model's name in the bar"""
OWN_MODEL = ("configuration", "back", "blank")
"""The parts of the page on BERT that have a choice of a model"""


@dataclass(slots=True)
class _SideBarRecord:
    """Where the bar at the top says what the settings choose; None if it has no room for it."""

    place: DeltaGenerator | None = None


def make_place() -> None:
    """Have the chosen settings said here."""
    state.record(_SideBarRecord).place = st.empty()


@contextmanager
def settings() -> Iterator[None]:
    """Show what is created inside in the side bar; then say in the bar at the top what is chosen."""
    with st.sidebar:
        yield
    place, words = state.record(_SideBarRecord).place, in_words(state.page(), state.get)
    if place is not None and words and not state.get("lecture"):
        place.html(f'<p class="chosen-settings" title="{escape(words)}">{escape(words)}</p>')


def in_words(page: str, get: Get) -> str:
    """Return which model a page shows, and whether it reads a second sentence; "" if the page itself says it."""
    if page in ("compare", "train"):
        return ""
    if page == "tokens":
        model, reads_pair = "", True
    elif page == "bert":
        model, reads_pair = title(get("model") if get("bert_part") in OWN_MODEL else BUILT_IN), False
    else:
        shown = PAGES[page]
        source = shown.sources[shown.source or get("source")]
        seeded = f"{source.title}, seed {get('seed')}"  # what has only settings is named by its seed
        model = seeded if source.names is None else title(source.names.own(get("model")))
        reads_pair = "pair" in source.keys
    pair = "a second sentence" if reads_pair and get("pair").strip() else ""
    return " · ".join(filter(None, (shorten(model, MAX_NAME), pair)))
