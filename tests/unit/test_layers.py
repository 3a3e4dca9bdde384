"""The layers of the code: who may import whom."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Collection, Iterator, Mapping
from functools import cache
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
        "attnviz.mask_reasons",
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


@cache
def place(name: str) -> tuple[int, str] | None:
    """Return the level and the part that a module belongs to: the longest part that its name begins with."""
    found = [(level, part) for level, parts in enumerate(LEVELS) for part in parts if within(name, part)]
    return max(found, key=lambda one: len(one[1]), default=None)


class WithoutTypeImports(ast.NodeTransformer):
    """Removes what only a type checker reads."""

    def visit_If(self, node: ast.If) -> ast.AST | list[ast.stmt]:
        return node.orelse if ast.unparse(node.test) == "TYPE_CHECKING" else self.generic_visit(node)


def import_pairs(path: Path, tree: ast.AST) -> Iterator[tuple[str, str]]:
    """Yield module and name of all that a file imports, wherever in the file it does; "" for a whole module."""
    package = path.relative_to(ROOT).parent.parts
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((alias.name, "") for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            start = package[: len(package) - node.level + 1] if node.level else ()
            source = ".".join([*start, *(node.module or "").split(".")]).strip(".")
            yield from ((source, alias.name) for alias in node.names)


@cache  # three tests ask for those of all files
def imported(path: Path) -> tuple[str, ...]:
    """Return the dotted name of all that a file imports."""
    pairs = import_pairs(path, ast.parse(path.read_text()))
    return tuple(found for source, name in pairs for found in ((source, f"{source}.{name}") if name else (source,)))


def import_graph(files: Mapping[str, Path]) -> dict[str, set[str]]:
    """Return which of these modules each of them imports when it runs, also inside functions."""
    graph: dict[str, set[str]] = {}
    for module_name, path in files.items():
        pairs = import_pairs(path, WithoutTypeImports().visit(ast.parse(path.read_text())))
        names = (f"{source}.{name}" if f"{source}.{name}" in files else source for source, name in pairs)
        graph[module_name] = {*names} & files.keys()
    return graph


def circles(graph: Mapping[str, Collection[str]]) -> list[set[str]]:
    """Return the sets of modules that import each other, directly or through others."""
    reached = {name: set(others) for name, others in graph.items()}
    for middle, beyond in reached.items():
        for others in reached.values():
            if middle in others:
                others.update(beyond)
    rings = {frozenset(other for other in reached[name] if name in reached[other]) for name in reached}
    return sorted((set(ring) for ring in rings if ring), key=min)


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
    typed = tmp_path / "typed.py"
    typed.write_text(
        "if TYPE_CHECKING:\n    import a\nelse:\n    import b\ndef h():\n    if c:\n        from d import e\n"
    )
    monkeypatch.setattr(f"{__name__}.ROOT", tmp_path)
    files = {"typed": typed, **dict.fromkeys(("a", "b", "d", "d.e"), file)}
    assert import_graph(files)["typed"] == {"b", "d.e"}
    names = {"a.b", "c", "c.d", "attnviz.toy", "attnviz.toy.e", "attnviz.pretrained", "attnviz.pretrained.g", "i"}
    assert set(imported(file)) == names
    both = ["attnviz.pretrained", "attnviz.pretrained.g"]
    assert upward(file) == [f"attnviz.toy.some imports {name}" for name in both]
    assert place("attnviz.runtime.pool") == (14, "attnviz.runtime")
    assert place("attnviz.ui.heads.state") == (16, "attnviz.ui.heads")
    assert place("attnviz.serving.app") == (17, "attnviz.serving")


def test_arrows_point_one_way() -> None:
    assert [line for path in PYTHON for line in upward(path)] == []


def test_no_modules_import_each_other() -> None:
    """Not within a package either, and not inside functions; for types alone they may."""
    assert circles({"a": "bd", "b": "c", "c": "a", "d": "", "e": "e"}) == [{"a", "b", "c"}, {"e"}]
    assert circles(import_graph({module(path): path for path in PYTHON})) == []


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
