"""What a server's process uses."""

from __future__ import annotations

import psutil


def memory(server: psutil.Process) -> int:
    """Return its resident memory in bytes."""
    return int(server.memory_info().rss)


def cpu(server: psutil.Process) -> float:
    """Return the seconds of processor time that it has used."""
    times = server.cpu_times()
    return float(times.user + times.system)
