"""What Streamlit works out anew at every run, though it never changes while a server runs."""

from __future__ import annotations

from typing import Any

from streamlit.runtime import app_session


def remember_theme() -> None:
    """Have the theme that Streamlit sends with every run written once.

    Streamlit 1.67 goes through all of its options six times a run for it: a sixth of what a change costs. Where a later
    version does this elsewhere, nothing is changed.
    """
    write = getattr(app_session, "_populate_theme_msg", None)
    if write is None or getattr(write, "remembers", False):
        return
    written: dict[str, Any] = {}

    def copy(message: Any, section: str = "theme") -> None:
        if section not in written:
            blank = type(message)()
            write(blank, section)
            written[section] = blank
        message.MergeFrom(written[section])

    copy.remembers = True  # type: ignore[attr-defined]
    app_session._populate_theme_msg = copy  # type: ignore[assignment]
