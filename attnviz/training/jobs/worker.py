"""The training process: it reads commands from stdin and writes what happens to stdout (`process`).

    python -m attnviz.training.jobs.worker

It serves one training after another, and ends when stdin ends, as it does when the server dies. Commands: `start` (a
plan; the bytes are a text or vectors, and the state to go on from), `pause`, `continue`, `step`, `speed` (steps a
second), `drop`. Events: `ready`, and of a job `progress` (losses as float32), `evaluation`, `snapshot`, `paused` (the
bytes are all that a later `start` needs to go on) and `end`.
"""

from __future__ import annotations

import os
import queue
import signal
import sys
import threading
from contextlib import suppress

from attnviz.training.jobs.process import BrokenMessageError, Message
from attnviz.training.plan import MEMORY_MB

NICE = 10
"""How much less of a busy processor it gets than the server: see nice(2)"""
FILES_MB = 120
"""Of the memory, what libraries take that are mapped from files; the resource limit is about all else"""


def main() -> None:
    """Serve until stdin ends."""
    os.environ["OMP_NUM_THREADS"] = "1"  # before torch is imported
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C in the server's terminal: the server ends this process
    _limit_memory()
    events = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # what a library prints is no event
    commands: queue.SimpleQueue[Message] = queue.SimpleQueue()
    threading.Thread(target=_read, args=(commands,), daemon=True).start()

    from attnviz.training.jobs.run import serve, warm_up

    warm_up()
    if hasattr(os, "nice"):
        os.nice(NICE)  # only now: somebody may be waiting for the first step
    try:
        serve(commands, events)
    except OSError:  # the server has gone
        os._exit(0)


def _read(commands: queue.SimpleQueue[Message]) -> None:
    """Pass commands on. A process whose server has gone ends at once, whatever it is doing."""
    with suppress(OSError, BrokenMessageError):
        while message := Message.read(sys.stdin.buffer):
            commands.put(message)
    os._exit(0)


def _limit_memory() -> None:
    """Limit memory, where the system can: an allocation beyond it fails in this process, and nowhere else."""
    with suppress(ImportError, ValueError, OSError):
        import resource

        most = (MEMORY_MB - FILES_MB) * 2**20
        resource.setrlimit(resource.RLIMIT_DATA, (most, most))


if __name__ == "__main__":
    main()
