"""What a server's processes use: the one that was started, and those that it started."""

from __future__ import annotations

from contextlib import suppress

import psutil


def memory(server: psutil.Process) -> int:
    """Return the bytes that they hold: the server's resident memory, and what is each of the others' alone.

    What they share, such as torch's code, so counts once.
    """
    held = int(server.memory_info().rss)
    for child in server.children(recursive=True):
        with suppress(psutil.NoSuchProcess):
            held += child.memory_full_info().uss
    return held


def cpu(server: psutil.Process) -> float:
    """Return the seconds of processor time that they have used."""
    spent = 0.0
    for process in (server, *server.children(recursive=True)):
        with suppress(psutil.NoSuchProcess):
            times = process.cpu_times()
            spent += times.user + times.system
    return spent
