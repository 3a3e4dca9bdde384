"""The training process: it reads commands from stdin and writes events to stdout (for the format see `process`).

    python -m attnviz.training.jobs.worker

It serves one training after another, and exits when stdin is closed, which also happens when the server dies.
Commands: `start` (a plan; the bytes are the data to train on and the state to resume from), `pause`, `continue`,
`step`, `speed` (steps per second), `drop`. Events: `ready`, and for a job `progress` (losses as float32), `evaluation`,
`snapshot`, `going` (it has resumed), `paused` (the bytes are the state that a later `start` resumes from) and `end`.
"""

from __future__ import annotations

import os
import queue
import signal
import sys
import threading
from contextlib import suppress
from pathlib import Path
from types import ModuleType
from typing import Any

from attnviz.training.jobs.process import BrokenMessageError, Message
from attnviz.training.plan import MEMORY_MB

NICE = 10
"""Its niceness, so that the server has priority on a busy processor: see nice(2)"""


def main() -> None:
    """Serve until stdin is closed."""
    os.environ["OMP_NUM_THREADS"] = "1"  # before torch is imported
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C in the server's terminal: the server ends this process
    events = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # a library's output must not mix with events
    commands: queue.SimpleQueue[Message] = queue.SimpleQueue()
    threading.Thread(target=_read, args=(commands,), daemon=True).start()

    _leave_out_compiler()
    from attnviz.training.jobs.run import serve, warm_up

    warm_up()
    _limit_memory()
    if hasattr(os, "nice"):
        os.nice(NICE)  # only now, because a user may already be waiting for the process to start
    try:
        serve(commands, events)
    except OSError:  # the server has closed the pipe
        os._exit(0)


def _read(commands: queue.SimpleQueue[Message]) -> None:
    """Pass commands on, and exit at once when the server has closed the pipe."""
    with suppress(OSError, BrokenMessageError):
        while message := Message.read(sys.stdin.buffer):
            commands.put(message)
    os._exit(0)


def _leave_out_compiler() -> None:
    """Keep torch's optimisers from importing torch's compiler, half of what this process would import.

    All that they want of it is to be left alone by it, and nothing is compiled here.
    """
    import torch

    compiler: Any = ModuleType("torch._dynamo")
    compiler.disable, compiler.graph_break = lambda function, *_, **__: function, lambda: None
    sys.modules[compiler.__name__] = vars(torch)["_dynamo"] = compiler


def _limit_memory() -> None:
    """Limit the memory of trainings, where Linux runs, so that a too large allocation fails in this process only.

    What the libraries have taken by now does not count: with torch's build for GPUs it is 700 MB.
    """
    with suppress(ImportError, ValueError, OSError, StopIteration):
        import resource

        lines = Path("/proc/self/status").read_text(encoding="utf-8").splitlines()
        taken = next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmData:"))
        most = taken + MEMORY_MB * 2**20
        resource.setrlimit(resource.RLIMIT_DATA, (most, most))


if __name__ == "__main__":
    main()
