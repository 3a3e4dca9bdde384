"""Starts the app under test as users do: `streamlit run` in a separate process."""

from __future__ import annotations

import os
import re
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from random import SystemRandom

ROOT = Path(__file__).resolve().parents[2]

TEST_VARIABLES = ("HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE", "OMP_NUM_THREADS", "PYTEST_CURRENT_TEST")
"""Environment variables of a test run that a user's shell does not have."""


@dataclass(frozen=True)
class Server:
    """A `streamlit run` process, its address and its log."""

    process: subprocess.Popen[bytes]
    url: str
    log: Path
    started: float
    """Seconds since the epoch when the process was started."""

    def healthy(self) -> bool:
        """Return whether it serves pages now."""
        try:
            with urllib.request.urlopen(f"{self.url}/_stcore/health", timeout=5) as answer:
                return answer.status == 200
        except OSError:
            return False

    def wait(self, seconds: float = 180) -> None:
        """Wait until it serves pages; raise RuntimeError with its log if it ends or takes too long."""
        while not self.healthy():
            if self.process.poll() is not None:
                raise RuntimeError(f"the server ended with status {self.process.returncode}:\n{self.log_text()}")
            if time.time() - self.started > seconds:
                raise RuntimeError(f"the server was not up after {seconds} s:\n{self.log_text()}")
            time.sleep(0.02)

    def log_text(self) -> str:
        """Return its log so far, without colours."""
        return re.sub(r"\x1b\[[\d;]*m", "", self.log.read_text(errors="replace"))

    def stop(self) -> None:
        """Terminate it, and kill it if it does not end within 15 seconds."""
        self.process.terminate()
        try:
            self.process.wait(15)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait(15)


def free_port() -> int:
    """Return a free port of the loopback interface.

    It is outside the kernel's ephemeral range, where another process's connection could take it before the server does.
    """
    while True:
        port = SystemRandom().randrange(15_000, 32_000)
        with socket.socket() as probe, suppress(OSError):
            probe.bind(("127.0.0.1", port))
            return port


def start(
    script: Path, *, cwd: Path = ROOT, options: Sequence[str] = (), env: Mapping[str, str] | None = None
) -> Server:
    """Start `streamlit run script` in `cwd`, and return without waiting for it."""
    port = free_port()
    arguments = ["streamlit", "run", str(script), "--server.port", str(port), "--server.headless", "true", *options]
    return launch(arguments, port, cwd=cwd, env=env)


def launch(
    arguments: Sequence[str],
    port: int,
    *,
    program: Sequence[str] = (sys.executable, "-m"),
    cwd: Path = ROOT,
    env: Mapping[str, str] | None = None,
) -> Server:
    """Start a program with arguments that make it serve this port, and return without waiting for it."""
    users = {k: v for k, v in os.environ.items() if k not in TEST_VARIABLES and not k.startswith("STREAMLIT_")}
    handle, log = tempfile.mkstemp(prefix="server-", suffix=".log")
    started = time.time()
    process = subprocess.Popen(
        [*program, *arguments],
        cwd=cwd, env={**users, **(env or {})}, stdin=subprocess.DEVNULL, stdout=handle, stderr=handle,
    )  # fmt: skip
    os.close(handle)
    return Server(process, f"http://127.0.0.1:{port}", Path(log), started)


@contextmanager
def running(script: str = "app.py", *, env: Mapping[str, str] | None = None, below: str = "") -> Iterator[str]:
    """Serve a script of this repository, perhaps below a path such as "/some/where", and yield its address.

    Raises AssertionError at the end if the server's log has a traceback, even if the page did not show the error.
    """
    server = start(ROOT / script, options=["--server.baseUrlPath", below] if below else [], env=env)
    server = replace(server, url=server.url + below)
    try:
        server.wait()
        yield server.url
    finally:
        server.stop()
        logged = server.log_text()
        server.log.unlink()
    assert "Traceback" not in logged, f"the server logged an error:\n{logged}"
