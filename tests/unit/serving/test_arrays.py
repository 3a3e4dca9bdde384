"""Arrays as browsers request them: what a request takes, and the answer if an array can't be made."""

from __future__ import annotations

import threading
from dataclasses import replace
from typing import Any

import pytest
from starlette.applications import Starlette
from starlette.routing import Route
from starlette.testclient import TestClient

from attnviz.runtime.arrays import ArrayStore, UnmakeableError
from attnviz.runtime.pool import WorkerPool
from attnviz.runtime.traffic import ARRAY_TOKEN_BYTES, Traffic
from attnviz.serving.arrays import PATH, QUEUE_ROUTE, Arrays, queue
from attnviz.serving.limits import Limits
from attnviz.settings import PUBLIC
from tests.threads import run_in_thread
from tests.unit.serving.test_limits import Clock, Inner, ask
from tests.waiting import until


def test_arrays_count_as_requests_and_by_their_bytes() -> None:
    """A request takes a token, and what is sent takes more afterwards, which the next request has to wait for."""

    class Arrays(Inner):
        async def __call__(self, _scope: Any, _receive: Any, send: Any) -> None:
            size = str(8 * ARRAY_TOKEN_BYTES + 1).encode()
            await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", size)]})
            await send({"type": "http.response.body", "body": b"..."})

    clock = Clock()
    traffic = Traffic(replace(PUBLIC, requests=60, sessions=0), clock)
    app, path = Limits(Arrays(), traffic), "/attnviz/arrays/abc"

    async def visit() -> None:
        assert [(await ask(app, path))[0] for _ in range(4)] == [200, 200, 200, 429]  # 20 tokens, and 3 times 9
        _, headers, _ = await ask(app, path)
        assert headers["retry-after"] == "8"  # 7 are owed
        assert (await ask(app, path, address="2.2.2.2"))[0] == 200
        assert (await ask(app, "/attnviz/plotly.js"))[0] == 200
        clock.now += 8
        assert (await ask(app, path))[0] == 200

    run_in_thread(visit())
    assert traffic.refused == {"address": 2}
    assert traffic.arrays == {200: 5, 429: 2}
    assert traffic.array_bytes == 5 * (8 * ARRAY_TOKEN_BYTES + 1)


def test_why_something_can_not_be_made_is_the_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    def make() -> bytes:
        raise UnmakeableError("The text has too many tokens.")

    offered = ArrayStore(WorkerPool(2))
    digest = offered.offer(("key",), make)
    monkeypatch.setattr("attnviz.serving.arrays.array_store", lambda: offered)
    client = TestClient(Arrays(Starlette()))
    answer = client.get(f"{PATH}{digest}")
    assert (answer.status_code, answer.text) == (422, "The text has too many tokens.")
    assert answer.headers["cache-control"] == "no-store"
    assert answer.headers["content-type"].startswith("text/plain")
    assert client.get(f"{PATH}nothing").status_code == 404


@pytest.mark.parametrize(("accepted", "encoding"), [("br, gzip", "gzip"), ("identity", "identity")])
def test_a_browser_that_reads_no_gzip_gets_none(monkeypatch: pytest.MonkeyPatch, accepted: str, encoding: str) -> None:
    offered = ArrayStore(WorkerPool(1))
    digests = [offered.offer((number,), lambda: b"made", compress=number == 1) for number in (0, 1)]
    monkeypatch.setattr("attnviz.serving.arrays.array_store", lambda: offered)
    client = TestClient(Arrays(Starlette()))
    for digest, sent_as in zip(digests, ("identity", encoding), strict=True):
        answer = client.get(f"{PATH}{digest}", headers={"accept-encoding": accepted})
        assert (answer.content, answer.headers["content-encoding"]) == (b"made", sent_as)
        assert answer.headers["vary"] == "Accept-Encoding"
        assert answer.headers["cache-control"] == "private, max-age=31536000, immutable"
    assert client.post(f"{PATH}{digests[0]}").status_code == client.get("/other").status_code == 404


def test_who_waits_for_an_array_is_told_how_many_are_ahead(monkeypatch: pytest.MonkeyPatch) -> None:
    pool, let_go = WorkerPool(1), threading.Event()
    offered = ArrayStore(pool)
    digests = [offered.offer((number,), lambda: b"made" * let_go.wait(30)) for number in range(3)]
    monkeypatch.setattr("attnviz.serving.arrays.array_store", lambda: offered)
    requests = [offered.request(digest) for digest in digests]
    until(lambda: pool.counts() == (1, 2, 0))
    client = TestClient(Starlette(routes=[Route(QUEUE_ROUTE, queue)]))
    answers = [client.get(f"/attnviz/queue/{digest}") for digest in (*digests, "unknown")]
    let_go.set()
    assert [answer.text for answer in answers] == ["", "1 text is before yours …", "2 texts are before yours …", ""]
    assert {answer.headers["cache-control"] for answer in answers} == {"no-store"}
    assert [request.result(30).data for request in requests] == [b"made"] * 3
