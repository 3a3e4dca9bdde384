"""Many at once: sessions of mixed use against `python -m attnviz serve`, and against the plain app as one starts it.

Four fifths of the changes are steps, heads and layers; one fifth is a text that nobody has typed before, for MiniLM.
Everybody thinks for two seconds on average. A change lasts as long as a browser waits for the server: steps, heads and
layers that it has take no time, and are sent with the next text. A layer that it does not have takes as long as its
document. A text takes until the run has ended and the document of its layer has come. Who then looks at it for a second
has the browser fetch the neighbouring layers, which nobody waits for.
"""

from __future__ import annotations

import asyncio
import math
import random
import sys
import tempfile
import time
import urllib.request
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from multiprocessing import get_context
from pathlib import Path
from statistics import median
from urllib.parse import urlencode

import psutil

from attnviz.steps import STEPS
from bench.apps import PLAIN_SCRIPT
from bench.load_session import Visitor
from bench.table import Row
from bench.texts import fresh_text
from tests.browser.server import Server, free_port, launch, start
from tests.payloads import read_payload
from tests.safety.hostile import breaches
from tests.safety.test_hostile import open_all_pages, send

THINK = 2.0
"""Seconds between one's changes, on average"""
REST = 1.0
"""Seconds after which a browser fetches the neighbouring layers: see frontend/walk/loading.ts"""
NEW_TEXTS = 0.2
"""The share of changes that are a text which nobody has typed before"""
TOKENS = 16
SECONDS = 40
"""How long the sessions work, after all of them have opened the page"""
ARRIVALS = 8
"""Visitors a second who open the page"""
COUNTS = (10, 100, 300)
ATTENTION = list(STEPS)[1:]
"""The steps after the tokens"""
ENTRANCE = "/?" + urlencode({"source": "pretrained", "step": "weights", "text": "The lamp is out, but he climbs."})
ORDINARY, HOSTILE, MESSAGES, ATTACKED = 10, 400, 1_700, 30.0
"""Ordinary and hostile visitors, the messages of the latter, and how many seconds the former work meanwhile"""


@dataclass
class Figures:
    """What one load has measured."""

    changes: list[float] = field(default_factory=list)
    """ms"""
    texts: list[float] = field(default_factory=list)
    """ms; of the changes, those that were a new text"""
    wrong: Counter[str] = field(default_factory=Counter)
    cpu: float = 0.0
    """ms of processor time of the server's processes for a change"""
    megabytes: float = 0.0
    """Memory of the server's processes while all were there"""

    def p95(self) -> float:
        """Return the time within which 19 of 20 changes were done, in ms."""
        return percentile(self.changes, 95)


def percentile(series: Sequence[float], percent: float) -> float:
    """Return the smallest value that so many percent of a series do not exceed; NaN of none."""
    ordered = sorted(series)
    return ordered[max(0, math.ceil(len(ordered) * percent / 100) - 1)] if ordered else float("nan")


async def act_ours(visitor: Visitor, chance: random.Random) -> float:
    """Go to another step, head or layer."""
    kind = chance.choice(("step", "head", "head", "layer"))
    value = {"head": chance.randrange(12), "layer": chance.randrange(6), "step": chance.choice(ATTENTION)}[kind]
    visitor.unsent[kind] = value
    return await fetch_layer(visitor)


