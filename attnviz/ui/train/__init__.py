"""The page Train, and the tabs of its Export, whose module needs torch: it is imported when a tab opens."""

from functools import partial
from importlib import import_module
from types import MappingProxyType

from attnviz.ui.shell import Tabs


def _show(tab: str) -> None:
    getattr(import_module("attnviz.ui.train.tabs"), f"show_{tab}")()


EXPORTS: Tabs = MappingProxyType(
    {
        "Model": partial(_show, "model"),
        "Animation": partial(_show, "animation"),
        "Web page": partial(_show, "page"),
        "Script": partial(_show, "script"),
        "Numbers": partial(_show, "numbers"),
    }
)
"""Keyed by title"""
