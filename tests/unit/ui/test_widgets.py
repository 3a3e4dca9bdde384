"""What pages share: escaped text, style sheets, selections in plots, records of a session, and reruns of a page."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

import pytest
import streamlit as st
from hypothesis import given, strategies
from markdown_it import MarkdownIt

from attnviz.components.styles import SOURCES
from attnviz.ui.messages import plain
from attnviz.ui.state import has_changed, record
from attnviz.ui.widgets import clicked
from tests.app.pages import BAD_SELECTIONS

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


def rendered(text: str) -> str:
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
    assert rendered(text) == text


@given(strategies.text(strategies.characters(codec="utf-8", exclude_characters="\0")))
def test_any_text_is_shown_as_it_is(text: str) -> None:
    assert rendered(text).split() == text.split()


@pytest.mark.parametrize("text", ["$x$", ":red[x]", ":smile:", "~~x~~", "http://a.b"])
def test_streamlits_own_additions_are_escaped_too(text: str) -> None:
    escaped = plain(text)
    assert all(escaped[i - 1] == "\\" for i, sign in enumerate(escaped) if sign in "$:~[]/" and i)


def select(monkeypatch: pytest.MonkeyPatch, value: object) -> object:
    monkeypatch.setattr(st, "session_state", {"plot": value})
    return clicked("plot")


@pytest.mark.parametrize("sent", [None, 5, "ab", [], {"selection": 5}, *BAD_SELECTIONS[:10]], ids=repr)
def test_a_message_of_another_shape_selects_nothing(monkeypatch: pytest.MonkeyPatch, sent: object) -> None:
    assert select(monkeypatch, sent) is None


def test_the_first_point_says_what_it_stands_for(monkeypatch: pytest.MonkeyPatch) -> None:
    points = [{"customdata": [2, 3], "x": 3}, {"customdata": [4, 5]}]
    assert select(monkeypatch, {"selection": {"points": points}}) == [2, 3]


def test_a_plot_that_is_gone_has_no_selection(monkeypatch: pytest.MonkeyPatch) -> None:
    select(monkeypatch, None)
    assert clicked("another") is None


@pytest.mark.parametrize(
    ("page", "shown", "now", "expected"),
    [
        (False, False, False, False),
        (True, True, True, False),
        (False, False, True, True),  # it has begun
        (True, True, False, True),  # it has ended
        (False, True, False, True),  # it has begun, was shown, and has ended: what is shown is its beginning
        (True, False, False, True),
    ],
)
def test_the_page_runs_where_what_it_showed_has_changed(page: bool, shown: bool, now: bool, expected: bool) -> None:
    assert has_changed(page, shown, now) is expected


ROOT = Path(__file__).resolve().parents[3]
FOLDER = ROOT / "attnviz" / "ui" / "styles"
SHARED = {"--quiet-opacity", "--small-type", "--sentence-type"}
"""The values of base.css that the other sheets may use"""
VALUES = set(re.findall(r"^ *(--[\w-]+):", (SOURCES / "core" / "values.css").read_text(), re.MULTILINE))
"""The values that the sheets of components and those of pages share"""


def code() -> str:
    return "".join(path.read_text() for folder in ("attnviz/ui", "pages") for path in (ROOT / folder).rglob("*.py"))


def test_each_sheet_is_shown_and_each_that_is_shown_exists() -> None:
    calls = re.findall(r"st\.html\(style\((.+)\)\)", re.sub(r"state\.get\(\"\w+\"\)", "", code()))
    shown = {name for call in calls for name in re.findall(r"\"(\w+)\"", call)}
    assert shown == {path.stem for path in FOLDER.glob("*.css")}


def test_what_sheets_share_is_defined_in_the_base_alone() -> None:
    texts = {path.stem: path.read_text() for path in FOLDER.glob("*.css")}
    defined = {name: set(re.findall(r"^ *(--[\w-]+):", text, re.MULTILINE)) for name, text in texts.items()}
    assert defined["base"] >= SHARED
    assert [name for name in texts if name != "base" and SHARED & defined[name]] == []
    assert [name for name in texts if VALUES & defined[name]] == []
    used = set(re.findall(r"var\((--[\w-]+)\)", "".join(texts.values())))
    python = code()  # sets the others, in a style sheet or in an attribute
    own = {name for name in used - SHARED - VALUES if not name.startswith("--st-")}
    assert {
        name for name in own if name not in python and not any(name in names for names in defined.values())
    } == set()


@dataclass
class Kept:
    count: int = 0


def test_a_session_keeps_one_record_of_a_kind_and_a_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(st, "session_state", {})
    record(Kept).count += 1
    record(Kept, "other").count += 5
    assert (record(Kept), record(Kept, "other")) == (Kept(1), Kept(5))
    assert record(Kept) is record(Kept)
    monkeypatch.setattr(st, "session_state", {})  # another session
    assert record(Kept) == Kept(0)
