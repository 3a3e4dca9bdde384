"""The checks of Transformer, beside the walk through it."""

from __future__ import annotations

from attnviz.ui.walk.view import Checks

CHECKS = Checks(
    "transformer",
    "check",
    __name__,
    {
        "overview": "overview",
        "token": "stream",
        "norm": "stream",
        "positions": "differences",
        "change": "differences",
        "padding": "differences",
        "dropout": "differences",
        "lens": "stream",
        "parameters": "cost",
        "cost": "cost",
        "mistake": "mistake",
    },
)
