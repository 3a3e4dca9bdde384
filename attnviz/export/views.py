"""Converts a view, the parsed keys of a link, to the head that it shows, for the app and the command line."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any
from urllib.parse import urlencode

from attnviz.links.pages import PAGES
from attnviz.sources import SOURCES, Resources
from attnviz.sources.shown import Shown
from attnviz.trace.walk import Walk

View = Mapping[str, Any]
"""Values by the keys of `attnviz.links.link`"""


def on_page(page: str, view: View) -> View:
    """Return a view with the source of attention that a page of the app always shows, if there is one."""
    source = PAGES[page].source
    return view if source is None else {**view, "source": source}


def link_of(view: View, site: str) -> str:
    """Return the address of a view on the page Step by step of this site, or "" if the site is unknown."""
    if not site:
        return ""
    sources = (SOURCES[view["source"]], *SOURCES.values())  # its own keys first
    keys = dict.fromkeys(("text", "pair", "source", *(key for source in sources for key in source.keys)))
    query = PAGES["step_by_step"].write(view, keys)
    return f"{site.rstrip('/')}/?{urlencode(query)}"


def walk_of(view: View, shown: Shown, resources: Resources, site: str = "") -> Walk:
    """Return the head that a view shows, with its link.

    Raises:
        attnviz.tokens.NoTokensError: the text gives no token.
    """
    return replace(shown.walk(resources), link=link_of(view, site))
