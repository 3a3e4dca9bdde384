"""What the browser is served and told: scripts and styles are up to date, and constants are those of Python."""

from __future__ import annotations

import hashlib
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from attnviz import files
from attnviz.components import built, styles
from attnviz.components.built import DIST, KINDS, about, addresses, folder, needed_by, read
from attnviz.components.styles import SOURCES
from attnviz.figures.style import DARK, LIGHT
from tests.unit.components.constants import FILE, written

ROOT = Path(__file__).resolve().parents[3]


def digest_of_sources() -> str:
    """Return the digest that build.js writes: of its own text and that of all scripts in `frontend/`."""
    files = {file.relative_to(ROOT).as_posix(): file for file in (*SOURCES.rglob("*.ts"), ROOT / "build.js")}
    digest = hashlib.sha256()
    for name, file in sorted(files.items()):
        text = file.read_bytes()
        digest.update(f"{name} {len(text)}\n".encode() + text)
    return digest.hexdigest()


def test_the_scripts_are_made_of_these_sources() -> None:
    """`npm run build` makes them anew; .ci/run makes them and compares each byte."""
    assert about()["sources"] == digest_of_sources(), "npm run build"


LATER = {
    "captions.js", "chart.js", "end.js", "figure.js", "items.js", "matrix_view.js", "motions.js", "row_table.js",
    "rows.js", "score_sums.js", "words_to_matrix.js", "writing.js",
}  # fmt: skip
"""What is fetched when it is needed: the sentences of the walk that plays itself, charts and their figures, the parts
of a page that a lesson's words name, what shows the matrices of a step, what plays it, the table of a matrix's row,
the rows of matrices in words, what a score is the sum of, words on their way to a matrix, what follows the last step,
what a model writes on"""


@pytest.mark.parametrize("name", KINDS)
def test_a_component_has_a_script_and_one_style_sheet(name: str) -> None:
    script, sheet = read(f"{folder()}{name}.js"), read(f"{folder()}{name}.css")
    assert script
    assert re.search(r"\bas default\b|\bexport default\b", script)
    assert sheet
    assert "@import" not in sheet


@pytest.mark.parametrize("name", KINDS)
def test_what_a_script_imports_is_known_beforehand(name: str) -> None:
    """So that the browser fetches all at once."""
    reached, pending = set(), {f"{name}.js"}
    while pending:
        text = read(folder() + pending.pop())
        assert text
        imported = set(re.findall(r'\bfrom"\./([^"]+)"', text)) - reached
        reached |= imported
        pending |= imported
        later = {file for _, file in re.findall(r"""\bimport\((["'`])\./([^"'`]+)\1\)""", text)}
        assert text.count("import(") == len(later)
        assert later <= LATER
        assert all(read(folder() + file) for file in later)
        assert not re.search(r'\bfrom"(?!\./)', text)
    assert needed_by(name) == sorted(reached)


def test_the_lecture_s_script_does_not_bring_what_draws() -> None:
    """It is on every page."""
    assert needed_by("lecture") == ["base.js"]


@pytest.mark.parametrize("file", sorted(path.relative_to(DIST).as_posix() for path in DIST.glob("[mnp]*/*.js")))
def test_other_scripts_hold_all_that_they_need(file: str) -> None:
    text = (DIST / file).read_text()
    assert not re.search(r'\bimport\b[^.;(]*"|\bfrom"', text)
    assert ("import(" in text) == (file == "main/main.js")  # it loads the components
    if file.startswith("pages/"):
        assert text.startswith("(function(){")
        assert "export" not in re.sub(r"`[^`]*`|\"[^\"]*\"", "", text)[-200:]


def test_the_address_is_the_same_in_every_process() -> None:
    code = "from attnviz.components.built import *; print(folder())"
    for seed in ("1", "2"):
        done = subprocess.run(
            [sys.executable, "-c", code], env={"PYTHONHASHSEED": seed}, capture_output=True, text=True, check=True
        )
        assert done.stdout.strip() == folder()
    assert re.fullmatch(r"/attnviz/modules/[0-9a-f]{16}/", folder())


