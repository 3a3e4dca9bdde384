"""Download buttons that create their file on a click, with an error text."""

from __future__ import annotations

from collections.abc import Callable

import streamlit as st


def file_button(label: str, file: str, mime: str, data: Callable[[], bytes], *, key: str, refused: str = "") -> None:
    """Show a download button. With the reason `refused` it is disabled, and the tooltip shows the reason."""
    st.download_button(
        label, data, file, mime, key=key, on_click="ignore", disabled=bool(refused), help=refused or None
    )
