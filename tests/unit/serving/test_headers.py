"""What every answer carries: the cookie with the replica's name, which under TLS is sent over TLS alone."""

from __future__ import annotations

from http.cookies import SimpleCookie
from typing import Any

import pytest

from attnviz.serving.headers import REPLICA_COOKIE, SafeHeaders, content_policy, safe_headers
from tests.threads import run_in_thread


async def headers_of(scope: dict[str, Any], media: bytes = b"text/html; charset=utf-8") -> list[tuple[bytes, bytes]]:
    """Return the headers of the answer to a request, which is of this media type."""
    sent: list[Any] = []

    async def page(scope: Any, _receive: Any, send: Any) -> None:
        if scope["type"] == "http":
            await send({"type": "http.response.start", "status": 200, "headers": [(b"content-type", media)]})
        else:
            await send({"type": "websocket.accept"})

    async def send(message: Any) -> None:
        sent.append(message)

    async def receive() -> Any:
        return {}

    await SafeHeaders(page, replica="a1")(scope, receive, send)
    headers: list[tuple[bytes, bytes]] = sent[0]["headers"]
    return headers


async def cookies(scope: dict[str, Any], media: bytes = b"text/html; charset=utf-8") -> list[str]:
    """Return the cookies that are set with the answer to a request."""
    return [value.decode() for name, value in await headers_of(scope, media) if name == b"set-cookie"]


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


@pytest.mark.parametrize(
    ("path", "cache"),
    [("/_stcore/bidi-components/attnviz.main/main.js", [b"no-cache"]), ("/static/app.js", []),
     ("/some/where/_stcore/bidi-components/attnviz.main/main.js", [b"no-cache"])],
)  # fmt: skip
def test_no_proxy_keeps_the_script_that_loads_the_others(path: str, cache: list[bytes]) -> None:
    scope = {"type": "http", "scheme": "http", "path": path, "headers": []}
    headers = run_in_thread(headers_of(scope, b"text/javascript"))
    assert [value for name, value in headers if name == b"cache-control"] == cache


def test_only_pages_and_websockets_set_the_cookie() -> None:
    scope = {"type": "http", "scheme": "http", "path": "/static/app.js", "headers": []}
    assert run_in_thread(cookies(scope, b"text/javascript")) == []
    assert len(run_in_thread(cookies(scope))) == 1


@pytest.mark.parametrize(
    ("sites", "old"),
    [((), None), (("'none'",), "DENY"), (("'self'",), "SAMEORIGIN"), (("'self'", "https://a.example"), None)],
)
def test_who_may_frame_the_app(sites: tuple[str, ...], old: str | None) -> None:
    """X-Frame-Options (RFC 7034) can't name a site, so that it is there only where it says the same."""
    headers = safe_headers(sites)
    assert headers.get("X-Frame-Options") == old
    assert (f"frame-ancestors {' '.join(sites)}" in headers["Content-Security-Policy"]) is bool(sites)


def test_scripts_come_from_this_server_and_no_text_is_run_as_code() -> None:
    policy = {name: set(rest) for name, *rest in (rule.split() for rule in content_policy().split("; "))}
    assert policy["object-src"] == policy["frame-src"] == policy["base-uri"] == {"'none'"}
    hashes = {source for source in policy["script-src"] if source.startswith("'sha256-")}
    assert policy["script-src"] - hashes == {"'self'", "'wasm-unsafe-eval'"}
    assert policy["default-src"] == policy["connect-src"] == {"'self'"}
