"""What one can look at beside the walk through a transformer: one check at a time, computed when it is chosen."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

import streamlit as st

from attnviz.ui import state
from attnviz.ui.lessons import bar as lesson_bar
from attnviz.ui.sources import shown_with

if TYPE_CHECKING:
    from attnviz.sources.transformer import ShownPart

CHECKS = {
    "token": "Follow a token",
    "norm": "LayerNorm",
    "positions": "Positions",
    "change": "Change a word",
    "lens": "Logit lens",
    "parameters": "Parameters",
    "cost": "Cost",
    "mistake": "Mistakes",
}
"""By the name in links, which is also the module's"""


def fills_lecture() -> bool:
    """Whether a check takes the place of the walk: in a lecture, which has one thing on the screen at a time."""
    state.adopt("check")
    return bool(state.get("lecture") and state.get("check"))


def show_checks(here: ShownPart) -> None:
    """Show the choice of a check, and the one that is chosen.

    A lecture has the choice only if its link holds one, and a lesson's scene in it has none.
    """
    chosen = state.get("check")
    if not state.get("lecture") or (chosen and not lesson_bar.is_open()):
        chosen = _choose()
    if chosen:
        name = here.model.name if here.source.has_names else None
        import_module(f"{__name__}.{chosen}").show(shown_with(name, page="transformer"))  # with the model's weights


def _choose() -> str | None:
    chosen: str | None = state.bound(
        "check", st.segmented_control, "Look further", list(CHECKS), format_func=CHECKS.get, among=list(CHECKS)
    )
    return chosen
