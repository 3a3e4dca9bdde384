"""Style sheets are files: each is shown somewhere, and what they share is defined once."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
FOLDER = ROOT / "attnviz" / "ui" / "styles"
SHARED = {
    "--attention-colour", "--focus-colour", "--unknown-colour", "--quiet-opacity", "--small-type", "--sentence-type",
    "--least-small-type",
}  # fmt: skip
"""The values of base.css that the other sheets may use"""


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
    used = set(re.findall(r"var\((--[\w-]+)\)", "".join(texts.values())))
    python = code()  # sets the others, in a style sheet or in an attribute
    own = {name for name in used - SHARED if not name.startswith("--st-")}
    assert {
        name for name in own if name not in python and not any(name in names for names in defined.values())
    } == set()
