"""Escaping for Markdown: nothing that a user types becomes a link, an image or a formula."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from attnviz.ui.plain import plain

ATTACKS = [
    "![x](http://a.b/c.png)",
    "[click](javascript:1)",
    "# big",
    "**b**",
    "`c`",
    "<b>",
    "&amp;",
    "\\",
    "- a",
    "1. a",
]


def shown(text: str) -> str:
    """Render as CommonMark and read back the text; anything but one plain paragraph fails."""
    tokens = MarkdownIt().parse(plain(text))
    if not tokens:
        return ""
    assert [token.type for token in tokens] == ["paragraph_open", "inline", "paragraph_close"]
    parts = tokens[1].children or []
    assert {part.type for part in parts} <= {"text", "text_special"}
    return "".join(part.content for part in parts)


@pytest.mark.parametrize("text", ATTACKS)
def test_attacks_stay_text(text: str) -> None:
    assert shown(text) == text


@given(st.text(st.characters(codec="utf-8", exclude_characters="\0")))
def test_any_text_is_shown_as_it_is(text: str) -> None:
    assert shown(text).split() == text.split()


@pytest.mark.parametrize("text", ["$x$", ":red[x]", ":smile:", "~~x~~", "http://a.b"])
def test_streamlits_own_additions_are_escaped_too(text: str) -> None:
    escaped = plain(text)
    assert all(escaped[i - 1] == "\\" for i, sign in enumerate(escaped) if sign in "$:~[]/" and i)
