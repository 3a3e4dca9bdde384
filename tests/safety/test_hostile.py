"""Messages that no browser sends, from 400 visitors: the server goes on as before, and its log has no word of them.

The times of an ordinary visitor are compared with those while the same messages go to another server on this machine:
sending them takes the processor too.
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
from statistics import median, quantiles
from types import ModuleType
from typing import Any

import pytest
from streamlit.runtime.state.safe_session_state import SafeSessionState
from streamlit.runtime.state.session_state import SessionState

from attnviz.serving.logs import _format
from tests.browser.server import Server
from tests.safety.client import Visitor
from tests.safety.hostile import Shown, breaches, visit_all, visit_nobody, well_typed, wrongly_typed
from tests.safety.links import PATHS
from tests.safety.server import SECRET, without_streamlits_race

SEED = 11
WELL_TYPED, WRONGLY_TYPED, WRONGLY_TYPED_ELSEWHERE, BREACHES = 200, 45, 18, 660
VISITORS = 400
SECONDS = 6.0
"""Over which the messages are spread, some 110 a second: all at once would be a test of this machine's loopback."""
ROUNDS, SHARE = 2, 8
"""How often an ordinary visitor's times are taken, while each eighth message is sent again"""
PROCESSOR, MEMORY = "process_cpu_seconds_total", "process_resident_memory_bytes"


def figures(server: Server) -> dict[str, float]:
    """Return the server's metrics by their names."""
    with urllib.request.urlopen(f"{server.url}/metrics", timeout=60) as answer:
        lines = answer.read().decode().splitlines()
    return {name: float(value) for name, value in (line.rsplit(" ", 1) for line in lines if not line.startswith("#"))}


def open_all_pages(server: Server) -> Shown:
    """Open every page as a browser would, and record what its messages reveal."""
    shown = Shown()
    with Visitor(server.url, note=shown.note) as visitor:
        for page in PATHS:
            for query in ("", "source=pretrained&more=table&scale=0.5"):
                assert not visitor.open(page, query).broke
    return shown


def send(url: str, messages: list[bytes | str], visitors: int, seconds: float) -> int:
    """Send messages, in a process of its own. If the URL is empty, they go to a server in that process."""
    return asyncio.run(
        visit_all(url, messages, visitors, seconds) if url else visit_nobody(messages, visitors, seconds)
    )


def change(server: Server, until: Callable[[], bool]) -> list[float]:
    """Change a well-behaved visitor's view again and again; return the seconds of each change, all of them answered."""
    times: list[float] = []
    with Visitor(server.url) as visitor:
        while not until():
            began = time.perf_counter()
            assert not visitor.open("tokens", f"text=a+text+{len(times)}").broke
            times.append(time.perf_counter() - began)
            time.sleep(0.03)
    return times


@pytest.fixture(scope="module")
def shown(served: Server) -> Shown:
    return open_all_pages(served)


