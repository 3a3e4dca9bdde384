"""What ordinary visitors notice while others send messages that no browser sends."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

import psutil

from bench.load import ENTRANCE, Crowd, Figures, served
from bench.table import Row
from tests.safety.hostile import breaches
from tests.safety.test_hostile import open_all_pages, send

ORDINARY, HOSTILE, MESSAGES = 10, 400, 1_700
SECONDS = 30.0


def rows() -> Iterator[Row]:
    """Measure ordinary visitors without the attack and during it, against one server."""
    with served(ours=True) as server, ProcessPoolExecutor(1, mp_context=get_context("spawn")) as processes:
        messages = breaches(MESSAGES, 11, open_all_pages(server))
        process = psutil.Process(server.process.pid)

        def measure() -> Figures:
            return Crowd(server.url + ENTRANCE, True, ORDINARY, SECONDS).measure(process)

        measure()  # the first visitors of each page wait for imports
        without = measure()
        attack = processes.submit(send, server.url, messages, HOSTILE, SECONDS)
        during = measure()
        attack.result()
    yield Row(
        f"{ORDINARY} visitors, p95 while {HOSTILE} hostile ones send (peer: without them)",
        without.p95(),
        during.p95(),
        2,
    )
    yield Row("the same: errors", 0.0, sum(during.wrong.values()), 0, unit="", alone=True)
