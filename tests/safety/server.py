"""A server for the public, started as its operators start it: `python -m attnviz serve` in a process of its own."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Mapping
from pathlib import Path

from tests.browser.server import ROOT, TEST_VARIABLES, Server, free_port

SECRET = "Rumpelstilz"
"""Every text that these tests type holds this word, so that a log with it shows that a text was logged."""

RACE = re.compile(
    r"[^\n]*A thread ended by an exception\nTraceback \(most recent call last\), without its message:\n"
    r"(?: .*\n)*?  File \".*\", line \d+, in on_script_finished\n(?:    .*\n)+"
    r"  File \".*session_state\.py\", line \d+, in _reset_triggers\n(?:    .*\n)+RuntimeError(?:\n|$)"
)


def without_streamlits_race(log: str) -> str:
    """Return a log without the ends of threads that are a fault of Streamlit's, which harms no visitor.

    Streamlit starts a new run of a page while the one before, which has been stopped, still tidies up. Each has a lock
    of its own on the same state of the session, so that the old one can find the state changed meanwhile
    (RuntimeError: dictionary changed size during iteration). It ends then; the new run has the visitor's message.
    """
    return RACE.sub("", log)


def serve(env: Mapping[str, str], port: int | None = None, program: str | None = None) -> Server:
    """Start `python -m attnviz serve`, and return without waiting for it.

    `program`: Python code that starts the server in place of the command; `{port}` in it is the port.
    """
    port = port or free_port()
    users = {
        k: v for k, v in os.environ.items() if k not in TEST_VARIABLES and not k.startswith(("STREAMLIT_", "ATTNVIZ_"))
    }
    handle, log = tempfile.mkstemp(prefix="attnviz-", suffix=".log")
    started = time.time()
    command = ["-c", program.format(port=port)] if program else ["-m", "attnviz", "serve", "--port", str(port)]
    process = subprocess.Popen(
        [sys.executable, *command],
        cwd=ROOT,
        env={**users, **env},
        stdin=subprocess.DEVNULL,
        stdout=handle,
        stderr=handle,
    )
    os.close(handle)
    return Server(process, f"http://127.0.0.1:{port}", Path(log), started)


def wait_until_ready(server: Server, seconds: float = 180) -> None:
    """Wait until the model is loaded; where it is not, fail with what the server logged."""
    server.wait(seconds)
    while status(f"{server.url}/readyz") != 200:
        assert server.process.poll() is None, server.log_text()
        assert time.time() - server.started < seconds, server.log_text()
        time.sleep(0.1)


def status(url: str, headers: Mapping[str, str] | None = None) -> int:
    """Return the status of an answer, whatever it is."""
    try:
        with urllib.request.urlopen(urllib.request.Request(url, headers=dict(headers or {})), timeout=60) as answer:
            return int(answer.status)
    except urllib.error.HTTPError as refused:
        return refused.code
