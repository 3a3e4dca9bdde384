"""The server: its startup, the routes besides Streamlit's, and the middleware."""

from __future__ import annotations

import gc
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
from uvicorn.middleware.proxy_headers import ProxyHeadersMiddleware

from attnviz.components.walk import PLOTLY_PATH
from attnviz.links.pages import PAGES
from attnviz.runtime.traffic import traffic
from attnviz.serving import arrays, static
from attnviz.serving.exports import Exports
from attnviz.serving.headers import SafeHeaders
from attnviz.serving.limits import Limits, SameOrigin, Uploads
from attnviz.serving.messages import CheckedMessages
from attnviz.serving.metrics import MEDIA_TYPE, metrics
from attnviz.serving.preload import Preload, PreloadTrigger
from attnviz.settings import SettingsError, settings

COLLECTED = 10_000, 10, 10
"""Thresholds of garbage collection, in new objects: nearly all objects of a text are freed without it. With Python's
default of 700, collections took a fifth of the time of a document."""

_preload = Preload()


@asynccontextmanager
async def warm_up(_: st.App) -> AsyncIterator[None]:
    """Preload torch and the built-in model in the background, while the browser opens the page."""
    sys.setswitchinterval(0.002)
    gc.set_threshold(*COLLECTED)
    threading.Thread(target=_preload.run, name="warm-up", daemon=True).start()
    yield


async def plotly_js(_: Request) -> Response:
    """Serve plotly.js from its Python package, compressed once. The path contains its version."""
    return Response(
        _compressed_plotly(),
        media_type="text/javascript",
        headers={"Content-Encoding": "gzip", "Cache-Control": "public, max-age=31536000, immutable"},
    )


@cache
def _compressed_plotly() -> bytes:
    script = resources.files("plotly") / "package_data" / "plotly.min.js"
    return gzip.compress(script.read_bytes(), compresslevel=6)


async def health(_: Request) -> Response:
    """Return 200 if the built-in model is loaded, else 503."""
    return PlainTextResponse("ok\n") if _preload.is_done else PlainTextResponse("loading\n", 503)


async def readiness(_: Request) -> Response:
    """Return 200 if the server accepts another visitor; 503 while the model loads, or if the limit is reached."""
    return PlainTextResponse("full\n", 503) if traffic().full() else await health(_)


async def figures(_: Request) -> Response:
    """Return the metrics for monitoring."""
    return Response(metrics(traffic(), ready=_preload.is_done), media_type=MEDIA_TYPE)


_FOR_PAGES = [
    Route(PLOTLY_PATH, plotly_js),
    Route(static.ROUTE, static.modules),
    Route(arrays.QUEUE_ROUTE, arrays.queue),
    *Exports().routes(),
    *(Route(page.path, static.page) for page in PAGES.values() if page.path != "/"),
]
ROUTES = [
    *_FOR_PAGES,
    # Streamlit puts its own routes under `server.baseUrlPath`, but not these.
    *(Route("/{base:path}" + route.path, route.endpoint, methods=list(route.methods or ())) for route in _FOR_PAGES),
    Route("/healthz", health),
    Route("/readyz", readiness),
    Route("/metrics", figures),
]


def middleware() -> list[Middleware]:
    """Return the middleware of every request, in order, for the current settings.

    An invalid setting ends the process with a one-line message.
    """
    try:
        limits = settings()
    except SettingsError as error:
        sys.exit(f"attnviz: {error}")
    trusted = [Middleware(ProxyHeadersMiddleware, trusted_hosts=list(limits.trusted_proxies))]
    return [
        *(trusted if limits.trusted_proxies else []),
        Middleware(SafeHeaders, frame_ancestors=limits.frame_ancestors, replica=limits.replica),
        *([Middleware(SameOrigin, traffic=traffic())] if limits.public else []),
        Middleware(Limits, traffic=traffic()),
        *([Middleware(CheckedMessages, traffic=traffic())] if limits.public else []),
        Middleware(Uploads),
        Middleware(PreloadTrigger, preload=_preload),
        Middleware(arrays.Arrays),
    ]
