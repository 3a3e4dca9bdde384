"""Many at once: sessions of mixed use against `python -m attnviz serve`, and against the plain app as one starts it.

Four fifths of the changes are steps, heads and layers; one fifth is a text that nobody has typed before, for MiniLM.
Everybody thinks for two seconds on average. A change lasts as long as a browser waits for the server: steps, heads and
layers that it has take no time, and are sent with the next text. A layer that it does not have takes as long as its
document. A text takes until the run has ended and the document of its layer has come. Who then looks at it for a second
has the browser fetch the next layer, which nobody waits for, if it came to this one from another layer of the text.
"""

from __future__ import annotations

import asyncio
import json
import math
import random
import sys
import tempfile
import time
import urllib.request
from collections import Counter, OrderedDict
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from multiprocessing import get_context
from pathlib import Path
from statistics import median
from typing import Any
from urllib.parse import urlencode, urlsplit

import httpx2
import psutil
import websockets
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from streamlit.proto.WidgetStates_pb2 import WidgetState, WidgetStates

from attnviz.steps import STEPS
from bench.apps import PLAIN_SCRIPT
from bench.table import Row
from bench.texts import fresh_text
from tests.browser.server import Server, free_port, launch, start
from tests.payloads import read_payload
from tests.safety.hostile import breaches
from tests.safety.test_hostile import open_all_pages, send

TIMEOUT = 180.0
"""Seconds after which a run counts as failed"""
REMEMBERED = 50
"""Messages that a browser keeps, so that the server need not send them again"""
FINE = {ForwardMsg.FINISHED_SUCCESSFULLY, ForwardMsg.FINISHED_FRAGMENT_RUN_SUCCESSFULLY}
INTERNAL = "$$STREAMLIT_INTERNAL_KEY"


@dataclass(frozen=True)
class Widget:
    """A widget that the server has put on the page."""

    id: str
    kind: str
    fragment: str
    options: tuple[str, ...]


@dataclass
class Visitor:
    """A session without a browser: what it was shown, what it has set, and what went wrong.

    It speaks Streamlit's protocol, as its frontend does.
    """

    url: str
    widgets: dict[str, Widget] = field(default_factory=dict)
    """By their key; where they have none, by their label"""
    values: dict[str, WidgetState] = field(default_factory=dict)
    shown: Counter[str] = field(default_factory=Counter)
    """Kinds of elements that came in the last run"""
    wrong: Counter[str] = field(default_factory=Counter)
    received: int = 0
    sent: dict[str, bytes] = field(default_factory=dict)
    """What each browser component was sent last, by its key"""
    unsent: dict[str, Any] = field(default_factory=dict)
    """What it has chosen in the walk, by link key, that the server does not know yet"""
    fetched: set[str] = field(default_factory=set)
    """The digests that it has requested: a browser keeps what it has"""
    way: int = 0
    """How it goes through the layers of its text: 1 up, -1 down, 0 not at all"""
    _page: str = ""
    _query: str = ""
    _known: OrderedDict[str, ForwardMsg] = field(default_factory=OrderedDict)

    async def connect(self) -> None:
        """Open the page's websocket."""
        at = urlsplit(self.url)
        self._query = at.query
        # The server closes a connection after 5 s of rest. A browser that has just sent on it sends again; httpx fails.
        limits = httpx2.Limits(keepalive_expiry=4)
        self._http = httpx2.AsyncClient(base_url=f"http://{at.netloc}", timeout=TIMEOUT, limits=limits)
        self._socket = await websockets.connect(
            f"ws://{at.netloc}/_stcore/stream", subprotocols=[websockets.Subprotocol("streamlit")],
            origin=websockets.Origin(f"http://{at.netloc}"), max_size=None, compression=None, ping_interval=None,
            open_timeout=TIMEOUT, proxy=None,
        )  # fmt: skip

    async def close(self) -> None:
        """Leave."""
        await self._http.aclose()
        await self._socket.close()

    async def fetch(self, digest: str) -> float:
        """Request what is offered under a digest, unless it is here, and return the ms that it took."""
        if digest in self.fetched:
            return 0.0
        begun = time.perf_counter()
        answer = await self._http.get(f"/attnviz/arrays/{digest}")
        if answer.status_code != 200:
            self.wrong[f"arrays: status {answer.status_code}"] += 1
        self.fetched.add(digest)
        return (time.perf_counter() - begun) * 1e3

    async def load(self) -> float:
        """Have the whole page run, and return the ms that it took."""
        return await self._run(BackMsg())

    async def choose(self, name: str, number: int) -> float:
        """Choose an option of a select box or of a row of buttons, by its number."""
        widget = self.widgets[name]
        option = widget.options[number % len(widget.options)]
        state = WidgetState(id=widget.id)
        if widget.kind == "button_group":
            state.string_array_value.data.append(option)
        else:
            state.string_value = option
        return await self._change(widget, state)

    async def write(self, name: str, text: str, *, also: WidgetState | None = None) -> float:
        """Type into a text area; `also` is an event that the browser sends in the same message."""
        widget = self.widgets[name]
        return await self._change(widget, WidgetState(id=widget.id, string_value=text), also)

    def event(self, name: str, event: str, value: Any) -> WidgetState:
        """Return an event of a browser component, as setTriggerValue sends it."""
        news = json.dumps([{"event": event, "value": value}])
        return WidgetState(id=f"{INTERNAL}_{self.widgets[name].id}__events", json_trigger_value=news)

    async def _change(self, widget: Widget, state: WidgetState, also: WidgetState | None = None) -> float:
        message = BackMsg()
        message.rerun_script.fragment_id = widget.fragment
        self.values[widget.id] = state
        if also is not None:
            message.rerun_script.widget_states.widgets.append(also)
        return await self._run(message)

    async def _run(self, message: BackMsg) -> float:
        """Ask for a run, and return the ms until it has ended."""
        asked = message.rerun_script
        asked.query_string, asked.page_script_hash = self._query, self._page
        if not self._page:
            asked.page_name = urlsplit(self.url).path.strip("/")
        asked.widget_states.MergeFrom(WidgetStates(widgets=self.values.values()))
        asked.cached_message_hashes.extend(self._known)
        self.shown.clear()
        begun = time.perf_counter()
        await self._socket.send(message.SerializeToString())
        while not self._take(await asyncio.wait_for(self._socket.recv(), TIMEOUT)):
            pass
        return (time.perf_counter() - begun) * 1e3

    def _take(self, raw: bytes | str) -> bool:
        """Take a message, and say whether it is the run's last."""
        assert isinstance(raw, bytes)
        self.received += len(raw)
        message = ForwardMsg.FromString(raw)
        kind = message.WhichOneof("type")
        if kind == "ref_hash":
            if message.ref_hash not in self._known:
                self.wrong["a reference to a message that never came"] += 1
                return False
            self._known.move_to_end(message.ref_hash)
            self._see(self._known[message.ref_hash])
        elif kind == "new_session":
            self._page = self._page or message.new_session.page_script_hash
        elif kind == "navigation":
            self._page = message.navigation.page_script_hash
        elif kind == "page_info_changed":
            self._query = message.page_info_changed.query_string
        elif kind == "delta":
            self._see(message)
            if message.metadata.cacheable and message.hash:
                self._known[message.hash] = message
                if len(self._known) > REMEMBERED:
                    self._known.popitem(last=False)
        elif kind == "script_finished":
            if message.script_finished == ForwardMsg.FINISHED_EARLY_FOR_RERUN:
                return False
            if message.script_finished not in FINE:
                self.wrong[ForwardMsg.ScriptFinishedStatus.Name(message.script_finished)] += 1
            return True
        return False

    def _see(self, message: ForwardMsg) -> None:
        """Note what a message puts on the page."""
        if message.delta.WhichOneof("type") != "new_element":
            return
        element = message.delta.new_element
        kind = element.WhichOneof("type") or ""
        self.shown[kind] += 1
        inner = getattr(element, kind, None)
        if kind == "exception":
            self.wrong[f"{inner.type}: {inner.message[:80]}"] += 1
        identity = getattr(inner, "id", "")
        if identity:
            options = tuple(str(getattr(option, "content", option)) for option in getattr(inner, "options", ()))
            name = _key(identity) or getattr(inner, "label", "")
            if kind == "bidi_component":
                self.sent[name] = inner.bytes
            self.widgets[name] = Widget(identity, kind, message.delta.fragment_id, options)
            if getattr(inner, "set_value", False):
                self.values.pop(identity, None)


