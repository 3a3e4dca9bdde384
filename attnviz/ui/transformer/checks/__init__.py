"""The checks of Transformer, beside the walk through it."""

from __future__ import annotations

from attnviz.ui.walk.view import Checks

CHECKS = Checks(
    "transformer",
    "check",
    __name__,
    {
        "overview": ("Overview", "overview"),
        "token": ("One token", "stream"),
        "norm": ("Norm", "stream"),
        "positions": ("Positions", "differences"),
        "change": ("Change a word", "differences"),
        "padding": ("Padding", "differences"),
        "dropout": ("Dropout", "differences"),
        "lens": ("Logit lens", "stream"),
        "parameters": ("Parameters", "cost"),
        "cost": ("Cost", "cost"),
        "mistake": ("Mistakes", "mistake"),
    },
)
