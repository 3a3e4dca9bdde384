"""What this process tells a monitor, in Prometheus' text format. Counts and sizes only, nothing that anybody typed.

Format: Prometheus, "Exposition formats", text-based format 0.0.4.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Mapping
from pathlib import Path

from attnviz.serving.http.traffic import Traffic
from attnviz.serving.work.cache import cache_usage
from attnviz.serving.work.pool import worker_pool
from attnviz.serving.work.worker import pass_process

MEDIA_TYPE = "text/plain; version=0.0.4; charset=utf-8"


def metrics(traffic: Traffic, *, ready: bool) -> str:
    """Write every figure of this process."""
    running, waiting, done = worker_pool().counts()
    results = cache_usage()
    blocks = [
        _block("ready", "gauge", "Whether the built-in model is loaded.", {"": int(ready)}),
        _block("sessions", "gauge", "Browsers that are connected.", {"": traffic.visitors}),
        _block("runs_total", "counter", "Changes that browsers asked for.", {"": traffic.changes}),
        _block("http_requests_total", "counter", "Answers to requests.", _labelled("code", traffic.answers)),
        _block("refused_total", "counter", "Visitors turned away or slowed down.", _labelled("why", traffic.refused)),
        _block("pass_process", "gauge", "Whether a process of its own takes passes.", {"": int(pass_process().ready)}),
        _block("passes_running", "gauge", "Computations at work.", {"": running}),
        _block("passes_waiting", "gauge", "Computations that wait.", {"": waiting}),
        _block("passes_total", "counter", "Computations done.", {"": done}),
        _block("cache_entries", "gauge", "Results kept.", _labelled("cache", {k: v[0] for k, v in results.items()})),
        _block("cache_bytes", "gauge", "Their size.", _labelled("cache", {k: v[1] for k, v in results.items()})),
        _block(
            "process_resident_memory_bytes",
            "gauge",
            "Resident memory, without the process for passes.",
            {"": resident_bytes()},
            prefix="",
        ),
        _block(
            "process_cpu_seconds_total",
            "counter",
            "Processor time, without the process for passes.",
            {"": time.process_time()},
            prefix="",
        ),
    ]
    return "".join(blocks)


def resident_bytes() -> int:
    """Return the resident memory of this process; 0 where there is no /proc."""
    try:
        pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    except OSError:
        return 0
    return pages * os.sysconf("SC_PAGE_SIZE")


def _labelled(
    label: str, figures: Mapping[object, float] | Mapping[str, float] | Mapping[int, float]
) -> dict[str, float]:
    return {f'{{{label}="{name}"}}': figure for name, figure in figures.items()}


def _block(name: str, kind: str, about: str, figures: Mapping[str, float], prefix: str = "attnviz_") -> str:
    lines: Iterable[str] = (f"{prefix}{name}{labels} {figure:.15g}" for labels, figure in sorted(figures.items()))
    return "\n".join([f"# HELP {prefix}{name} {about}", f"# TYPE {prefix}{name} {kind}", *lines]) + "\n"
