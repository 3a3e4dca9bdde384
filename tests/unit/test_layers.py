"""The layers of the code: who may import whom, how long a page may be, what the settings must hold."""

from __future__ import annotations

import ast
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
LIBRARY = sorted((ROOT / "attnviz").rglob("*.py"))
PAGES = sorted((ROOT / "pages").glob("*.py"))
COMPUTING = (
    "attention",
    "trace",
    "tokens",
    "pretrained",
    "toy",
    "links",
    "measures",
    "compare",
)
SHOWING = {"streamlit", "plotly", "attnviz.figures", "attnviz.components", "attnviz.serving", "attnviz.ui", "pages"}


def name_of(path: Path) -> str:
    """Return a file's path inside the repository, for readable test ids."""
    return path.relative_to(ROOT).as_posix()


def imported(path: Path) -> Iterator[str]:
    """Yield the dotted name of all that a file imports, wherever in the file it does."""
    package = path.relative_to(ROOT).parent.parts
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            start = package[: len(package) - node.level + 1] if node.level else ()
            module = ".".join([*start, *(node.module or "").split(".")]).strip(".")
            yield module
            yield from (f"{module}.{alias.name}" for alias in node.names)


def touched(path: Path, forbidden: set[str]) -> set[str]:
    """Return what a file imports of the forbidden packages or their modules."""
    return {name for name in imported(path) if any(name == f or name.startswith(f"{f}.") for f in forbidden)}


def computing_files() -> list[Path]:
    """Return the files of the computing modules, be each a module or a package."""
    roots = [ROOT / "attnviz" / name for name in COMPUTING]
    return [file for root in roots for file in (root.with_suffix(".py"), *root.rglob("*.py")) if file.exists()]


def loaded_by(*modules: str) -> set[str]:
    """Return the top-level packages in memory after a fresh interpreter imported these modules."""
    code = f"import sys, {', '.join(modules)}; print(*{{name.split('.')[0] for name in sys.modules}})"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    return set(done.stdout.split())


def test_imports_are_seen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "attnviz" / "toy" / "some.py"
    file.parent.mkdir(parents=True)
    file.write_text("import a.b\nfrom c import d\nfrom . import e\nfrom ..f import g\ndef h():\n    import i\n")
    monkeypatch.setattr(f"{__name__}.ROOT", tmp_path)
    names = {"a.b", "c", "c.d", "attnviz.toy", "attnviz.toy.e", "attnviz.f", "attnviz.f.g", "i"}
    assert set(imported(file)) == names
    assert touched(file, {"a", "attnviz.f"}) == {"a.b", "attnviz.f", "attnviz.f.g"}


@pytest.mark.parametrize("module", COMPUTING)
def test_computing_modules_are_where_these_tests_look(module: str) -> None:
    path = ROOT / "attnviz" / module
    assert path.with_suffix(".py").exists() or (path / "__init__.py").exists()


@pytest.mark.parametrize("path", computing_files(), ids=name_of)
def test_computing_shows_nothing(path: Path) -> None:
    assert touched(path, SHOWING) == set()


@pytest.mark.parametrize("path", LIBRARY, ids=name_of)
def test_streamlit_stays_where_pages_are_made_and_served(path: Path) -> None:
    inside = path.relative_to(ROOT / "attnviz").parts[0] in ("ui", "components", "serving")
    assert inside or not touched(path, {"streamlit"})


@pytest.mark.parametrize("path", LIBRARY, ids=name_of)
def test_library_knows_no_page_and_no_test(path: Path) -> None:
    assert touched(path, {"app", "pages", "tests"}) == set()


@pytest.mark.parametrize("path", PAGES, ids=name_of)
def test_pages_are_thin(path: Path) -> None:
    assert len(path.read_text().splitlines()) < 90
    assert touched(path, {"torch", "plotly", "transformers"}) == set()


def test_there_are_pages_to_test() -> None:
    assert PAGES


@pytest.mark.parametrize("path", [*LIBRARY, *PAGES, ROOT / "app.py"], ids=name_of)
def test_files_stay_short_and_print_nothing(path: Path) -> None:
    assert len(path.read_text().splitlines()) <= 350
    calls = (node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Call))
    assert not [call.lineno for call in calls if isinstance(call.func, ast.Name) and call.func.id == "print"]


def test_tokens_and_links_are_light() -> None:
    loaded = loaded_by("attnviz.tokens", "attnviz.links.link")
    assert "attnviz" in loaded
    assert loaded & {"torch", "transformers", "streamlit", "plotly"} == set()


def test_computing_brings_no_screen_with_it() -> None:
    loaded = loaded_by("attnviz.attention", "attnviz.trace.layer", "attnviz.pretrained", "attnviz.toy.block")
    assert "torch" in loaded
    assert loaded & {"streamlit", "plotly"} == set()


SETTINGS = {
    "runner.postScriptGC": False,
    "server.headless": True,
    "server.fileWatcherType": "none",
    "server.disconnectedSessionTTL": 120,
    "browser.gatherUsageStats": False,
    "client.toolbarMode": "minimal",
    "client.showErrorDetails": "none",
    "client.showErrorLinks": False,
}


@pytest.mark.parametrize("name", SETTINGS)
def test_settings_that_decide_speed_and_privacy(name: str) -> None:
    section, option = name.split(".")
    assert tomllib.loads((ROOT / ".streamlit/config.toml").read_text())[section][option] == SETTINGS[name]


def test_settings_bound_uploads_and_know_both_themes() -> None:
    config = tomllib.loads((ROOT / ".streamlit/config.toml").read_text())
    assert 0 < config["server"]["maxUploadSize"] <= 5
    assert {"light", "dark"} <= config["theme"].keys()


def test_nothing_beside_the_frame_hides_a_library() -> None:
    """While a page runs, Streamlit puts the folder of the frame in front of all others that Python imports from."""
    beside = {path.stem for path in (ROOT / "attnviz" / "ui").iterdir() if path.suffix in ("", ".py")}
    installed = {*sys.stdlib_module_names, *packages_distributions()}
    assert "frame" in beside
    assert "tokenizers" in installed
    assert beside & installed == set()
