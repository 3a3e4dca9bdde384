"""Messages that no browser sends, from 400 visitors: the server goes on as before, and its log has no word of them.

Their cost is the server's processor time, compared with a change of an ordinary visitor in the same run: wall-clock
times depend on what else the machine does.
"""

from __future__ import annotations

import asyncio
import os
import sys
import time
import urllib.request
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from types import ModuleType

import pytest

from tests.browser.server import Server
from tests.safety.client import Visitor
from tests.safety.hostile import Shown, breaches, visit_all, well_typed
from tests.safety.links import PATHS

SEED = 11
WELL_TYPED, BREACHES = 300, 1_700
VISITORS = 400
SECONDS = 15.0
"""Over which the messages are spread: 2,000 at once would be a test of this machine's loopback."""
PROCESSOR, MEMORY = "process_cpu_seconds_total", "process_resident_memory_bytes"


def figures(server: Server) -> dict[str, float]:
    """Return the server's metrics by their names."""
    with urllib.request.urlopen(f"{server.url}/metrics", timeout=60) as answer:
        lines = answer.read().decode().splitlines()
    return {name: float(value) for name, value in (line.rsplit(" ", 1) for line in lines if not line.startswith("#"))}


def look_around(server: Server) -> Shown:
    """Open every page as a browser would, and note what a stranger can know of it."""
    shown = Shown()
    with Visitor(server.url, note=shown.note) as visitor:
        for page in PATHS:
            for query in ("", "source=pretrained&more=table&scale=0.5"):
                assert not visitor.open(page, query).broke
    return shown


def send(url: str, messages: list[bytes | str], visitors: int, seconds: float) -> int:
    """Send messages, in a process of its own, after the server where both want the processor."""
    os.nice(10)
    return asyncio.run(visit_all(url, messages, visitors, seconds))


def change(server: Server, until: Callable[[], bool]) -> int:
    """Change a well-behaved visitor's view again and again; return how often. Every change is answered."""
    done = 0
    with Visitor(server.url) as visitor:
        while not until():
            assert not visitor.open("tokens", f"text=a+text+{done}").broke
            done += 1
            time.sleep(0.03)
    return done


@pytest.fixture(scope="module")
def shown(served: Server) -> Shown:
    return look_around(served)


def test_values_that_no_widget_offers_break_no_page(served: Server, shown: Shown) -> None:
    """They have the right types, so that they come to the pages, after each page was opened as usual."""
    logged = len(served.log_text())
    for number, page in enumerate(PATHS):
        with Visitor(served.url) as visitor:
            for query in ("", "source=pretrained&more=table&scale=0.5"):
                visitor.open(page, query)
                for message in well_typed(WELL_TYPED // len(PATHS) // 2, SEED + number, shown, visitor.page_hash):
                    visitor.send_raw(message)
            assert not visitor.open(page).broke
    said = served.log_text()[logged:]
    assert "Traceback" not in said, said[-4_000:]


@pytest.mark.timeout(300)
def test_400_hostile_visitors_neither_slow_others_down_nor_leak_memory(
    served: Server, shown: Shown, monkeypatch: pytest.MonkeyPatch
) -> None:
    # A spawned process runs the main module anew, and tests of pages leave a page's script in its place.
    monkeypatch.setitem(sys.modules, "__main__", ModuleType("__main__"))
    logged, counted = len(served.log_text()), figures(served)
    messages = breaches(BREACHES, SEED, shown)
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as processes:
        assert processes.submit(send, served.url, messages, VISITORS, SECONDS).result() == BREACHES
        first = figures(served)
        end = time.monotonic() + SECONDS
        ordinary = change(served, lambda: time.monotonic() > end)
        second = figures(served)
        sent = processes.submit(send, served.url, messages, VISITORS, SECONDS)
        meanwhile = change(served, sent.done)
        assert sent.result() == BREACHES
        third = figures(served)
    cost = (second[PROCESSOR] - first[PROCESSOR]) / ordinary
    hostile = (third[PROCESSOR] - second[PROCESSOR] - meanwhile * cost) / BREACHES
    assert hostile <= cost / 2, f"{1e3 * hostile:.1f} ms a hostile message, {1e3 * cost:.1f} ms a change"
    until = time.monotonic() + 20
    while (after := figures(served))[MEMORY] > 1.1 * first[MEMORY]:
        assert time.monotonic() < until, f"{first[MEMORY]:.0f} bytes before, {after[MEMORY]:.0f} after"
        time.sleep(0.5)
    for why in ("type", "count", "length", "size", "format", "purpose"):
        name = f'attnviz_refused_total{{why="message_{why}"}}'
        assert after[name] - counted.get(name, 0) >= 5, why
    said = served.log_text()[logged:]
    assert "Traceback" not in said, said[-4_000:]
