"""Many at once: who is turned away, who is asked to wait, and what is counted."""

from __future__ import annotations

import asyncio
import sys
import time
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import psutil
import pytest
from hypothesis import given
from hypothesis import strategies as st
from prometheus_client.parser import text_string_to_metric_families
from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.types import Message, Receive, Scope, Send

from attnviz.runtime.arrays import array_store
from attnviz.runtime.cache import SingleFlightCache
from attnviz.runtime.pool import Task, WorkerPool
from attnviz.runtime.traffic import ADDRESSES, CONNECT_TIME, TOKEN_BYTES, Buckets, Traffic
from attnviz.serving import app as serving_app
from attnviz.serving.limits import Limits, SameOrigin, is_foreign
from attnviz.serving.metrics import metrics
from attnviz.settings import PUBLIC, Settings
from tests.threads import Clock, run_in_thread
from tests.unit.runtime.test_work import Result, Work
from tests.waiting import until


@given(st.lists(st.floats(0, 30), min_size=1, max_size=80), st.integers(1, 600))
def test_no_address_takes_more_than_its_capacity_and_refill(pauses: list[float], a_minute: int) -> None:
    clock = Clock()
    buckets = Buckets(a_minute, clock)
    size = max(20.0, a_minute / 4)
    taken = 0
    for pause in pauses:
        clock.now += pause
        for _ in range(30):
            wait = buckets.take("a")
            taken += not wait
            assert wait <= 60 / a_minute + 1e-6
    assert taken <= size + clock.now * a_minute / 60 + 1e-6
    clock.now += 60 / a_minute + 1e-6
    assert not buckets.take("a")
    assert not buckets.take("b")


def test_buckets_are_bounded_and_off_where_there_is_no_limit() -> None:
    buckets = Buckets(60, Clock())
    while not buckets.take("first"):
        pass
    for number in range(ADDRESSES - 1):
        buckets.take(str(number))
    assert buckets.take("first"), "its empty bucket is one of the last ADDRESSES"
    for number in range(ADDRESSES):
        buckets.take(str(number))
    assert not buckets.take("first"), "its bucket was dropped, so it starts full again"
    assert not any(Buckets(0, Clock()).take("a") for _ in range(1000))


class Inner:
    """Stands in for Streamlit: answers every request, and reads a connection until it ends."""

    def __init__(self) -> None:
        self.messages = 0

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "http":
            await send({"type": "http.response.start", "status": 200, "headers": []})
            await send({"type": "http.response.body", "body": b"shell"})
            return
        await send({"type": "websocket.accept"})
        while (await receive())["type"] != "websocket.disconnect":
            self.messages += 1


async def ask(
    app: Limits, path: str = "/", method: str = "GET", address: str = "1.1.1.1", size: str = "0"
) -> tuple[int, dict[str, str], str]:
    sent: list[Any] = []

    async def send(message: Any) -> None:
        sent.append(message)

    scope = {
        "type": "http",
        "path": path,
        "method": method,
        "headers": [(b"accept", b"text/html"), (b"content-length", size.encode())],
        "client": (address, 1),
    }
    await app(scope, lambda: asyncio.sleep(0, {"type": "http.request"}), send)
    headers = {name.decode(): value.decode() for name, value in sent[0]["headers"]}
    return sent[0]["status"], headers, b"".join(message.get("body", b"") for message in sent[1:]).decode()


async def connect(app: Limits, incoming: asyncio.Queue[str], answers: list[str], address: str = "1.1.1.1") -> None:
    async def receive() -> Any:
        return {"type": await incoming.get()}

    async def send(message: Any) -> None:
        answers.append(f"{message['type']} {message.get('status', '')}".strip())

    scope = {
        "type": "websocket", "path": "/_stcore/stream", "headers": [], "client": (address, 1),
        "extensions": {"websocket.http.response": {}},
    }  # fmt: skip
    await app(scope, receive, send)


