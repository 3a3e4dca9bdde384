"""ASGI middleware that refuses websockets and POST requests from pages of other sites."""

from __future__ import annotations

from urllib.parse import urlsplit

from starlette.datastructures import Headers
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from attnviz.runtime.traffic import Traffic


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