async def write_ours(visitor: Visitor) -> float:
    """Type a new text; what was chosen before it is in the same message."""
    also = None
    if visitor.unsent:
        also = visitor.event("walk", "updates", {"number": time.time_ns() // 10**6, "values": visitor.unsent})
        visitor.unsent = {}
    return await visitor.write("text", new_text(), also=also) + await fetch_layer(visitor)


async def fetch_layer(visitor: Visitor, beside: int = 0) -> float:
    """Fetch the document of the chosen layer, or of one beside it, if there is one, and return the ms that it took."""
    header, _ = read_payload(visitor.sent["walk"])
    documents = header["documents"]
    layer = visitor.unsent.get("layer", header["values"]["layer"]) + beside
    return await visitor.fetch(documents[layer]) if 0 <= layer < len(documents) else 0.0


async def think(visitor: Visitor, seconds: float, *, ours: bool) -> None:
    """Look at the page; after a while its browser fetches what may come next."""
    if ours and seconds > REST:
        await asyncio.sleep(REST)
        for beside in (1, -1):
            await fetch_layer(visitor, beside)
        seconds -= REST
    await asyncio.sleep(seconds)


async def act_plain(visitor: Visitor, chance: random.Random) -> float:
    """Go to another head or layer."""
    name, count = chance.choice((("Layer", 6), ("Head", 12)))
    return await visitor.choose(name, chance.randrange(count))


@dataclass(frozen=True)
class Crowd:
    """Whom to send against which app."""

    url: str
    ours: bool
    count: int
    seconds: float

    def measure(self, server: psutil.Process) -> Figures:
        """Let everybody open the page, then work, and return what was measured."""
        return asyncio.run(self._measure(server))

    async def _measure(self, server: psutil.Process) -> Figures:
        figures = Figures()
        first = Visitor(self.url)  # whoever comes first has the plain app load its model: with ten at once, that fails
        await first.connect()
        await first.load()
        await first.close()
        visitors = [Visitor(self.url) for _ in range(self.count)]
        await asyncio.gather(*(self._arrive(visitor, at, figures) for at, visitor in enumerate(visitors)))
        began, until = cpu(server), time.monotonic() + self.seconds
        await asyncio.gather(*(self._work(visitor, at, until, figures) for at, visitor in enumerate(visitors)))
        figures.cpu = (cpu(server) - began) * 1e3 / max(1, len(figures.changes))
        figures.megabytes = memory(server) / 1e6
        await asyncio.gather(*(visitor.close() for visitor in visitors), return_exceptions=True)
        for visitor in visitors:
            figures.wrong += visitor.wrong
        return figures

    async def _arrive(self, visitor: Visitor, at: int, figures: Figures) -> None:
        await asyncio.sleep(at / ARRIVALS)
        with _noting(figures.wrong):
            await visitor.connect()
            await visitor.load()

    async def _work(self, visitor: Visitor, at: int, until: float, figures: Figures) -> None:
        chance = random.Random(at)
        with _noting(figures.wrong):
            while True:
                seconds = chance.expovariate(1 / THINK)
                await think(visitor, min(seconds, max(0.0, until - time.monotonic())), ours=self.ours)
                if time.monotonic() >= until:
                    return
                if chance.random() < NEW_TEXTS:
                    ms = await (write_ours(visitor) if self.ours else visitor.write("Text", new_text()))
                    figures.texts.append(ms)
                else:
                    ms = await (act_ours if self.ours else act_plain)(visitor, chance)
                figures.changes.append(ms)
                expected = "bidi_component" if self.ours else "plotly_chart"
                if not visitor.shown[expected]:
                    visitor.wrong[f"an answer without a {expected}"] += 1


@contextmanager
def _noting(wrong: Counter[str]) -> Iterator[None]:
    """Count what goes wrong: under load, everything may."""
    try:
        yield
    except Exception as error:
        wrong[f"{type(error).__name__}: {str(error)[:100]}"] += 1


_numbers = iter(range(10**9))


def new_text() -> str:
    """Return a text of some `TOKENS` tokens that nobody has asked for before."""
    return f"{next(_numbers)} {fresh_text(TOKENS - 3)}"


@contextmanager
def served(ours: bool) -> Iterator[Server]:
    """Start one of the two apps, and wait until it serves with its model loaded."""
    with tempfile.TemporaryDirectory() as empty:
        if ours:
            port = free_port()
            server = launch(
                ["attnviz", "serve", "--port", str(port)], port, env={"ATTNVIZ_REQUESTS": "0", "ATTNVIZ_CHANGES": "0"}
            )
        else:
            server = start(PLAIN_SCRIPT, cwd=Path(empty), options=("--browser.gatherUsageStats", "false"))
        try:
            server.wait(300)
            if ours:
                _loaded(server)
            yield server
        finally:
            server.stop()
            server.log.unlink()


def _loaded(server: Server) -> None:
    for _ in range(1500):
        try:
            with urllib.request.urlopen(f"{server.url}/metrics", timeout=5) as figures:
                metrics = figures.read().decode()
        except OSError:
            metrics = ""
        if "attnviz_ready 1.0\n" in metrics:
            return
        time.sleep(0.2)
    raise RuntimeError(f"the model did not load:\n{server.log_text()}")


def measure(*, ours: bool, count: int, seconds: float = SECONDS) -> Figures:
    """Measure one crowd against a server of its own."""
    with served(ours) as server:
        url = server.url + (ENTRANCE if ours else "/")
        figures = Crowd(url, ours, count, seconds).measure(psutil.Process(server.process.pid))
    sys.stderr.write(
        f"{'attnviz' if ours else 'the plain app'}, {count} sessions: {len(figures.changes)} changes, "
        f"p50 {median(figures.changes or [0]):.0f} ms, p95 {figures.p95():.0f} ms, new texts p95 "
        f"{percentile(figures.texts, 95):.0f} ms, {figures.cpu:.1f} ms of processor a change, "
        f"{figures.megabytes:.0f} MB, wrong: {dict(figures.wrong) or 'nothing'}\n"
    )
    return figures


def rows(counts: Sequence[int] = COUNTS, seconds: float = SECONDS) -> Iterator[Row]:
    """Measure every crowd, and the plain app with ten."""
    plain = measure(ours=False, count=10, seconds=seconds).p95() if 10 in counts else 0.0
    for count in counts:
        found = measure(ours=True, count=count, seconds=seconds)
        limit = {10: 0.1, 100: 60, 300: 300}.get(count)
        within = f"{count} sessions, mixed use: 19 of 20 changes within"
        # The peer is always the plain app with ten: it says how fast the machine was in this run.
        yield Row(within, plain, found.p95(), limit, alone=count != 10)
        yield Row(f"{count} sessions: 19 of 20 new texts within", 0.0, percentile(found.texts, 95), None)
        yield Row(f"{count} sessions: errors", 0.0, sum(found.wrong.values()), 0, unit="", alone=True)
        yield Row(f"{count} sessions: processor a change", 0.0, found.cpu, 6 if count == 100 else None)
        yield Row(
            f"{count} sessions: memory", 0.0, found.megabytes, 1000 if count == 100 else None, unit="MB", alone=True
        )


def hostile_rows() -> Iterator[Row]:
    """Measure ordinary visitors without the attack and during it, against one server."""
    with served(ours=True) as server, ProcessPoolExecutor(1, mp_context=get_context("spawn")) as processes:
        messages = breaches(MESSAGES, 11, open_all_pages(server))
        process = psutil.Process(server.process.pid)

        def measure() -> Figures:
            return Crowd(server.url + ENTRANCE, True, ORDINARY, ATTACKED).measure(process)

        measure()  # the first visitors of each page wait for imports
        without = measure()
        attack = processes.submit(send, server.url, messages, HOSTILE, ATTACKED)
        during = measure()
        attack.result()
    yield Row(
        f"{ORDINARY} visitors, p95 while {HOSTILE} hostile ones send (peer: without them)",
        without.p95(),
        during.p95(),
        2,
    )
    yield Row("the same: errors", 0.0, sum(during.wrong.values()), 0, unit="", alone=True)


def memory(server: psutil.Process) -> int:
    """Return its resident memory in bytes."""
    return int(server.memory_info().rss)


def cpu(server: psutil.Process) -> float:
    """Return the seconds of processor time that it has used."""
    times = server.cpu_times()
    return float(times.user + times.system)
