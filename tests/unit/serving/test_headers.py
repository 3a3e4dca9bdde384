"""What every answer carries: the cookie with the replica's name, which under TLS is sent over TLS alone."""

from __future__ import annotations

from http.cookies import SimpleCookie
from typing import Any

import pytest

from attnviz.serving.http.headers import REPLICA_COOKIE, SafeHeaders
from tests.threads import run_in_thread


async def cookies(scope: dict[str, Any]) -> list[str]:
    """Return the cookies that are set with the answer to a request."""
    sent: list[Any] = []

    async def page(scope: Any, _receive: Any, send: Any) -> None:
        if scope["type"] == "http":
            await send({"type": "http.response.start", "status": 200, "headers": [(b"content-type", b"text/html")]})
        else:
            await send({"type": "websocket.accept"})

    async def send(message: Any) -> None:
        sent.append(message)

    async def receive() -> Any:
        return {}

    await SafeHeaders(page, replica="a1")(scope, receive, send)
    return [value.decode() for name, value in sent[0]["headers"] if name == b"set-cookie"]


@pytest.mark.parametrize(
    ("kind", "scheme", "secure"),
    [("http", "http", False), ("http", "https", True), ("websocket", "ws", False), ("websocket", "wss", True)],
)
def test_the_cookie_is_for_tls_alone_where_the_page_came_by_tls(kind: str, scheme: str, *, secure: bool) -> None:
    (header,) = run_in_thread(cookies({"type": kind, "scheme": scheme, "path": "/", "headers": []}))
    cookie = SimpleCookie(header)[REPLICA_COOKIE]
    assert cookie.value == "a1"
    assert bool(cookie["secure"]) is secure
    assert cookie["httponly"]
    assert cookie["samesite"] == "Lax"
