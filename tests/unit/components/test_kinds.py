"""The scripts and style sheets of components: which there are, and under which address."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest

from attnviz.components.bundle.kinds import KINDS, folder, read
from attnviz.components.bundle.linking import FRONTEND


@pytest.mark.parametrize("name", KINDS)
def test_a_component_has_one_script_and_one_style_sheet(name: str) -> None:
    script, styles = read(f"{folder()}{name}.js"), read(f"{folder()}{name}.css")
    assert script
    assert script.startswith("export default (")
    assert f'$add("{KINDS[name].module}"' in script
    assert not re.search(r"^\s*import\b|\bimport\(", script, re.MULTILINE), "it needs no further request"
    assert styles
    assert "@import" not in styles


def test_the_address_is_the_same_in_every_process() -> None:
    code = "from attnviz.components.bundle.kinds import *; print(folder())"
    for seed in ("1", "2"):
        done = subprocess.run(
            [sys.executable, "-c", code], env={"PYTHONHASHSEED": seed}, capture_output=True, text=True, check=True
        )
        assert done.stdout.strip() == folder()
    assert re.fullmatch(r"/attnviz/modules/[0-9a-f]{16}/", folder())


def test_the_address_changes_with_any_file(monkeypatch: pytest.MonkeyPatch) -> None:
    before = folder()
    changed = sorted(FRONTEND.rglob("*.js"))[0]
    read_bytes = type(changed).read_bytes
    monkeypatch.setattr(type(changed), "read_bytes", lambda file: read_bytes(file) + b" " * (file == changed))
    assert folder.__wrapped__() != before
    monkeypatch.undo()
    assert folder.__wrapped__() == before


@pytest.mark.parametrize(
    "name",
    ["", ".js", "walk", "walk.", "walk.js.map", "walk.py", "Walk.js", "../main.js", "%2e%2e/main.js", "walk.js\0",
     "\ud800.js", "x" * 100_000],
)  # fmt: skip
def test_there_is_nothing_else(name: str) -> None:
    assert read(folder() + name) is None


def test_another_version_is_not_there() -> None:
    assert read("/attnviz/modules/0123456789abcdef/walk.js") is None
    assert read("walk.js") is None
