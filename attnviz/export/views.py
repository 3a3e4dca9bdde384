"""From a view, as a link holds it, to the walk that it shows, with its link. The app and the command line ask here."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any
from urllib.parse import urlencode

from attnviz.links.link import write_link
from attnviz.sources import SOURCES, Resources
from attnviz.sources.shown import Shown
from attnviz.trace.walk import Walk

View = Mapping[str, Any]
"""Values by the keys of `attnviz.links.link`"""


def link_of(view: View, site: str) -> str:
    """Return the address of a walk on the page Step by step of this site; "" where no site is known."""
    if not site:
        return ""
    sources = (SOURCES[view["source"]], *SOURCES.values())  # its own keys first; the others come along
    keys = dict.fromkeys(("text", "pair", "source", *(key for source in sources for key in source.keys)))
    return f"{site.rstrip('/')}/?{urlencode(write_link(view, keys))}"


def walk_of(view: View, shown: Shown, resources: Resources, site: str = "") -> Walk:
    """Run what a view shows.

    Raises:
        attnviz.tokens.NoTokensError: the text gives no token.
    """
    return replace(shown.walk(resources), link=link_of(view, site))
