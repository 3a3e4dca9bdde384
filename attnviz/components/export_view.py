"""The component that exports the visible picture: SVG and PNG are made in the browser, PDF and slides by the server."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.metadata import version

from attnviz.components.registration import mount

PATHS = {
    "letters": f"/attnviz/source-sans-{version('streamlit')}.txt",
    "fonts": "/attnviz/fonts",
    "pdf": "/attnviz/pdf",
    "pptx": "/attnviz/pptx",
}
"""Where the server offers the characters of the font, which is from the installed version of Streamlit; takes the
characters that an SVG needs; and takes what becomes a PDF or slides"""


def export_view(words: Mapping[str, str], *, key: str) -> None:
    """Mount the export dialog for the visible pictures of the page.

    If the address changes while it is open, the script reruns, so that `words` can be updated.

    Args:
        words: the initial `title` and `caption`, which the user can edit; `name`, the file's name without extension;
            `none`, the message if the page has no picture; `heading`, which may be empty.
        key: the Streamlit key.
    """
    mount("export_view", {**words, "server": PATHS}, {}, key=key, on_moved_change=lambda: None)
