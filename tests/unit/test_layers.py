"""The layers of the code: who may import whom."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted((ROOT / "pages").glob("*.py"))
PYTHON = [ROOT / "app.py", *PAGES, *sorted((ROOT / "attnviz").rglob("*.py"))]

LEVELS = (
    ("attnviz.reprs", "attnviz.formatting"),
    (
        "attnviz.attention",
        "attnviz.tokens",
        "attnviz.formulas",
        "attnviz.files",
        "attnviz.annotated_text",
        "attnviz.hosts",
        "attnviz.cluster",
        "attnviz.settings",
    ),
    ("attnviz.trace",),
    ("attnviz.steps", "attnviz.toy", "attnviz.measures"),
    ("attnviz.pretrained", "attnviz.compare", "attnviz.figures", "attnviz.training"),
    ("attnviz.trained", "attnviz.bert"),
    ("attnviz.sources", "attnviz.document", "attnviz.corpus"),
    ("attnviz.components.styles", "attnviz.components.payload"),  # the browser side as text and bytes
    ("attnviz.components.built",),
    ("attnviz.links",),
    ("attnviz.lessons", "attnviz.heads"),
    ("attnviz.export", "attnviz.components"),
    ("attnviz.notebook",),
    ("attnviz.ready",),
    ("attnviz.runtime",),  # what all sessions of a process share
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
    ("attnviz.serving",),  # the server: what it accepts, and how it is started
    ("pages", "attnviz.cli"),
    ("app", "attnviz.__init__", "attnviz.__main__"),
)
"""A part imports parts of lower levels and itself, nothing else."""
STREAMLIT = ("app", "pages", "attnviz.ui", "attnviz.components", "attnviz.serving")
PLOTLY = ("attnviz.figures",)
MOST_PAGE = 60


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
    assert place("attnviz.runtime.pool") == (14, "attnviz.runtime")
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


def test_pages_are_thin() -> None:
    """A page reads widgets, calls and shows."""
    assert PAGES
    assert [path.name for path in PAGES if len(path.read_text().splitlines()) > MOST_PAGE] == []


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
