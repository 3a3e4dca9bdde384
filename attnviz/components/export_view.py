"""Export of what is seen, as SVG, PNG or PDF: made in the browser, without the network or any work of the server."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.metadata import version

from attnviz.components.packing import pack
from attnviz.components.registration import component

FONT_PATHS = {name: f"/attnviz/source-sans-{version('streamlit')}-{name}.ttf" for name in ("regular", "bold")}
"""Where the server offers the font that exported pictures carry, taken from this version of Streamlit."""


def export_view(words: Mapping[str, str], *, key: str) -> None:
    """Mount the choice of format and looks, for the pictures that can be seen on the page.

    Where the address changes while this is open, the script runs again, so that the words can follow.

    Args:
        words: `title` and `caption` to begin with (the user may change them), the file's `name` without its ending, and
            `none`, what to say where the page has no picture, and `heading`, which may be empty.
        key: the Streamlit key.
    """
    component("export_view")(data=pack({**words, "fonts": FONT_PATHS}, {}), key=key, on_moved_change=lambda: None)