def test_values_that_no_widget_offers_break_no_page(served: Server, shown: Shown) -> None:
    """They have the right types, so that they come to the pages, after each page was opened as usual."""
    logged = len(served.log_text())
    for number, page in enumerate(PATHS):
        with Visitor(served.url) as visitor:
            for query in ("", "source=pretrained&more=table&scale=0.5"):
                visitor.open(page, query)
                for message in well_typed(WELL_TYPED // len(PATHS) // 2, SEED + number, shown, visitor.page_hash):
                    visitor.send_raw(message)
            assert not visitor.open(page).broke, served.log_text()[logged:][-2_000:]
    log = without_streamlits_race(served.log_text()[logged:])
    assert "Traceback" not in log, log[-4_000:]


def test_values_of_the_wrong_type_harm_only_their_own_session(served: Server, shown: Shown) -> None:
    """Another visitor goes on, and the log has a line for each failure, without a traceback and without the value."""
    logged = len(served.log_text())
    with Visitor(served.url) as bystander:
        assert not bystander.open("tokens").broke
        for number, page in enumerate(PATHS):
            here = Shown()  # most of what is sent is for widgets of this page, so that the page reads it
            with Visitor(served.url, note=here.note) as visitor:
                visitor.open(page)
                for of, count in ((here, WRONGLY_TYPED), (shown, WRONGLY_TYPED_ELSEWHERE)):
                    for message in wrongly_typed(count // len(PATHS), SEED + number, of, visitor.page_hash):
                        visitor.send_raw(message)
                assert not bystander.open("tokens", f"text=a+text+{number}").broke
            with Visitor(served.url) as newcomer:
                assert not newcomer.open(page).broke
    log = without_streamlits_race(served.log_text()[logged:])
    assert "Uncaught app execution" in log  # so this is where a value would stand
    assert "Traceback" not in log, log[-4_000:]
    assert SECRET not in log


def test_only_streamlits_own_race_is_passed_over() -> None:
    """Its own code runs into it here: a widget's metadata is looked up, and the state grows."""
    state = SessionState()
    state._old_state |= {"a": 1, "b": 2}

    class Growing(dict[str, Any]):
        def get(self, *_: object) -> None:
            state._old_state["c"] = 3

    state._new_widget_state.widget_metadata = Growing()
    with pytest.raises(RuntimeError) as raised:
        SafeSessionState(state, lambda: None).on_script_finished(frozenset())
    log = f"before\nA thread ended by an exception\n{_format(raised.type, raised.tb)}\nafter"
    assert "in _reset_triggers" in log
    assert without_streamlits_race(log + log) == "before\nafter" * 2
    deeper = log.replace("RuntimeError", '  File "x.py", line 1, in f\nRuntimeError')
    for other in (log.replace("RuntimeError", "KeyError"), log.replace("_reset_triggers", "_compact_state"), deeper):
        assert without_streamlits_race(other) == other


@pytest.mark.timeout(300)
def test_400_hostile_visitors_neither_slow_others_down_nor_leak_memory(
    served: Server, shown: Shown, monkeypatch: pytest.MonkeyPatch
) -> None:
    # A spawned process runs the main module anew, and tests of pages leave a page's script in its place.
    monkeypatch.setitem(sys.modules, "__main__", ModuleType("__main__"))
    logged, counted = len(served.log_text()), figures(served)
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as processes:
        processes.submit(os.nice, 10)  # the server is before the sender where both want the processor
        messages = breaches(BREACHES, SEED, shown)
        assert processes.submit(send, served.url, messages, VISITORS, SECONDS).result() == BREACHES
        settled = figures(served)
        spent = {"elsewhere": 0.0, "here": 0.0}
        times: dict[str, list[float]] = {"elsewhere": [], "here": []}
        for number in range(ROUNDS):  # in turns: other programs slow down both alike
            part = messages[number::SHARE]
            for where in sorted(spent, reverse=number % 2 == 1):
                url = served.url if where == "here" else ""
                started = figures(served)[PROCESSOR]
                sent = processes.submit(send, url, part, VISITORS, SECONDS / SHARE)
                times[where] += change(served, sent.done)
                assert sent.result() == len(part)
                spent[where] += figures(served)[PROCESSOR] - started
    cost = spent["elsewhere"] / len(times["elsewhere"])
    hostile = (spent["here"] - len(times["here"]) * cost) / (BREACHES * ROUNDS / SHARE)
    assert hostile <= cost / 2, f"{1e3 * hostile:.1f} ms a hostile message, {1e3 * cost:.1f} ms a change"
    # Medians: what else this machine does makes single changes slow.
    without, during = median(times["elsewhere"]), median(times["here"])
    assert quantiles(times["here"], n=20)[-1] <= 10 * quantiles(times["elsewhere"], n=20)[-1]
    assert during <= 2 * without, f"{1e3 * during:.0f} ms, {1e3 * without:.0f} ms without hostile messages"
    until = time.monotonic() + 20
    while (after := figures(served))[MEMORY] > 1.05 * settled[MEMORY]:
        assert time.monotonic() < until, f"{settled[MEMORY]:.0f} bytes before, {after[MEMORY]:.0f} after"
        time.sleep(0.5)
    for why in ("count", "length", "size", "format", "purpose"):
        name = f'attnviz_refused_total{{why="message_{why}"}}'
        assert after[name] - counted.get(name, 0) >= 5, why
    log = without_streamlits_race(served.log_text()[logged:])
    assert "Traceback" not in log, log[-4_000:]
