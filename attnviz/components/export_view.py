"""The component that exports the visible picture as SVG, PNG or PDF, entirely in the browser."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.metadata import version

from attnviz.components.packing import pack
from attnviz.components.registration import component

FONT_PATHS = {name: f"/attnviz/source-sans-{version('streamlit')}-{name}.ttf" for name in ("regular", "bold")}
"""Where the server offers the font for exported pictures, from the installed version of Streamlit."""


def export_view(words: Mapping[str, str], *, key: str) -> None:
    """Mount the export dialog for the visible pictures of the page.

    If the address changes while it is open, the script reruns, so that `words` can be updated.

    Args:
        words: the initial `title` and `caption`, which the user can edit; `name`, the file's name without extension;
            `none`, the message if the page has no picture; `heading`, which may be empty.
        key: the Streamlit key.
    """
    component("export_view")(data=pack({**words, "fonts": FONT_PATHS}, {}), key=key, on_moved_change=lambda: None)
