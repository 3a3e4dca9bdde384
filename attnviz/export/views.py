"""Converts a view, the parsed keys of a link, to the head that it shows, for the app and the command line."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any
from urllib.parse import urlencode

from attnviz.links.pages import PAGES
from attnviz.sources import Resources
from attnviz.sources.shown import Shown
from attnviz.trace.walk import Walk

START = "step_by_step"
"""The page of a walk through one attention; Transformer has walks through a whole model"""
View = Mapping[str, Any]
"""Values by the keys of `attnviz.links.link`"""


def on_page(page: str, view: View) -> View:
    """Return a view with the source of attention that a page of the app always shows, if there is one."""
    source = PAGES[page].source
    return view if source is None else {**view, "source": source}


def link_of(view: View, site: str, page: str = START) -> str:
    """Return the address of a view on a page of this site that shows a walk, or "" if the site is unknown."""
    if not site:
        return ""
    to = PAGES[page]
    sources = (to.sources[view["source"]], *to.sources.values())  # its own keys first
    place = ("block",) if "block" in to.keys else ()
    keys = dict.fromkeys(("text", "pair", "source", *place, *(key for source in sources for key in source.keys)))
    query = to.write(view, keys)
    return f"{site.rstrip('/')}{to.path}?{urlencode(query)}"


def walk_of(view: View, shown: Shown, resources: Resources, site: str = "", page: str = START) -> Walk:
    """Return the head that a view of a page shows, with its link.

    Raises:
        attnviz.tokens.NoTokensError: the text gives no token.
    """
    return replace(shown.walk(resources), link=link_of(view, site, page))
