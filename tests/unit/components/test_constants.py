"""What Python and the browser both have to know stands in Python, and in the module that is made of it."""

from __future__ import annotations

import re
import tomllib

from attnviz import files
from attnviz.components.styles import SOURCES
from attnviz.figures.style import DARK, LIGHT
from tests.unit.components.constants import FILE, written

HEX = re.compile(r'"(#[0-9a-fA-F]{6})"')


def test_the_browser_has_pythons_constants() -> None:
    assert FILE.read_text(encoding="utf-8") == written(), "python -m tests.unit.components.constants, npm run build"


def test_no_other_module_of_the_browser_declares_one_of_these_colours() -> None:
    shared = {colour.lower() for colour in HEX.findall(FILE.read_text(encoding="utf-8"))}
    assert len(shared) > 30
    again = {}
    for file in SOURCES.rglob("*.ts"):
        text = re.sub(r"/\*.*?\*/", "", file.read_text(encoding="utf-8"), flags=re.DOTALL)
        colours = {colour.lower() for colour in HEX.findall(text)} & shared
        if colours and file != FILE:
            again[file.relative_to(SOURCES).as_posix()] = colours
    # The halo and the outline of a pointed-at cell are white and dark in both themes.
    assert again == {"board/overlay.ts": {"#ffffff", "#1b1b26"}}


def test_the_theme_of_streamlit_has_the_same_colours() -> None:
    theme = tomllib.loads(files.CONFIG.read_text(encoding="utf-8"))["theme"]
    for name, palette in (("light", LIGHT), ("dark", DARK)):
        assert (theme[name]["backgroundColor"], theme[name]["textColor"]) == (palette.paper, palette.heading)
    assert theme["light"]["primaryColor"] == LIGHT.ink.attention


def test_style_sheets_have_the_colours_of_the_roles() -> None:
    sheet = (SOURCES / "core" / "values.css").read_text(encoding="utf-8")
    pairs = re.findall(r"light-dark\((#\w{6}), (#\w{6})\)", sheet)
    inks = {(LIGHT.text_ink.of(role).lower(), DARK.text_ink.of(role).lower()) for role in LIGHT.text_ink.__slots__}
    assert set(pairs) == inks
    theme = (SOURCES / "walk" / "theme.css").read_text(encoding="utf-8")
    assert f"--st-background-color: light-dark({LIGHT.paper}, {DARK.paper});".lower() in theme
    assert f"--st-text-color: light-dark({LIGHT.heading}, {DARK.heading});".lower() in theme
