"""Runs code as `python -c` does where nobody can import attnviz, without importing torch and transformers each time.

A process of its own imports what the scripts import, and forks for each run: what a script does to torch, to the
environment or to modules ends with its fork.
"""

from __future__ import annotations

import ast
import atexit
import json
import os
import select
import subprocess
import sys
import traceback
import warnings
from collections.abc import Iterable, Mapping
from contextlib import suppress
from functools import cache
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import IO, Any

FILE = "import runpy, sys\ndel sys.argv[0]\nrunpy.run_path(sys.argv[0], run_name='__main__')"
"""Runs the script that the first argument names"""


def run_alone(
    code: str, *arguments: str | Path, cwd: Path, on_warning: str = "default", timeout: float = 240
) -> subprocess.CompletedProcess[str]:
    """Run code where nobody can import attnviz; arguments that are files of Python are what it will run.

    Args:
        code: what stands after `python -c`.
        arguments: of the program.
        cwd: the folder in which it runs.
        on_warning: what stands after `python -W`.
        timeout: seconds, after which the run has failed.

    Returns:
        The exit status, and what was printed.
    """
    names = [str(one) for one in arguments]
    files = [cwd / name for name in names if name.endswith(".py")]
    imports = [line for text in (code, *(file.read_text("utf-8") for file in files)) for line in _imports(text)]
    with NamedTemporaryFile("r", encoding="utf-8") as out, NamedTemporaryFile("r", encoding="utf-8") as err:
        asked = {
            "code": code, "arguments": names, "cwd": str(cwd), "on_warning": on_warning, "imports": imports,
            "environment": dict(os.environ), "files": [out.name, err.name],
        }  # fmt: skip
        status = _ask(asked, timeout)
        return subprocess.CompletedProcess(["python", "-c", code, *names], status, out.read(), err.read())


def _imports(code: str) -> list[str]:
    """Return the statements by which a script imports, those in its functions too."""
    return [ast.unparse(one) for one in ast.walk(ast.parse(code)) if isinstance(one, ast.Import | ast.ImportFrom)]


@cache
def _process() -> subprocess.Popen[str]:
    """Return the process that forks, which is started once."""
    process = subprocess.Popen([sys.executable, __file__], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def end() -> None:
        process.communicate()

    atexit.register(end)
    return process


def _ask(asked: Mapping[str, Any], timeout: float) -> int:
    process = _process()
    assert process.stdin and process.stdout
    process.stdin.write(json.dumps(asked) + "\n")
    process.stdin.flush()
    if not select.select([process.stdout], [], [], timeout)[0]:
        process.kill()
        _process.cache_clear()
        raise subprocess.TimeoutExpired("a script", timeout)
    return int(process.stdout.readline())


def _serve(asked: Iterable[str], answers: IO[str]) -> None:
    """Fork for each line that asks for a run, and answer with its exit status."""
    for line in asked:
        run = json.loads(line)
        for statement in run["imports"]:
            with suppress(ImportError):
                exec(statement, {})
        child = os.fork()
        if child == 0:
            status = 1
            try:
                status = _run(**run)
            finally:
                os._exit(status)
        answers.write(f"{os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])}\n")
        answers.flush()


def _run(
    code: str, arguments: list[str], cwd: str, on_warning: Any, imports: Any, environment: dict[str, str],
    files: list[str],
) -> int:  # fmt: skip
    """Run code in this process, which ends then; return its exit status."""
    for number, name in enumerate(files, 1):
        os.dup2(os.open(name, os.O_WRONLY | os.O_APPEND), number)
    os.environ.clear()
    os.environ.update(environment)
    os.chdir(cwd)
    sys.argv, sys.path[0] = ["-c", *arguments], ""
    warnings.resetwarnings()
    warnings.simplefilter(on_warning)
    try:
        exec(compile(code, "<string>", "exec"), {"__name__": "__main__"})
    except SystemExit as ended:
        if isinstance(ended.code, str):
            sys.stderr.write(f"{ended.code}\n")
        return ended.code if isinstance(ended.code, int) else int(ended.code is not None)
    except BaseException:
        traceback.print_exc()
        return 1
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
    return 0


if __name__ == "__main__":
    written = os.fdopen(os.dup(1), "w")  # what is imported may print
    os.dup2(2, 1)
    requests = os.fdopen(os.dup(0))
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    sys.modules["attnviz"] = None  # type: ignore[assignment]
    with suppress(KeyboardInterrupt):
        _serve(requests, written)
