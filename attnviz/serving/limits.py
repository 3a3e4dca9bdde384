"""ASGI middleware that refuses or delays requests, messages and uploads over a limit, and requests from other sites.

Streamlit checks the size of each uploaded file, that the session exists, and that the request comes from its own page.
But it keeps every uploaded file until the session ends, requested or not, and waits without limit for a slow upload. So
files per session, bytes of all sessions, and the duration of an upload have limits here.
"""

from __future__ import annotations

import asyncio
import html
import math
from typing import Any
from urllib.parse import urlsplit

from starlette.datastructures import Headers
from starlette.responses import HTMLResponse, PlainTextResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from attnviz.runtime.traffic import TOKEN_BYTES, Traffic, content_length
from attnviz.serving import arrays

UNCOUNTED = (
    "/static/", "/attnviz/", "/healthz", "/readyz", "/metrics", "/_stcore/health", "/_stcore/host-config",
    "/_stcore/bidi-components/",
)  # fmt: skip
"""Paths whose GET requests do not count towards the limit: files, of which a page fetches many, and monitoring. But
requests for arrays count, because each may have to be computed."""
UPLOAD_PATH = "/_stcore/upload_file/"
STREAM = "/_stcore/stream"
RETRY_AFTER = 20
"""Seconds after which the busy page reloads itself."""
FULL = "This server has as many visitors as it allows right now."
TOO_MANY = "Very many requests come from your address right now."

UPLOAD_FILES = 4
"""Maximum uploaded files per session; a further one replaces the oldest."""
UPLOAD_BYTES = 100 * 2**20
"""Maximum bytes of all sessions' uploaded files together."""
UPLOADS_AT_ONCE = 16
"""Maximum simultaneous uploads."""
UPLOAD_SECONDS = 30.0
"""Maximum duration of an upload."""

PAGE = """<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="refresh" content="{seconds}">
<title>attnviz is busy</title>
<style>
  :root {{ color-scheme: light dark; }}
  body {{ font: 1.125rem/1.5 system-ui, sans-serif; max-width: 34rem; margin: 18vh auto 0; padding: 0 1.5rem; }}
  h1 {{ font-size: 1.6rem; color: light-dark(#5e3c99, #b39ddb); }}
</style>
<h1>Busy just now</h1>
<p>{why}</p>
<p>This page tries again by itself in {seconds} seconds; your link is kept.</p>
"""


class Limits:
    """Enforces the limits in the server's settings."""

    def __init__(self, app: ASGIApp, traffic: Traffic) -> None:
        self.app = app
        self.traffic = traffic

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a request or a websocket connection, or refuse it."""
        if scope["type"] == "http":
            await self._request(scope, receive, send)
        elif scope["type"] == "websocket":
            await self._connection(scope, receive, send)
        else:
            await self.app(scope, receive, send)

    async def _request(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def counted(message: Message) -> None:
            if message["type"] == "http.response.start":
                self.traffic.responses[message["status"]] += 1
                if arrays.PATH in scope["path"]:
                    size = content_length(Headers(raw=message["headers"])) or 0
                    self.traffic.sent_arrays(_address(scope), message["status"], size)
            await send(message)

        refusal = self._refusal(scope)
        await (refusal or self.app)(scope, receive, counted)

    def _refusal(self, scope: Scope) -> Response | None:
        """Return the response to a request that is refused; None if it is served."""
        path: str = scope["path"]
        if UPLOAD_PATH in path and not self.traffic.limits.uploads:
            return PlainTextResponse("Uploads are switched off on this server.", 403)
        is_uncounted = arrays.PATH not in path and any(part in path for part in UNCOUNTED)
        if scope["method"] != "POST" and is_uncounted:
            return None
        headers, address = Headers(scope=scope), _address(scope)
        wait = self.traffic.buckets.take(address)
        if wait:
            self.traffic.refused["address"] += 1
            return busy(429, TOO_MANY, math.ceil(wait))
        if scope["method"] == "POST":
            self.traffic.buckets.take(address, (content_length(headers) or 0) // TOKEN_BYTES, may_owe=True)
        if scope["method"] == "GET" and "text/html" in headers.get("accept", ""):
            if self.traffic.full():
                self.traffic.refused["full"] += 1
                return busy(503, FULL, RETRY_AFTER)
            self.traffic.expect()
        return None

    async def _connection(self, scope: Scope, receive: Receive, send: Send) -> None:
        if not scope["path"].endswith(STREAM):
            await self.app(scope, receive, send)
            return
        address = _address(scope)
        wait = self.traffic.buckets.take(address)
        if wait:
            self.traffic.refused["address"] += 1
        if wait or not self.traffic.enter():
            await _refuse(scope, receive, send)
            return
        visitor = self.traffic.visitor()

        async def slowed() -> Message:
            message = await receive()
            if message["type"] == "websocket.receive":
                wait = self.traffic.change(address, visitor, len(message.get("bytes") or message.get("text") or ""))
                if wait:
                    await asyncio.sleep(wait)
            return message

        try:
            await self.app(scope, slowed, send)
        finally:
            self.traffic.leave()


def busy(status: int, why: str, seconds: int) -> Response:
    """Return the page for a refused visitor, which reloads itself after some seconds."""
    seconds = max(1, seconds)
    page = PAGE.format(why=html.escape(why), seconds=seconds)
    return HTMLResponse(page, status, headers={"Retry-After": str(seconds), "Cache-Control": "no-store"})


async def _refuse(scope: Scope, receive: Receive, send: Send) -> None:
    """Refuse a connection before it is open, so that a load balancer can try another server."""
    if "websocket.http.response" in scope.get("extensions", {}):
        await receive()
        headers = [(b"retry-after", str(RETRY_AFTER).encode())]
        await send({"type": "websocket.http.response.start", "status": 503, "headers": headers})
        await send({"type": "websocket.http.response.body", "body": b""})
    else:
        await send({"type": "websocket.close", "code": 1013})


def _address(scope: Scope) -> str:
    client = scope.get("client")
    return client[0] if client else ""


class SameOrigin:
    """Accepts a websocket or a POST request only if its page is from this server.

    Streamlit alone would also accept pages from localhost. For any other page it would request this server's address
    from an external site, each time, and block all visitors meanwhile. A POST request causes work on the server.
    """

    def __init__(self, app: ASGIApp, traffic: Traffic) -> None:
        self.app = app
        self.traffic = traffic

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a request, or refuse one from a foreign page with 403."""
        causes_work = scope["type"] == "websocket" or (scope["type"] == "http" and scope["method"] == "POST")
        if not causes_work or not is_foreign(Headers(scope=scope)):
            await self.app(scope, receive, send)
            return
        self.traffic.refused["origin"] += 1
        if scope["type"] == "websocket":
            await send({"type": "websocket.close", "code": 1008})
        else:
            await PlainTextResponse("This request is from another site.", 403)(scope, receive, send)


