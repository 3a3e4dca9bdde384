"""Escapes text for Streamlit's messages, which interpret Markdown."""

from __future__ import annotations

import re

_PUNCTUATION = re.compile(r"([!-/:-@\[-`{-~])")


def plain(text: str) -> str:
    """Escape text for Markdown: links, images, emphasis, formulas and emoji codes stay plain text.

    Markdown allows escaping any ASCII punctuation (CommonMark, section 2.4). Line ends become spaces.
    """
    return _PUNCTUATION.sub(r"\\\1", " ".join(text.split()))


def plain_part(text: str) -> str:
    """Escape a part of a sentence as `plain` does; white space at either end stays, as one space."""
    before, after = text[:1].isspace(), bool(text.strip()) and text[-1:].isspace()
    return " " * before + plain(text) + " " * after
