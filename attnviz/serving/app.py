"""What happens once when the server starts, before anybody opens a page."""

from __future__ import annotations

import gzip
import sys
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import cache
from importlib import resources

import streamlit as st
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send
from uvicorn.middleware.proxy_headers import ProxyHeadersMiddleware

from attnviz.components.chart import PLOTLY_PATH
from attnviz.components.export_view import FONT_PATHS
from attnviz.serving.http.headers import SafeHeaders
from attnviz.serving.http.incoming import CheckedMessages
from attnviz.serving.http.limits import Limits
from attnviz.serving.http.metrics import MEDIA_TYPE, metrics
from attnviz.serving.http.origins import SameOrigin
from attnviz.serving.http.traffic import traffic
from attnviz.serving.http.uploads import Uploads
from attnviz.serving.work.pool import limit_threads
from attnviz.settings import SettingsError, settings

_loaded = threading.Event()
"""Set when the built-in model is in memory."""
FIRST_PICTURE = 5.0
"""Seconds that a server of one's own leaves to the first visitor's page before it loads the built-in model. Loading
takes the interpreter for as long, and the first picture came up to two seconds later. Who asks for a page that shows
the model ends the wait."""
_wanted = threading.Event()
"""Set when the first such page was asked for."""


@asynccontextmanager
async def warm_up(_: st.App) -> AsyncIterator[None]:
    """Import torch and load the built-in model in the background, while the browser is still opening the page."""
    sys.setswitchinterval(0.002)
    threading.Thread(target=_import_and_load, name="warm-up", daemon=True).start()
    yield


class PreloadTrigger:
    """ASGI middleware that starts the preload when a page with a model is requested, before its script runs."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a request; if its page shows a model, end the wait before the preload."""
        if scope["type"] == "http" and shows_a_model(scope["path"], scope["query_string"]):
            _wanted.set()
        await self.app(scope, receive, send)


def shows_a_model(path: str, query: bytes) -> bool:
    """Say whether a link is of a page that shows a pretrained model, as far as one sees before it is read."""
    return path.endswith("/heads") or b"source=pretrained" in query


def _import_and_load() -> None:
    from attnviz.ui import caches

    limit_threads()
    from attnviz.ui.step_by_step.view import show_step  # noqa: F401 — brings torch, the figures and the components

    if not settings().public:  # which sends nobody there before the model is loaded
        _wanted.wait(FIRST_PICTURE)
    caches.model("minilm")
    _loaded.set()
    # The other pages' first visit need not wait either; pandas, which the page of tokens needs, takes longest.
    from attnviz.ui.compare import view as compare_view  # noqa: F401
    from attnviz.ui.heads import view as heads_view  # noqa: F401
    from attnviz.ui.step_by_step import tokens as token_step  # noqa: F401

    if settings().public:
        from attnviz.ready import checks, print_checks

        print_checks(checks(load=lambda: caches.model("minilm")), sys.stderr)


async def plotly_js(_: Request) -> Response:
    """Serve plotly.js from the Python package, compressed once, under a name that changes with its version."""
    return Response(
        _compressed_plotly(),
        media_type="text/javascript",
        headers={"Content-Encoding": "gzip", "Cache-Control": "public, max-age=31536000, immutable"},
    )


@cache
def _compressed_plotly() -> bytes:
    script = resources.files("plotly") / "package_data" / "plotly.min.js"
    return gzip.compress(script.read_bytes(), compresslevel=6)


def font(request: Request) -> Response:
    """Serve a weight of the font that exported pictures carry. No coroutine: cutting it takes a second, once."""
    from attnviz.export.drawing.fonts import ttf

    return Response(
        ttf(bold=request.url.path.endswith(FONT_PATHS["bold"])),
        media_type="font/ttf",
        headers={"Cache-Control": "public, max-age=31536000, immutable"},
    )


async def health(_: Request) -> Response:
    """Say whether the built-in model is loaded: 200 or 503."""
    return PlainTextResponse("ok\n") if _loaded.is_set() else PlainTextResponse("loading\n", 503)


async def readiness(_: Request) -> Response:
    """Say whether one more visitor can be taken: 200, or 503 while the model loads and while every place is taken."""
    return PlainTextResponse("full\n", 503) if traffic().full() else await health(_)


async def figures(_: Request) -> Response:
    """Tell a monitor how the server does."""
    return Response(metrics(traffic(), ready=_loaded.is_set()), media_type=MEDIA_TYPE)


ROUTES = [
    Route(PLOTLY_PATH, plotly_js),
    *(Route(path, font) for path in FONT_PATHS.values()),
    Route("/healthz", health),
    Route("/readyz", readiness),
    Route("/metrics", figures),
]


def middleware() -> list[Middleware]:
    """Return what every request goes through before Streamlit sees it, as the settings say.

    A wrong setting ends the process with one line.
    """
    try:
        limits = settings()
    except SettingsError as error:
        sys.exit(f"attnviz: {error}")
    trusted = [Middleware(ProxyHeadersMiddleware, trusted_hosts=list(limits.trusted_proxies))]
    strangers = limits.public
    return [
        *(trusted if limits.trusted_proxies else []),
        Middleware(SafeHeaders, frame_ancestors=limits.frame_ancestors, replica=limits.replica),
        *([Middleware(SameOrigin, traffic=traffic())] if strangers else []),
        Middleware(Limits, traffic=traffic()),
        *([Middleware(CheckedMessages, traffic=traffic())] if strangers else []),
        Middleware(Uploads),
        Middleware(PreloadTrigger),
    ]