def test_a_full_server_shows_the_busy_page_and_takes_the_next_when_one_has_gone() -> None:
    clock = Clock()
    traffic = Traffic(replace(PUBLIC, sessions=2, requests=0), clock)
    app = Limits(Inner(), traffic)

    async def visit() -> None:
        incoming = [asyncio.Queue[str]() for _ in range(3)]
        answers: list[list[str]] = [[], [], []]
        tasks = [asyncio.create_task(connect(app, incoming[at], answers[at])) for at in range(2)]
        await asyncio.sleep(0.01)
        assert answers[:2] == [["websocket.accept"]] * 2
        status, headers, page = await ask(app)
        assert (status, headers["retry-after"]) == (503, "20")
        assert "Busy just now" in page
        assert headers["cache-control"] == "no-store"
        assert (await ask(app, method="POST"))[0] == 200  # it is pages that are counted
        assert (await ask(app, "/static/app.js"))[0] == 200
        await incoming[2].put("websocket.connect")
        await connect(app, incoming[2], answers[2])
        assert answers[2][0] == "websocket.http.response.start 503"
        await incoming[0].put("websocket.disconnect")
        await tasks[0]
        assert (await ask(app))[0] == 200  # and whoever was sent this page has the place
        assert (await ask(app))[0] == 503
        clock.now += CONNECT_TIME + 1  # never came
        assert (await ask(app))[0] == 200
        await incoming[1].put("websocket.disconnect")
        await tasks[1]

    run_in_thread(visit())
    assert traffic.visitors == 0
    assert traffic.refused == {"full": 3}


def test_only_an_address_beyond_its_limit_has_to_wait() -> None:
    traffic = Traffic(replace(PUBLIC, requests=60, sessions=0), Clock())
    app = Limits(Inner(), traffic)

    async def visit() -> None:
        statuses = [(await ask(app))[0] for _ in range(30)]
        assert statuses == [200] * 20 + [429] * 10
        _, headers, page = await ask(app)
        assert headers["retry-after"] == "1"
        assert "your address" in page
        assert (await ask(app, address="2.2.2.2"))[0] == 200
        assert (await ask(app, "/healthz"))[0] == 200

    run_in_thread(visit())


def test_a_file_that_the_server_makes_counts_by_the_size_of_what_is_sent() -> None:
    clock = Clock()
    app = Limits(Inner(), Traffic(replace(PUBLIC, requests=60, sessions=0), clock))  # 20 at once, one a second

    async def visit() -> None:
        for _ in range(30):
            assert (await ask(app, "/attnviz/source-sans.txt"))[0] == 200
        assert (await ask(app, "/attnviz/pdf", "POST", size="9" * 5000))[0] == 200  # no server passes this on
        assert (await ask(app, "/attnviz/pdf", "POST", size=str(30 * TOKEN_BYTES)))[0] == 200
        status, headers, _ = await ask(app, "/attnviz/pdf", "POST")
        assert (status, headers["retry-after"]) == (429, "13")  # 1 + 1 + 30 of 20 are taken, and one more is needed
        clock.now += 13
        assert (await ask(app, "/attnviz/pdf", "POST"))[0] == 200

    run_in_thread(visit())


def test_who_asks_too_often_is_told_whole_seconds_and_rather_more() -> None:
    app = Limits(Inner(), Traffic(replace(PUBLIC, requests=40, sessions=0), Clock()))

    async def visit() -> dict[str, str]:
        return [(await ask(app))[1] for _ in range(21)][-1]

    assert run_in_thread(visit())["retry-after"] == "2"  # a token takes 1.5 s


def test_whoever_was_expected_and_has_come_is_counted_once() -> None:
    traffic = Traffic(replace(PUBLIC, sessions=2, requests=0), Clock())
    traffic.expect()
    assert traffic.enter()
    assert not traffic.full()
    assert traffic.enter()
    assert traffic.full()
    assert not traffic.enter()


def test_a_connection_is_closed_where_the_server_cannot_answer_it() -> None:
    app, answers = Limits(Inner(), Traffic(replace(PUBLIC, sessions=1, requests=0), Clock())), []
    assert app.traffic.enter()

    async def send(message: Any) -> None:
        answers.append(message)

    run_in_thread(app({"type": "websocket", "path": "/_stcore/stream", "headers": []}, None, send))
    assert answers == [{"type": "websocket.close", "code": 1013}]


def test_that_addresses_had_to_wait_is_known_of_each_for_ten_seconds() -> None:
    clock = Clock()
    traffic = Traffic(replace(PUBLIC, requests=0, changes=60), clock)
    for address in ("a", "b"):
        visitor = traffic.visitor()
        while not traffic.change(address, visitor):
            pass
        clock.now += 4.5
    assert traffic.slowed("a")
    assert traffic.slowed("b")
    clock.now += 2
    assert not traffic.slowed("a")
    assert traffic.slowed("b")
    clock.now += 4.5
    assert not traffic.slowed("b")


