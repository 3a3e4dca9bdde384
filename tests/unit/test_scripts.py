"""Code that runs alone finds no attnviz, says how it ended, and leaves nothing to the code after it."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from tests.scripts import FILE, run_alone


def test_it_runs_as_in_a_process_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ATTNVIZ_TRIED", "é")
    file = tmp_path / "a.py"
    file.write_text("import os, sys\nprint(__name__, sys.argv, os.environ['ATTNVIZ_TRIED'])\nopen('b', 'w').close()\n")
    done = run_alone(FILE, "a.py", "more", cwd=tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (0, "__main__ ['a.py', 'more'] é\n", "")
    assert (tmp_path / "b").exists()
    assert run_alone("import builtins\nbuiltins.left = 1", cwd=tmp_path).returncode == 0
    assert run_alone("print(left)", cwd=tmp_path).stderr.endswith("NameError: name 'left' is not defined\n")


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
