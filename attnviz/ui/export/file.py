"""Buttons that make a file when they are pressed, and what is said where it can't be made."""

from __future__ import annotations

from collections.abc import Callable

import streamlit as st

FAILED = "The file could not be made. Close Export and open it again: it then says why, or offers what is there now."

# A file is made on a thread that has no page to say anything on. Streamlit then shows words of its own under the button
# for some seconds, and takes no others; so these stand in their place.
FAILED_LOOK = f"""
<style>
[data-testid="stDownloadButtonError"] {{ font-size: 0; }}
[data-testid="stDownloadButtonError"]::after {{ content: "{FAILED}"; font-size: 0.875rem; }}
</style>
"""


def file_button(label: str, file: str, mime: str, data: Callable[[], bytes], *, key: str, refused: str = "") -> None:
    """Show a button for a file of this name and type; one that is refused can't be pressed, and says why."""
    st.download_button(
        label, data, file, mime, key=key, on_click="ignore", disabled=bool(refused), help=refused or None
    )
