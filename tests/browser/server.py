"""The app under test, started as its users start it: `streamlit run` in a process of its own."""

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
from dataclasses import dataclass
from pathlib import Path
from random import SystemRandom

ROOT = Path(__file__).resolve().parents[2]

NOT_A_USERS = ("HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE", "OMP_NUM_THREADS", "PYTEST_CURRENT_TEST")
"""Variables that a test run may carry and a user's shell does not."""


@dataclass(frozen=True)
class Server:
    """A `streamlit run` process, the address that it was told to serve, and its log."""

    process: subprocess.Popen[bytes]
    url: str
    log: Path
    started: float
    """Seconds since the epoch when the process was started."""

    def healthy(self) -> bool:
        """Ask once whether it serves pages yet."""
        try:
            with urllib.request.urlopen(f"{self.url}/_stcore/health", timeout=5) as answer:
                return answer.status == 200
        except OSError:
            return False

    def wait(self, seconds: float = 180) -> None:
        """Wait until it serves pages; where it does not, fail with what it logged."""
        while not self.healthy():
            if self.process.poll() is not None:
                raise RuntimeError(f"the server ended with status {self.process.returncode}:\n{self.said()}")
            if time.time() - self.started > seconds:
                raise RuntimeError(f"the server was not up after {seconds} s:\n{self.said()}")
            time.sleep(0.02)

    def said(self) -> str:
        """Return its log so far, without colours."""
        return re.sub(r"\x1b\[[\d;]*m", "", self.log.read_text(errors="replace"))

    def stop(self) -> None:
        """End it: politely, then not."""
        self.process.terminate()
        try:
            self.process.wait(15)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait(15)


def free_port() -> int:
    """Return a port of the loopback interface that nobody holds right now.

    It is none of those that the kernel gives to whoever asks for any: another's connection could take it before the
    server does.
    """
    while True:
        port = SystemRandom().randrange(15_000, 32_000)
        with socket.socket() as probe, suppress(OSError):
            probe.bind(("127.0.0.1", port))
            return port


def start(
    script: Path, *, cwd: Path = ROOT, options: Sequence[str] = (), env: Mapping[str, str] | None = None
) -> Server:
    """Start `streamlit run script` from `cwd`, and return without waiting for it."""
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
    """Start a program, `python -m`, with arguments that have it serve this port, and return without waiting for it."""
    users = {k: v for k, v in os.environ.items() if k not in NOT_A_USERS and not k.startswith("STREAMLIT_")}
    handle, log = tempfile.mkstemp(prefix="server-", suffix=".log")
    started = time.time()
    process = subprocess.Popen(
        [*program, *arguments],
        cwd=cwd, env={**users, **(env or {})}, stdin=subprocess.DEVNULL, stdout=handle, stderr=handle,
    )  # fmt: skip
    os.close(handle)
    return Server(process, f"http://127.0.0.1:{port}", Path(log), started)


@contextmanager
def running(script: str = "app.py", *, env: Mapping[str, str] | None = None) -> Iterator[str]:
    """Serve a script of this repository for a while; what is yielded is its address.

    A traceback in the server's log fails whoever used it, even where the page hid the error.
    """
    server = start(ROOT / script, env=env)
    try:
        server.wait()
        yield server.url
    finally:
        server.stop()
        said = server.said()
        server.log.unlink()
    assert "Traceback" not in said, f"the server logged an error:\n{said}"