def test_a_large_message_is_delayed_by_its_size(monkeypatch: pytest.MonkeyPatch) -> None:
    app, waited = Limits(Inner(), Traffic(replace(PUBLIC, requests=0, sessions=0, changes=60), Clock())), []
    sent = iter(
        [{"type": "websocket.receive", "bytes": b"x" * TOKEN_BYTES * 9}] * 3 + [{"type": "websocket.disconnect"}]
    )

    async def receive() -> Any:
        return next(sent)

    async def send(_: Any) -> None:
        pass

    async def sleep(seconds: float) -> None:
        waited.append(seconds)

    monkeypatch.setattr("attnviz.serving.limits.asyncio.sleep", sleep)
    run_in_thread(app({"type": "websocket", "path": "/_stcore/stream", "headers": []}, receive, send))
    assert waited == pytest.approx([10])  # each takes ten tokens of twenty


def test_changes_beyond_the_limit_wait_and_none_is_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    inner, waited = Inner(), []
    traffic = Traffic(replace(PUBLIC, requests=60, sessions=0), Clock())
    app = Limits(inner, traffic)

    async def sleep(seconds: float) -> None:
        waited.append(seconds)

    async def visit() -> None:
        incoming = asyncio.Queue[str]()
        for _ in range(22):
            incoming.put_nowait("websocket.receive")
        incoming.put_nowait("websocket.disconnect")
        await connect(app, incoming, [])

    monkeypatch.setattr("attnviz.serving.limits.asyncio.sleep", sleep)
    run_in_thread(visit())
    assert inner.messages == 22
    assert waited == pytest.approx([1, 2, 3])  # the connection itself has taken a token
    assert traffic.slowed("1.1.1.1")
    assert not traffic.slowed("2.2.2.2")
    assert not traffic.slowed(None)


def test_a_visitor_has_a_limit_of_their_own_and_large_messages_count_for_more() -> None:
    traffic = Traffic(replace(PUBLIC, requests=0, changes=60), Clock())
    first, second = traffic.visitor(), traffic.visitor()
    assert [traffic.change("a", first) for _ in range(22)] == pytest.approx([0] * 20 + [1, 2])
    assert [traffic.change("a", second, TOKEN_BYTES * 9) for _ in range(3)] == pytest.approx([0, 0, 10])


def test_repeated_connections_are_refused() -> None:
    traffic = Traffic(replace(PUBLIC, requests=60, sessions=0), Clock())
    app = Limits(Inner(), traffic)

    async def visit() -> None:
        for _ in range(25):
            incoming = asyncio.Queue[str]()
            incoming.put_nowait("websocket.disconnect")
            await connect(app, incoming, [])

    run_in_thread(visit())
    assert traffic.refused == {"address": 5}


def test_uploads_are_refused_where_they_are_off() -> None:
    for limits, status in ((PUBLIC, 403), (Settings(), 200)):
        app = Limits(Inner(), Traffic(limits, Clock()))
        for path in ("/_stcore/upload_file/s/f", "/base/_stcore/upload_file/s/f", "/_stcore/upload_file/static/f"):
            assert run_in_thread(ask(app, path, "PUT"))[0] == status


def test_a_server_is_ready_once_its_model_is_loaded_and_until_it_is_full(monkeypatch: pytest.MonkeyPatch) -> None:
    traffic, preload = Traffic(Settings(sessions=1)), SimpleNamespace(is_done=False)
    monkeypatch.setattr(serving_app, "traffic", lambda: traffic)
    monkeypatch.setattr(serving_app, "_preload", preload)

    def answers() -> list[tuple[int, bytes]]:
        found = [
            run_in_thread(route(Request({"type": "http"}))) for route in (serving_app.health, serving_app.readiness)
        ]
        return [(response.status_code, bytes(response.body)) for response in found]

    assert answers() == [(503, b"loading\n")] * 2
    preload.is_done = True
    assert answers() == [(200, b"ok\n")] * 2
    traffic.enter()
    assert answers() == [(200, b"ok\n"), (503, b"full\n")], "its visitors are served, and no others"


