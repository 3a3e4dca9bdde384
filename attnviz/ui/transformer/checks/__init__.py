"""The checks of Transformer, beside the walk through it."""

from __future__ import annotations

from attnviz.ui.walk.checks import Checks

CHECKS = Checks("transformer", "check", __name__)