@pytest.mark.parametrize("changed", ["app/base.js", "walk/walk.css"])
def test_the_address_changes_with_any_file(monkeypatch: pytest.MonkeyPatch, changed: str) -> None:
    read_text = Path.read_text

    def changed_text(file: Path, **more: str) -> str:
        return read_text(file, **more) + ("/**/" if file.as_posix().endswith(changed) else "")

    before = folder()
    monkeypatch.setattr(Path, "read_text", changed_text)
    monkeypatch.setattr(built, "_scripts", built._scripts.__wrapped__)
    monkeypatch.setattr(built, "styles", styles.styles.__wrapped__)
    monkeypatch.setattr(styles, "_COMMENT", re.compile("(?!)"))  # else the change would be removed
    assert (folder.__wrapped__() != before) is True
    monkeypatch.undo()
    assert folder.__wrapped__() == before


@pytest.mark.parametrize(
    "name",
    ["", ".js", "walk", "walk.", "walk.js.map", "walk.py", "Walk.js", "../main/main.js", "main.js", "built.json",
     "%2e%2e/main.js", "walk.js\0", "\ud800.js", "x" * 100_000],
)  # fmt: skip
def test_there_is_nothing_else(name: str) -> None:
    assert read(folder() + name) is None


def test_another_version_is_not_there() -> None:
    assert read("/attnviz/modules/0123456789abcdef/walk.js") is None
    assert read("walk.js") is None


def test_all_addresses_can_be_read() -> None:
    assert len(addresses()) == len(set(addresses())) >= 2 * len(KINDS)
    assert all(map(read, addresses()))


def test_style_sheets_come_in_the_place_of_their_import(tmp_path: Path) -> None:
    (tmp_path / "parts").mkdir()
    (tmp_path / "a.css").write_text('/* words */\n@import url("parts/b.css");\n@import url("parts/b.css");\n.a {\n}\n')
    (tmp_path / "parts" / "b.css").write_text(".b {\n}\n")
    assert styles.styles("a.css", tmp_path) == ".b {\n}\n.a {\n}\n"
    (tmp_path / "parts" / "b.css").write_text(".b { background: url(https://example.org) }")
    with pytest.raises(ValueError, match=r"b\.css loads a file"):
        styles.styles("parts/b.css", tmp_path)
    with pytest.raises(ValueError, match="not a style sheet of the browser side"):
        styles.styles("../a.css", tmp_path / "parts")


@pytest.mark.parametrize("sheet", sorted(path.relative_to(SOURCES).as_posix() for path in SOURCES.rglob("*.css")))
def test_every_style_sheet_is_read(sheet: str) -> None:
    whole = styles.styles(sheet)
    assert "@import" not in whole
    assert whole.count("{") == whole.count("}") > 0


SHARED = "core/values.css"
"""The sheet that declares what all sheets share"""
VALUE = re.compile(r"#(?:5e3c99|7e5bc0|d55e00|009e73|bda6ee)\b|var\(--st-(?:text|background|secondary|code|font)\b")
"""A colour or a font that has a name there"""


@pytest.mark.parametrize("sheet", sorted(path.relative_to(SOURCES).as_posix() for path in SOURCES.rglob("*.css")))
def test_colours_and_fonts_are_taken_from_the_shared_values(sheet: str) -> None:
    if sheet not in {SHARED, "walk/theme.css"}:  # the second stands for Streamlit's theme where there is none
        assert VALUE.findall((SOURCES / sheet).read_text()) == []


@pytest.mark.parametrize("name", KINDS)
def test_every_component_begins_with_the_shared_values_and_the_base(name: str) -> None:
    sheet = styles.styles(KINDS[name])
    assert sheet.startswith(styles.styles("core/base.css"))


def test_scripts_that_are_not_there_are_named_once(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    assert built.missing() == []
    monkeypatch.setattr(built, "DIST", tmp_path)
    assert built.missing() == ["built.json", "main/main.js"]
    (tmp_path / "built.json").touch()
    named = built.missing()
    assert named[0] == "main/main.js" and "built.json" not in named
    assert {f"app/{kind}.js" for kind in built.KINDS} <= {*named}
    assert len({*named}) == len(named) > 1 + len(built.KINDS)


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
