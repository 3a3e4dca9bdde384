"""What one can look at beside a walk: one check at a time, computed when it is chosen. Each is a module with `show`."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module

import streamlit as st

from attnviz.sources.shown import Shown
from attnviz.ui import state
from attnviz.ui.lessons import bar as lesson_bar
from attnviz.ui.sources import shown_with


@dataclass(frozen=True, slots=True)
class Checks:
    """The checks of a page."""

    page: str
    key: str
    """The link key of the one that is chosen"""
    package: str
    """Of the modules, which have the names of the checks in links"""

    def stand_alone(self) -> bool:
        """Whether a check takes the place of the walk: in a lecture and in a lesson, which show one thing at a time."""
        state.adopt(self.key)
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
            import_module(f"{self.package}.{chosen}").show(found)

    def choose(self) -> None:
        """Show the choice of a check."""
        state.choice(self.key, st.segmented_control, "Look further")
