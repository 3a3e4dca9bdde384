"""Runs code as `python -c` does, mostly where attnviz can't be imported, without importing torch and transformers anew.

A process of its own imports the packages that take long (`SLOW`), and forks for each run: what a script does to them,
to the environment or to other modules ends with its fork.
"""

from __future__ import annotations

import atexit
import json
import os
import signal
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

SLOW = (
    "import numpy, safetensors.torch, torch, torch._dynamo, torch.nn.functional",  # all optimisers import _dynamo
    "from transformers import AutoModel, AutoTokenizer, BertModel",
)
ROOT = Path(__file__).resolve().parents[1]
FILE = "import runpy, sys\ndel sys.argv[0]\nrunpy.run_path(sys.argv[0], run_name='__main__')"
"""Runs the script that the first argument names"""


def run_alone(
    code: str, *arguments: str | Path, cwd: Path, on_warning: str = "default", timeout: float = 240,
    has_attnviz: bool = False,
) -> subprocess.CompletedProcess[str]:  # fmt: skip
    """Run code in a process of its own.

    Args:
        code: what stands after `python -c`.
        arguments: of the program.
        cwd: the folder in which it runs.
        on_warning: what stands after `python -W`; what the packages in `SLOW` warn of on import is not seen.
        timeout: seconds, after which the run has failed.
        has_attnviz: whether this checkout can be imported.

    Returns:
        The exit status, and what was printed.
    """
    names = [str(argument) for argument in arguments]
    with NamedTemporaryFile("r", encoding="utf-8") as out, NamedTemporaryFile("r", encoding="utf-8") as err:
        asked = {
            "code": code, "arguments": names, "cwd": str(cwd), "on_warning": on_warning,
            "environment": dict(os.environ), "files": [out.name, err.name], "timeout": timeout,
            "root": str(ROOT) if has_attnviz else "",
        }  # fmt: skip
        status = _ask(asked)
        if status == -signal.SIGALRM:
            raise subprocess.TimeoutExpired("a script", timeout)
        return subprocess.CompletedProcess(["python", "-c", code, *names], status, out.read(), err.read())


@cache
def _process() -> subprocess.Popen[str]:
    """Return the process that forks, which is started once."""
    process = subprocess.Popen(
        [sys.executable, "-P", __file__],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )

    def end() -> None:
        process.communicate()

    atexit.register(end)
    return process


def _ask(asked: Mapping[str, Any]) -> int:
    process = _process()
    assert process.stdin and process.stdout
    process.stdin.write(json.dumps(asked) + "\n")
    process.stdin.flush()
    return int(process.stdout.readline())


def _serve(asked: Iterable[str], answers: IO[str]) -> None:
    """Fork for each line that asks for a run, and answer with its exit status."""
    for line in asked:
        run = json.loads(line)
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
    code: str, arguments: list[str], cwd: str, on_warning: Any, environment: dict[str, str],
    files: list[str], timeout: float, root: str,
) -> int:  # fmt: skip
    """Run code in this process, which ends then, or which an alarm ends; return its exit status."""
    signal.setitimer(signal.ITIMER_REAL, timeout)
    for number, name in enumerate(files, 1):
        os.dup2(os.open(name, os.O_WRONLY | os.O_APPEND), number)
    os.environ.clear()
    os.environ.update(environment)
    os.chdir(cwd)
    sys.argv, sys.path = ["-c", *arguments], ["", *sys.path]
    if root:
        del sys.modules["attnviz"]
        sys.path.insert(1, root)
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
    for statement in SLOW:
        exec(statement, {})
    with suppress(KeyboardInterrupt):
        _serve(requests, written)
