"""Text shown as it is: Streamlit reads Markdown in messages, and what a user or a link says must not become any."""

from __future__ import annotations

import re

_PUNCTUATION = re.compile(r"([!-/:-@\[-`{-~])")


def plain(text: str) -> str:
    """Escape text for Markdown: no links, images, emphasis, formulas or emoji codes come of it.

    Every ASCII punctuation mark may be escaped (CommonMark, section 2.4); line ends become spaces.
    """
    return _PUNCTUATION.sub(r"\\\1", " ".join(text.split()))
