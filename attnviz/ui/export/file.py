"""Download buttons that create their file on a click, with an error text."""

from __future__ import annotations

from collections.abc import Callable

import streamlit as st

FAILED = "The file could not be made. Close and reopen Export: it then shows the reason or the current files."

# Files are created on a thread that can't write to the page. If it fails, Streamlit shows a fixed text under the button
# for some seconds; this style sheet replaces that text.
FAILED_LOOK = f"""
<style>
[data-testid="stDownloadButtonError"] {{ font-size: 0; }}
[data-testid="stDownloadButtonError"]::after {{ content: "{FAILED}"; font-size: 0.875rem; }}
</style>
"""


def file_button(label: str, file: str, mime: str, data: Callable[[], bytes], *, key: str, refused: str = "") -> None:
    """Show a download button. With the reason `refused` it is disabled, and the tooltip shows the reason."""
    st.download_button(
        label, data, file, mime, key=key, on_click="ignore", disabled=bool(refused), help=refused or None
    )
