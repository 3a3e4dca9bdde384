"""A walk on a page: what the browser is told of the view, and what it sends back."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from typing import Any
from urllib.parse import urlencode

import streamlit as st

from attnviz.components.walk import walk
from attnviz.links.link import KEYS, SHARED_KEYS
from attnviz.links.pages import Page
from attnviz.sources.shown import Shown
from attnviz.ui import state
from attnviz.ui.lessons import bar as lesson_bar
from attnviz.ui.lessons import state as lesson_state
from attnviz.ui.sources import shown_with

DRAWINGS = {"stage": "Animated", "chart": "Plotly"}
Keys = Mapping[str, str]
"""Link keys by the names that their values have in a walk"""
_RUN_ALL = "walk_run_all"
"""Set if what the user did in the walk, which is a fragment, changes other parts of the page"""


def mount_walk(
    page: Page,
    documents: Sequence[str | None],
    keys: Keys,
    *,
    source: str | None = None,
    on_tour: Callable[[], None] = lambda: None,
    **header: Any,
) -> None:
    """Mount the walk of a page.

    Args:
        page: the page.
        documents: the digest of each layer's document, None for a layer without attention.
        keys: what a user chooses in the walk, by its name there (`WalkValues` in frontend/types/walk.d.ts), with the
            link key that holds it.
        source: the view's source of attention, if the page's links have one.
        on_tour: called when the user asks for the guided tour.
        header: further fields of the component's header.
    """
    given = {
        "values": {name: state.get(key) for name, key in keys.items()},
        "layers": (),
        "only_layer": "",
        "opening": False,
        "linked": state.is_opening_link(),
        "asks": lesson_state.asks(),
        "model": None,
        **header,
        "documents": documents,
        "drawings": list(DRAWINGS.items()),
        "lecture": state.get("lecture"),
        "link": {
            "keys": (*page.link_keys(source), *SHARED_KEYS),
            "names": {name: key for name, key in keys.items() if name != key},
            "bare": urlencode(page.opening),
            "plain": urlencode(page.plain),
            "defaults": {name: KEYS[key].default for name, key in keys.items()},
        },
    }
    walk(given, key="walk", on_update=partial(take, keys), on_tour=on_tour)


def take(keys: Keys, values: Mapping[str, object]) -> None:
    """Apply what the browser has sent of a walk whose values are in the view under these keys."""
    asked = lesson_state.asks()
    found = {key: values[name] for name, key in keys.items() if name in values}
    state.apply_from_browser(found, keys.values())
    state.expect_link(found, keys.values())
    if asked and not lesson_state.asks():
        run_page()  # the bar of the lesson shows the answer


def run_page() -> None:
    """Let the whole page run, from a callback of the walk, which is in a fragment."""
    st.session_state[_RUN_ALL] = True


def check_run() -> None:
    """Run the whole page if a callback has asked for it."""
    if st.session_state.pop(_RUN_ALL, False):
        st.rerun()


@dataclass(frozen=True, slots=True)
class Checks:
    """The checks of a page."""

    page: str
    key: str
    """The link key of the one that is chosen"""
    package: str
    """Of the modules in which the checks are"""
    checks: Mapping[str, str]
    """The module of each, by its name in links; its function `show_<name>` shows it"""

    def stand_alone(self) -> bool:
        """Whether a check takes the place of the walk: in a lecture and in a lesson, which show one thing at a time."""
        state.sync_widget(self.key)
        return bool(state.get(self.key) and (state.get("lecture") or lesson_bar.is_open()))

    def show(self, here: Shown) -> None:
        """Show the choice of a check, and the one that is chosen.

        A lecture has the choice only if its link holds one, and a lesson's scene in it has none.
        """
        if not state.get("lecture") or (state.get(self.key) and not lesson_bar.is_open()):
            self.choose()
        self.show_chosen(here)

    def show_chosen(self, here: Shown) -> None:
        """Show the check that is chosen, if one is."""
        chosen = state.get(self.key)
        if chosen:
            name = here.model.name if here.source.has_names else None
            found = shown_with(name, page=self.page)  # with the model's weights
            getattr(import_module(f"{self.package}.{self.checks[chosen]}"), f"show_{chosen}")(found)

    def choose(self) -> None:
        """Show the choice of a check."""
        state.choice(self.key, st.segmented_control, "Look further")