def is_foreign(headers: Headers) -> bool:
    """Whether a page of another site made the request: browsers send its origin (RFC 6454, section 7)."""
    origin = headers.get("origin")
    if origin is None:
        return False
    try:
        site = urlsplit(origin).netloc
    except ValueError:
        return True
    return not site or site.lower() != headers.get("host", "").lower()


class Uploads:
    """Refuses uploads above the limits, and ends those that take too long."""

    def __init__(self, app: ASGIApp, *, seconds: float = UPLOAD_SECONDS) -> None:
        self.app = app
        self.seconds = seconds
        self.under_way = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a request; if it is an upload, within the limits."""
        if scope["type"] != "http" or scope["method"] != "PUT" or UPLOAD_PATH not in scope["path"]:
            await self.app(scope, receive, send)
        elif self.under_way >= UPLOADS_AT_ONCE or not make_room(_session(scope["path"])):
            await _answer(503, "Too many files are being uploaded; try again in a minute.", scope, receive, send)
        else:
            self.under_way += 1
            try:
                await self._within_time(scope, receive, send)
            finally:
                self.under_way -= 1

    async def _within_time(self, scope: Scope, receive: Receive, send: Send) -> None:
        has_started = False

        async def watched(message: Message) -> None:
            nonlocal has_started
            has_started = True
            await send(message)

        try:
            async with asyncio.timeout(self.seconds):
                await self.app(scope, receive, watched)
        except TimeoutError:
            if not has_started:
                await _answer(408, "The file took too long to arrive.", scope, receive, send)


def _session(path: str) -> str:
    """Return the session that an upload's path names."""
    return path.rpartition(UPLOAD_PATH)[2].partition("/")[0]


def make_room(session: str) -> bool:
    """Drop the oldest files of a session that has too many; return whether one more file is within the limits."""
    from streamlit import runtime

    if not runtime.exists():
        return True
    # Internals of the Streamlit version that pyproject.toml allows: its public interface can't remove a file.
    manager: Any = runtime.get_instance().uploaded_file_mgr
    held = manager.file_storage
    for file in list(held.get(session, ()))[: 1 - UPLOAD_FILES]:
        manager.remove_file(session, file)
    return sum(len(file.data) for files in list(held.values()) for file in list(files.values())) < UPLOAD_BYTES


async def _answer(status: int, why: str, scope: Scope, receive: Receive, send: Send) -> None:
    headers = {"Connection": "close"}  # the rest of the file is not read
    await PlainTextResponse(why, status, headers=headers)(scope, receive, send)
