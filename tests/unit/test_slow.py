"""The list of slow tests, which `tests/run --quick` leaves out."""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path

from tests.slow import function_of, slow_tests, slowest

ROOT = Path(__file__).resolve().parents[2]


@cache
def functions(file: str) -> set[str]:
    """Return the names of a file's functions; none if there is no such file."""
    path = ROOT / file
    nodes = ast.walk(ast.parse(path.read_text())) if path.is_file() else ()
    return {node.name for node in nodes if isinstance(node, ast.FunctionDef)}


def test_each_listed_test_exists() -> None:
    listed = slow_tests()
    assert len(listed) > 50
    missing = [name for name in sorted(listed) if name.partition("::")[2] not in functions(name.partition("::")[0])]
    assert missing == []


def test_cases_of_one_function_count_together_and_the_browser_does_not() -> None:
    cases = [
        ("tests.unit.test_a", "test_one[1]", 0.5), ("tests.unit.test_a", "test_one[a[0]]", 0.4),
        ("tests.unit.test_a", "test_two", 0.7), ("tests.app.test_b", "test_three", 1.1),
        ("tests.browser.test_c", "test_four", 100.0),
    ]  # fmt: skip
    assert slowest(cases, 0.7) == ["tests/app/test_b.py::test_three", "tests/unit/test_a.py::test_one"]
    assert function_of("tests/unit/test_a.py::test_one[a[0]]") == "tests/unit/test_a.py::test_one"
