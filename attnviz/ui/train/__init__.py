"""The page Train, and the tabs of its Export, whose module needs torch: it is imported when a tab opens."""

from functools import partial
from importlib import import_module
from types import MappingProxyType

from attnviz.ui.shell import Tabs


def _show(title: str) -> None:
    import_module("attnviz.ui.train.tabs").show(title)


EXPORTS: Tabs = MappingProxyType(
    {title: partial(_show, title) for title in ("Model", "Animation", "Web page", "Script", "Numbers")}
)
"""Keyed by title"""
