"""ASGI middleware that refuses websockets which pages of other sites open."""

from __future__ import annotations

from urllib.parse import urlsplit

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send

from attnviz.serving.http.traffic import Traffic


class SameOrigin:
    """Lets a websocket in only where its page came from this server.

    Streamlit lets pages of localhost in too. For any other it asks a site outside for this server's address, each time,
    and everybody waits for the answer.
    """

    def __init__(self, app: ASGIApp, traffic: Traffic) -> None:
        self.app = app
        self.traffic = traffic

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a request, or answer a foreign page's websocket with 403."""
        if scope["type"] == "websocket" and is_foreign(Headers(scope=scope)):
            self.traffic.refused["origin"] += 1
            await send({"type": "websocket.close", "code": 1008})
        else:
            await self.app(scope, receive, send)


def is_foreign(headers: Headers) -> bool:
    """Say whether a request was made by a page of another site. Every browser names it (RFC 6454, section 7)."""
    origin = headers.get("origin")
    if origin is None:
        return False
    try:
        site = urlsplit(origin).netloc
    except ValueError:
        return True
    return not site or site.lower() != headers.get("host", "").lower()
