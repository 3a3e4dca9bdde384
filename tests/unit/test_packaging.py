"""What the package needs is named where pip reads it, and pinned where the tests run."""

from __future__ import annotations

import ast
import re
import sys
import tomllib
from importlib.metadata import files, packages_distributions
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parents[2]
OURS = {"attnviz", "pages", "app"}


def lines(name: str) -> list[str]:
    """Return the lines of a file of requirements, without comments."""
    found = (line.strip() for line in (ROOT / name).read_text().splitlines())
    return [line for line in found if line and not line.startswith("#")]


def named(requirements: list[str]) -> set[str]:
    return {canonicalize_name(Requirement(line).name) for line in requirements}


def imported() -> set[str]:
    """Return the top-level packages that the app's own files import, wherever in a file they do."""
    found = set()
    for file in (ROOT / "app.py", *(ROOT / "pages").glob("*.py"), *(ROOT / "attnviz").rglob("*.py")):
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.Import):
                found |= {alias.name.split(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and not node.level:
                found.add(str(node.module).split(".")[0])
    return found - OURS - sys.stdlib_module_names


def test_every_import_is_a_declared_dependency() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = [line for lines in project["optional-dependencies"].values() for line in lines]
    declared = named([*project["dependencies"], *extras])
    providers = packages_distributions()
    packages = imported()
    assert {"torch", "streamlit", "starlette", "PIL"} <= packages
    assert [top for top in packages if not declared & {canonicalize_name(name) for name in providers[top]}] == []


def test_every_dependency_is_pinned_for_the_tests() -> None:
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["dependencies"]
    pins = [line for line in lines("requirements.txt") if not line.startswith("-")]
    assert named(declared) == named(pins)
    exact = {canonicalize_name(pin.name): str(pin.specifier).removeprefix("==") for pin in map(Requirement, pins)}
    for requirement in map(Requirement, declared):
        assert requirement.specifier.contains(exact[canonicalize_name(requirement.name)]), requirement


@pytest.mark.parametrize("name", ["requirements.txt", "requirements-test.txt"])
def test_requirements_are_pinned(name: str) -> None:
    needed = lines(name)
    pin = re.compile(r"[A-Za-z0-9._-]+(\[[a-z,]+\])?==[A-Za-z0-9.]+( ; sys_platform .*)?")
    loose = [line for line in needed if not pin.fullmatch(line)]
    assert set(loose) <= {"-e .", "-r requirements.txt"}
    assert len(needed) > len(loose)


def permission(licence: str) -> str:
    """Return the words of a licence from its permission on, with single spaces."""
    return " ".join(licence[licence.index("Permission is hereby granted") :].split())


def test_the_licence_is_mit_in_the_words_that_others_have_it() -> None:
    (theirs,) = (file for file in files("pluggy") or [] if file.name == "LICENSE")
    licence = (ROOT / "LICENSE").read_text()
    assert permission(licence) == permission(theirs.read_text())
    assert licence.startswith("MIT License\n\nCopyright (c) 2026 attnviz contributors\n\n")
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert (project["license"], project["license-files"]) == ("MIT", ["LICENSE"])
    assert "[LICENSE](LICENSE)" in (ROOT / "README.md").read_text()
