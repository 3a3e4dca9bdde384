"""The checks of Step by step: the numbers of the head, computed again in another way."""

from __future__ import annotations

from attnviz.ui.walk.view import Checks

CHECKS = Checks(
    "step_by_step",
    "recompute",
    __name__,
    {"loop": ("Scores in a loop", "recomputed"), "past": ("Rows from their past", "recomputed")},
)
