"""Escapes text for Streamlit's messages, which interpret Markdown."""

from __future__ import annotations

import re

_PUNCTUATION = re.compile(r"([!-/:-@\[-`{-~])")


def plain(text: str) -> str:
    """Escape text for Markdown: links, images, emphasis, formulas and emoji codes stay plain text.

    Markdown allows escaping any ASCII punctuation (CommonMark, section 2.4). Line ends become spaces.
    """
    return _PUNCTUATION.sub(r"\\\1", " ".join(text.split()))
