"""Pages of other sites: their requests and websockets are refused."""

from __future__ import annotations

import pytest
from starlette.datastructures import Headers
from starlette.types import Message, Receive, Scope, Send

from attnviz.runtime.traffic import Traffic
from attnviz.serving.origins import SameOrigin, is_foreign
from attnviz.settings import PUBLIC
from tests.threads import run_in_thread

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
