"""What one can look at beside the walk through a transformer: one check at a time, computed when it is chosen."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

import streamlit as st

from attnviz.ui import state
from attnviz.ui.sources import shown_with

if TYPE_CHECKING:
    from attnviz.sources.transformer import ShownPart

CHECKS = {
    "token": "Follow a token",
    "norm": "LayerNorm",
    "positions": "Positions",
    "change": "Change a word",
    "parameters": "Parameters",
    "cost": "Cost",
}
"""By the name in links, which is also the module's"""


def show_checks(here: ShownPart) -> None:
    """Show the choice of a check, and the one that is chosen. A lecture has the choice only if its link holds one."""
    if state.get("lecture") and not state.get("check"):
        return
    chosen = state.bound(
        "check", st.segmented_control, "Look further", list(CHECKS), format_func=CHECKS.get, among=list(CHECKS)
    )
    if chosen:
        name = here.model.name if here.source.has_names else None
        import_module(f"{__name__}.{chosen}").show(shown_with(name, page="transformer"))  # with the model's weights
