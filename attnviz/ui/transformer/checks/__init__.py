"""The checks of Transformer, beside the walk through it."""

from __future__ import annotations

from attnviz.ui.walk.checks import Checks

CHECKS = Checks(
    "transformer",
    "check",
    {
        "overview": "Overview",
        "token": "One token",
        "norm": "Norm",
        "positions": "Positions",
        "change": "Change a word",
        "padding": "Padding",
        "dropout": "Dropout",
        "lens": "Logit lens",
        "parameters": "Parameters",
        "cost": "Cost",
        "mistake": "Mistakes",
    },
    __name__,
)
