"""The checks of Step by step: the numbers of the head, computed again in another way."""

from __future__ import annotations

from attnviz.ui.walk.view import Checks

CHECKS = Checks("step_by_step", "recompute", __name__, {"loop": "recomputed", "past": "recomputed"})