def _key(identity: str) -> str:
    """Return the key that the app gave a widget, from its identity `$$ID-<digest>-<key or None>`."""
    parts = identity.split("-", 2)
    return parts[2] if identity.startswith("$$ID") and len(parts) == 3 and parts[2] != "None" else ""


THINK = 2.0
"""Seconds between one's changes, on average"""
REST = 1.0
"""Seconds after which a browser fetches the next layer: see frontend/walk/loading.ts"""
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
    if kind == "layer":
        before = _layers(visitor)[1]
        visitor.way = (value > before) - (value < before) or visitor.way
    visitor.unsent[kind] = value
    return await fetch_layer(visitor)


async def write_ours(visitor: Visitor) -> float:
    """Type a new text; what was chosen before it is in the same message."""
    also = None
    if visitor.unsent:
        also = visitor.event("walk", "updates", {"number": time.time_ns() // 10**6, "values": visitor.unsent})
        visitor.unsent = {}
    visitor.way = 0
    return await visitor.write("text", new_text(), also=also) + await fetch_layer(visitor)


async def fetch_layer(visitor: Visitor) -> float:
    """Fetch the document of the chosen layer, and return the ms that it took."""
    documents, layer = _layers(visitor)
    return await visitor.fetch(documents[layer])


async def fetch_next(visitor: Visitor) -> None:
    """Fetch the document of the next layer, if the visitor goes through the layers of this text."""
    documents, layer = _layers(visitor)
    if visitor.way and 0 <= layer + visitor.way < len(documents):
        await visitor.fetch(documents[layer + visitor.way])


def _layers(visitor: Visitor) -> tuple[list[str], int]:
    """Return the digests of all layers' documents, and the number of the chosen layer."""
    header, _ = read_payload(visitor.sent["walk"])
    return header["documents"], visitor.unsent.get("layer", header["values"]["layer"])


async def think(visitor: Visitor, seconds: float, *, ours: bool) -> None:
    """Look at the page; after a while its browser fetches what may come next."""
    if ours and seconds > REST:
        await asyncio.sleep(REST)
        await fetch_next(visitor)
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
