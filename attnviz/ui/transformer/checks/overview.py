"""Overview: attention's place between the text and the answer, as a figure whose boxes are links."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import streamlit as st

from attnviz.links.link import KEYS
from attnviz.ui import state
from attnviz.ui.sources import RESOURCES
from attnviz.ui.styles import style
from attnviz.ui.transformer.overview import address, html, overview
from attnviz.ui.widgets import notice

if TYPE_CHECKING:
    from attnviz.sources.transformer import ShownPart


def show(here: ShownPart) -> None:
    """Show the figure for the model and the text of the page."""
    view = {name: state.get(name) for name in KEYS}

    def link(page: str, changed: Mapping[str, Any]) -> str:
        return address(page, {**view, **changed}, here.source.key if page == "transformer" else None)

    trace = here.trace(RESOURCES)
    st.html(style("overview"))
    st.html(html(overview(here, trace, link)))
    notice("Embeddings and the last layer treat each token by itself: only attention carries anything between tokens.")
