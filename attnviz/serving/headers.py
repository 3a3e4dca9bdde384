"""Response headers: which code may run, which sites may frame the page, and which replica has responded."""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Iterable
from functools import cache

from starlette.datastructures import MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from attnviz.serving.static import index_of_page

REPLICA_COOKIE = "attnviz_replica"
"""The cookie with the name of the replica that holds a browser's session; the load balancer routes by it."""

MAIN_SCRIPT = "/_stcore/bidi-components/attnviz."
"""The script that loads the others. Its address is the same in every version, and Streamlit lets proxies keep it."""

FEATURES = "camera=(), microphone=(), geolocation=(), payment=(), usb=()"


class SafeHeaders:
    """ASGI middleware that adds the headers of `safe_headers` to every response.

    If this server is one of several, pages and websockets also set a cookie with its name. When a browser's websocket
    connects to another replica, the cookie changes, so uploads and downloads go to that replica too.
    """

    def __init__(self, app: ASGIApp, *, frame_ancestors: Iterable[str] = (), replica: str = "") -> None:
        self.app = app
        self.headers = safe_headers(tuple(frame_ancestors))
        self.replica = replica

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a request, and add the headers to its response."""
        if scope["type"] not in ("http", "websocket"):
            await self.app(scope, receive, send)
            return
        secure = "; Secure" if scope["scheme"] in ("https", "wss") else ""
        cookie = f"{REPLICA_COOKIE}={self.replica}; Path=/; HttpOnly; SameSite=Lax{secure}" if self.replica else ""

        async def with_headers(message: Message) -> None:
            if message["type"] in ("http.response.start", "websocket.accept"):
                message.setdefault("headers", [])
                headers = MutableHeaders(scope=message)
                if message["type"] == "http.response.start":
                    for name, value in self.headers.items():
                        headers[name] = value
                    if MAIN_SCRIPT in scope["path"]:
                        headers["Cache-Control"] = "no-cache"
                if cookie and (scope["type"] == "websocket" or "text/html" in headers.get("content-type", "")):
                    headers.append("set-cookie", cookie)
            await send(message)

        await self.app(scope, receive, with_headers)


def safe_headers(frame_ancestors: tuple[str, ...] = ()) -> dict[str, str]:
    """Return the headers of every response; `frame_ancestors` are the sites that may embed the app in a frame.

    Without such sites no header restricts frames. X-Frame-Options, for old browsers, can only express "same site" and
    "no site".
    """
    framing = {"'self'": "SAMEORIGIN", "'none'": "DENY"}.get(" ".join(frame_ancestors))
    return {
        "Content-Security-Policy": content_policy(frame_ancestors),
        "X-Content-Type-Options": "nosniff",
        "Referrer-Policy": "same-origin",
        "Permissions-Policy": FEATURES,
        **({"X-Frame-Options": framing} if framing else {}),
    }


def content_policy(frame_ancestors: tuple[str, ...] = ()) -> str:
    """Return the Content-Security-Policy with which Streamlit and the app's components work, but foreign code does not.

    Scripts are loaded from this server only; the only inline scripts that run are those in the pages' index.html.
    Streamlit's protobuf library needs WebAssembly, which can't run text as code.
    Inline styles are allowed: Streamlit and KaTeX use them for nearly every element.
    """
    rules = {
        "default-src": ["'self'"],
        "script-src": ["'self'", "'wasm-unsafe-eval'", *inline_scripts()],
        "style-src": ["'self'", "'unsafe-inline'"],
        "img-src": ["'self'", "data:", "blob:"],
        "font-src": ["'self'", "data:"],
        "connect-src": ["'self'"],
        "worker-src": ["'self'", "blob:"],
        "object-src": ["'none'"],
        "frame-src": ["'none'"],
        "base-uri": ["'none'"],
        "form-action": ["'self'"],
        **({"frame-ancestors": list(frame_ancestors)} if frame_ancestors else {}),
    }
    return "; ".join(" ".join([name, *values]) for name, values in rules.items())


@cache
def inline_scripts() -> tuple[str, ...]:
    """Return the sources 'sha256-…' of the inline scripts in the pages' index.html (CSP Level 3, section 8.4)."""
    scripts = re.findall(r"<script(?![^>]*\ssrc=)[^>]*>(.*?)</script>", index_of_page(), re.DOTALL)
    digests = (base64.b64encode(hashlib.sha256(script.encode()).digest()).decode() for script in scripts)
    return tuple(f"'sha256-{digest}'" for digest in digests)
