"""The layers of the code: who may import whom, and how long a file may be."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from importlib.metadata import packages_distributions
from pathlib import Path
from statistics import median

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted((ROOT / "pages").glob("*.py"))
PYTHON = [ROOT / "app.py", *PAGES, *sorted((ROOT / "attnviz").rglob("*.py"))]

LEVELS = (
    ("attnviz.reprs",),
    (
        "attnviz.attention",
        "attnviz.tokens",
        "attnviz.formulas",
        "attnviz.formatting",
        "attnviz.files",
        "attnviz.marked",
        "attnviz.hosts",
        "attnviz.cluster",
        "attnviz.settings",
    ),
    ("attnviz.trace",),
    ("attnviz.steps", "attnviz.toy", "attnviz.measures"),
    ("attnviz.pretrained", "attnviz.compare", "attnviz.figures", "attnviz.training"),
    ("attnviz.trained", "attnviz.bert"),
    ("attnviz.sources", "attnviz.document", "attnviz.corpus"),
    ("attnviz.components.bundle", "attnviz.components.packing"),  # the browser side as text and bytes
    ("attnviz.links",),
    ("attnviz.lessons", "attnviz.heads"),
    ("attnviz.export", "attnviz.components"),
    ("attnviz.notebook",),
    ("attnviz.ready", "attnviz.serving.logs"),
    ("attnviz.serving.work", "attnviz.serving.forward"),
    ("attnviz.serving.http",),
    ("attnviz.ui",),  # what pages share
    (
        "attnviz.ui.averages",
        "attnviz.ui.bert",
        "attnviz.ui.compare",
        "attnviz.ui.heads",
        "attnviz.ui.step_by_step",
        "attnviz.ui.tokens.view",
        "attnviz.ui.train",
        "attnviz.ui.transformer",
    ),
    ("attnviz.serving",),  # what is left of it: the app and how it is started
    ("pages", "attnviz.cli"),
    ("app", "attnviz.__init__", "attnviz.__main__"),
)
"""A part imports parts of lower levels and itself, nothing else."""
STREAMLIT = ("app", "pages", "attnviz.ui", "attnviz.components", "attnviz.serving")
PLOTLY = ("attnviz.figures",)
MOST_LINES, MOST_MEDIAN, MOST_PAGE, MOST_FILES = 350, 100, 60, 12
MOST_FRONTEND_FILES = 20
"""A folder of the browser side holds a style sheet beside each component, and a module for each thing it shows."""


def module(path: Path) -> str:
    """Return a file's dotted name; a package's own file is named like the package."""
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" and len(parts) > 2 else parts)


def within(name: str, part: str) -> bool:
    return name == part or name.startswith(f"{part}.")


def place(name: str) -> tuple[int, str] | None:
    """Return the level and the part that a module belongs to: the longest part that its name begins with."""
    found = [(level, part) for level, parts in enumerate(LEVELS) for part in parts if within(name, part)]
    return max(found, key=lambda one: len(one[1]), default=None)


def imported(path: Path) -> Iterator[str]:
    """Yield the dotted name of all that a file imports, wherever in the file it does."""
    package = path.relative_to(ROOT).parent.parts
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            start = package[: len(package) - node.level + 1] if node.level else ()
            source = ".".join([*start, *(node.module or "").split(".")]).strip(".")
            yield source
            yield from (f"{source}.{alias.name}" for alias in node.names)


def upward(path: Path) -> list[str]:
    """Return what a file imports that its part may not."""
    own = place(module(path))
    assert own, f"{module(path)} has no place in LEVELS"
    found = []
    for name in imported(path):
        there = place(name)
        if there and there[1] != own[1] and there[0] >= own[0]:
            found.append(f"{module(path)} imports {name}")
    return found


def test_imports_are_seen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "attnviz" / "toy" / "some.py"
    file.parent.mkdir(parents=True)
    file.write_text(
        "import a.b\nfrom c import d\nfrom . import e\nfrom ..pretrained import g\ndef h():\n    import i\n"
    )
    monkeypatch.setattr(f"{__name__}.ROOT", tmp_path)
    names = {"a.b", "c", "c.d", "attnviz.toy", "attnviz.toy.e", "attnviz.pretrained", "attnviz.pretrained.g", "i"}
    assert set(imported(file)) == names
    both = ["attnviz.pretrained", "attnviz.pretrained.g"]
    assert upward(file) == [f"attnviz.toy.some imports {name}" for name in both]
    assert place("attnviz.serving.work.pool") == (13, "attnviz.serving.work")
    assert place("attnviz.ui.heads.state") == (16, "attnviz.ui.heads")
    assert place("attnviz.serving.app") == (17, "attnviz.serving")


def test_arrows_point_one_way() -> None:
    assert [line for path in PYTHON for line in upward(path)] == []


def test_streamlit_and_plotly_stay_where_something_is_shown() -> None:
    for library, parts in (("streamlit", STREAMLIT), ("plotly", PLOTLY)):
        users = {module(path) for path in PYTHON if any(within(name, library) for name in imported(path))}
        assert users, library
        assert [user for user in users if not any(within(user, part) for part in parts)] == [], library
    for path in PAGES:
        assert {name.split(".")[0] for name in imported(path)} & {"torch", "plotly", "transformers"} == set(), path.name


def test_files_are_short_and_folders_small() -> None:
    folders = [folder for folder in (ROOT / "attnviz", ROOT / "pages", ROOT / "tests") if folder.is_dir()]
    files = [file for folder in folders for kind in ("py", "js", "css") for file in folder.rglob(f"*.{kind}")]
    lengths = {file.relative_to(ROOT).as_posix(): len(file.read_text().splitlines()) for file in files}
    assert [name for name, length in lengths.items() if length > MOST_LINES] == []
    assert median(length for name, length in lengths.items() if name.startswith("attnviz/")) < MOST_MEDIAN
    assert PAGES
    assert [path.name for path in PAGES if lengths[path.relative_to(ROOT).as_posix()] > MOST_PAGE] == []
    beside: dict[str, int] = {}
    for file in files:
        if file.is_relative_to(ROOT / "attnviz") and file.read_text():  # an empty __init__.py only marks a package
            folder = file.parent.relative_to(ROOT).as_posix()
            beside[folder] = beside.get(folder, 0) + 1
    most = {folder: MOST_FRONTEND_FILES if "/frontend" in folder else MOST_FILES for folder in beside}
    assert {folder: number for folder, number in beside.items() if number > most[folder]} == {}


def test_computing_loads_nothing_that_shows_and_tokens_links_and_documents_not_even_torch() -> None:
    light = "attnviz.tokens, attnviz.links.link, attnviz.document"
    heavy = "attnviz.trace.layer, attnviz.pretrained, attnviz.toy.block"
    show = "print(*{name.split('.')[0] for name in sys.modules})"
    code = f"import sys, {light}\n{show}\nimport {heavy}\n{show}"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    first, second = (set(line.split()) for line in done.stdout.splitlines())
    assert "attnviz" in first
    assert first & {"torch", "transformers", "streamlit", "plotly"} == set()
    assert "torch" in second
    assert second & {"streamlit", "plotly"} == set()


def test_nothing_beside_the_frame_hides_a_library() -> None:
    """While a page runs, Streamlit puts the folder of the frame in front of all others that Python imports from."""
    beside = {path.stem for path in (ROOT / "attnviz" / "ui").iterdir() if path.suffix in ("", ".py")}
    installed = {*sys.stdlib_module_names, *packages_distributions()}
    assert "frame" in beside
    assert "tokenizers" in installed
    assert beside & installed == set()