def test_metrics_are_in_prometheus_own_format(monkeypatch: pytest.MonkeyPatch) -> None:
    traffic = Traffic(Settings())
    traffic.responses[200] += 3
    traffic.sent_arrays("a", 200, 5)
    array_store().offer(("metered",), bytes)
    traffic.refused["full"] += 1
    for _ in range(4):
        traffic.enter()
    for _ in range(5):
        traffic.change("a", traffic.visitor())
    cache = SingleFlightCache[Result]("metered", 10, WorkerPool(1))
    cache.get(1, lambda: Result(7))
    pool, work = WorkerPool(1), Work()
    for number in range(1, 7):
        pool.submit(Task(), Result if number <= 3 else work)
    until(lambda: pool.counts() == (1, 2, 3))
    monkeypatch.setattr("attnviz.serving.metrics.worker_pool", lambda: pool)
    families = list(text_string_to_metric_families(metrics(traffic, ready=True).decode()))
    samples = {(one.name, *one.labels.values()): one.value for family in families for one in family.samples}
    assert samples["attnviz_http_requests_total", "200"] == 3
    assert samples["attnviz_refused_total", "full"] == 1
    assert (samples["attnviz_arrays_total", "200"], samples[("attnviz_array_bytes_total",)]) == (1, 5)
    assert samples["attnviz_cache_entries", "array_offers"] >= 1
    work.let_go.set()
    assert samples[("attnviz_ready",)] == 1
    assert (samples[("attnviz_sessions",)], samples[("attnviz_runs_total",)]) == (4, 5)
    passes = [samples[(f"attnviz_passes{kind}",)] for kind in ("_running", "_waiting", "_total")]
    assert passes == [1, 2, 3]
    assert (samples["attnviz_cache_entries", "metered"], samples["attnviz_cache_bytes", "metered"]) == (1, 7)
    if sys.platform == "linux":
        held = psutil.Process().memory_info().rss
        assert samples[("process_resident_memory_bytes",)] == pytest.approx(held, rel=0.2)
        assert samples[("process_cpu_seconds_total",)] == pytest.approx(time.process_time(), rel=0.2)


STREAM = {"type": "websocket", "path": "/_stcore/stream", "headers": []}


@pytest.mark.parametrize(("origin", "host", "foreign"), [
    (None, "a.example", False),
    ("https://a.example", "a.example", False),
    ("http://A.example:8501", "a.example:8501", False),
    ("http://[::1]:8501", "[::1]:8501", False),
    ("https://evil.example", "a.example", True),
    ("https://a.example@evil.example", "a.example", True),
    ("http://localhost:3000", "localhost:8501", True),
    ("http://a.example:8501", "a.example", True),
    ("https://a.example", None, True),
    ("http://[", "[", True),
    ("null", "a.example", True),
    ("", "a.example", True),
])  # fmt: skip
def test_which_pages_are_foreign(origin: str | None, host: str | None, foreign: bool) -> None:
    headers = {name: value for name, value in (("origin", origin), ("host", host)) if value is not None}
    assert is_foreign(Headers(headers)) is foreign


def test_a_foreign_pages_websocket_is_refused_before_it_opens() -> None:
    traffic, answers, asked = Traffic(PUBLIC), [], []

    async def inner(scope: Scope, receive: Receive, send: Send) -> None:
        asked.append(scope)

    async def send(message: Message) -> None:
        answers.append(message)

    app = SameOrigin(inner, traffic)
    headers = [(b"host", b"a.example"), (b"origin", b"https://evil.example")]
    run_in_thread(app({**STREAM, "headers": headers}, None, send))
    assert answers == [{"type": "websocket.close", "code": 1008}]
    assert traffic.refused == {"origin": 1}
    assert not asked
    run_in_thread(app({**STREAM, "headers": headers[:1]}, None, send))
    assert len(asked) == 1


@pytest.mark.parametrize(
    ("method", "origin", "is_served"),
    [("POST", "https://evil.example", False), ("POST", "null", False), ("POST", "https://a.example", True),
     ("POST", None, True), ("GET", "https://evil.example", True)],
)  # fmt: skip
def test_only_our_own_pages_can_make_the_server_write_a_file(method: str, origin: str | None, is_served: bool) -> None:
    served: list[Scope] = []
    answers: list[Message] = []
    traffic = Traffic(PUBLIC)

    async def inner(scope: Scope, _receive: Receive, _send: Send) -> None:
        served.append(scope)

    async def send(message: Message) -> None:
        answers.append(message)

    headers = [(b"host", b"a.example"), *([(b"origin", origin.encode())] if origin else [])]
    scope = {"type": "http", "method": method, "path": "/attnviz/pdf", "headers": headers}
    run_in_thread(SameOrigin(inner, traffic)(scope, None, send))
    assert len(served) == is_served
    assert [message.get("status") for message in answers] == ([] if is_served else [403, None])
    assert traffic.refused == ({} if is_served else {"origin": 1})
