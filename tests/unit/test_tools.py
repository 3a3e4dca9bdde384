"""The tools of the tests: the guard against the network, code that runs alone, and the list of slow tests."""

from __future__ import annotations

import ast
import os
import socket
import subprocess
import urllib.request
from functools import cache
from pathlib import Path

import pytest

from tests.conftest import NoNetworkError, is_here
from tests.scripts import FILE, run_alone
from tests.slow import function_of, slow_tests, slowest


@pytest.mark.asks_outside
def test_names_and_addresses_of_other_machines_are_refused_and_listed(asked_outside: list[str]) -> None:
    with pytest.raises(OSError, match=r"example\.org was asked for"):
        urllib.request.urlopen("https://example.org/")
    with pytest.raises(NoNetworkError), socket.socket() as ours:
        ours.connect(("198.51.100.1", 80))
    assert asked_outside == ["example.org", "198.51.100.1"]


def test_this_machine_is_reached(asked_outside: list[str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server, socket.create_connection(server.getsockname()) as ours:
        assert ours.getpeername() == server.getsockname()
    assert asked_outside == []


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1", "127.1.2.3", "::1", b"localhost", None])
def test_hosts_that_are_here(host: object) -> None:
    assert is_here(host)


@pytest.mark.parametrize("host", ["example.org", "localhost.example.org", "10.0.0.1", "0x7f.1", "::2"])
def test_hosts_that_are_not(host: object) -> None:
    assert not is_here(host)


def test_it_runs_as_in_a_process_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ATTNVIZ_TRIED", "é")
    file = tmp_path / "a.py"
    file.write_text("import os, sys\nprint(__name__, sys.argv, os.environ['ATTNVIZ_TRIED'])\nopen('b', 'w').close()\n")
    done = run_alone(FILE, "a.py", "more", cwd=tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (0, "__main__ ['a.py', 'more'] é\n", "")
    assert (tmp_path / "b").exists()
    assert run_alone("import builtins\nbuiltins.left = 1", cwd=tmp_path).returncode == 0
    assert run_alone("print(left)", cwd=tmp_path).stderr.endswith("NameError: name 'left' is not defined\n")
    ours = run_alone("import attnviz\nprint(attnviz.__file__)", cwd=tmp_path, has_attnviz=True)
    assert ours.stdout == f"{ROOT / 'attnviz' / '__init__.py'}\n"


def test_a_run_that_takes_too_long_ends_and_the_next_begins_anew(tmp_path: Path) -> None:
    code = "import os, time\nopen('pid', 'w').write(str(os.getpid()))\ntime.sleep(600)"
    with pytest.raises(subprocess.TimeoutExpired):
        run_alone(code, cwd=tmp_path, timeout=1)
    with pytest.raises(ProcessLookupError):
        os.kill(int((tmp_path / "pid").read_text()), 0)
    assert run_alone("print(1)", cwd=tmp_path).stdout == "1\n"


def test_what_a_script_imports_is_seen_by_no_other(tmp_path: Path) -> None:
    assert run_alone("import xml.dom", cwd=tmp_path).returncode == 0
    assert "AttributeError" in run_alone("import xml\nxml.dom", cwd=tmp_path).stderr
    assert "ModuleNotFoundError" in run_alone("import scripts", cwd=tmp_path).stderr
    assert run_alone("from . import x", cwd=tmp_path).returncode == 1
    (tmp_path / "old.py").write_text("import warnings\nwarnings.warn('old', DeprecationWarning)\n")
    assert run_alone("import old", cwd=tmp_path).returncode == 0
    assert run_alone("import old", cwd=tmp_path, on_warning="error").returncode == 1


@pytest.mark.parametrize(
    ("code", "status", "said"),
    [
        ("import attnviz", 1, "ModuleNotFoundError: import of attnviz halted; None in sys.modules\n"),
        ("import sys\nsys.exit('no')", 1, "no\n"),
        ("import sys\nsys.exit(3)", 3, ""),
        ("import os\nos.kill(os.getpid(), 9)", -9, ""),
        ("import warnings\nwarnings.warn('old')", 1, "UserWarning: old\n"),
    ],
)
def test_a_failure_is_told(code: str, status: int, said: str, tmp_path: Path) -> None:
    done = run_alone(code, cwd=tmp_path, on_warning="error")
    assert done.returncode == status
    assert done.stderr.endswith(said) and bool(said) == bool(done.stderr)


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
