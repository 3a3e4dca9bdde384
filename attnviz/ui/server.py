"""What happens once when the server starts, before anybody opens a page."""

from __future__ import annotations

import gzip
import os
import socket
import sys
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from functools import cache
from importlib import resources
from pathlib import Path

import streamlit as st
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from attnviz.components.chart import PLOTLY_PATH


@asynccontextmanager
async def warm_up(_: st.App) -> AsyncIterator[None]:
    """Import torch and load the built-in model in the background, while the browser is still opening the page."""
    answer_at_once()
    sys.setswitchinterval(0.0005)
    threading.Thread(target=_import_and_load, name="warm-up", daemon=True).start()
    yield


def _import_and_load() -> None:
    from attnviz.ui import caches
    from attnviz.ui.step_view import show_step  # noqa: F401 — brings torch, the figures and the components

    caches.limit_threads()
    caches.model("minilm")
    from attnviz.ui import compare_view, heads_view  # noqa: F401 — the other pages' first visit need not wait either


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


ROUTES = [Route(PLOTLY_PATH, plotly_js)]


def answer_at_once() -> None:
    """Set TCP_NODELAY on the listening sockets, from which Linux hands it down to every connection.

    Streamlit binds its socket itself, and asyncio then leaves Nagle's algorithm on: some 40 ms on every small answer.
    Where there is no /proc, the app runs without this.
    """
    folder = Path("/proc/self/fd")
    for entry in list(folder.iterdir()) if folder.is_dir() else ():
        listening = _socket_of(int(entry.name))
        if listening is None:
            continue
        with listening, suppress(OSError):
            if listening.family in (socket.AF_INET, socket.AF_INET6) and listening.type == socket.SOCK_STREAM:
                listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)


def _socket_of(descriptor: int) -> socket.socket | None:
    """Return a socket of our own for what a descriptor stands for, or None where that is no socket."""
    try:
        ours = os.dup(descriptor)
    except OSError:
        return None  # closed since it was listed
    try:
        return socket.socket(fileno=ours)
    except OSError:
        os.close(ours)
        return None
