"""Preloads torch and the built-in model in the background, so that the first visitors need not wait for them."""

from __future__ import annotations

import gc
import sys
import threading

from starlette.types import ASGIApp, Receive, Scope, Send

from attnviz.links.pages import PAGES
from attnviz.runtime.pool import limit_openmp, limit_threads
from attnviz.serving.arrays import PATH as ARRAYS
from attnviz.serving.modules import make_all
from attnviz.settings import settings

DELAY = 5.0
"""Seconds for which a local server delays importing torch and loading the model. Both hold Python's global interpreter
lock, and made the first picture up to three seconds later, which needs neither. A request for a page that needs one of
them ends the delay, and so does the picture of the first view, once it is sent."""


class Preload:
    """The state of the preload in this process."""

    def __init__(self, delay: float = DELAY) -> None:
        self._delay = delay
        self._requested = threading.Event()
        self._loaded = threading.Event()

    @property
    def is_done(self) -> bool:
        """Whether the built-in model is in memory."""
        return self._loaded.is_set()

    def request(self) -> None:
        """End the delay: what it waits for is needed now, or the first picture is there."""
        self._requested.set()

    def run(self) -> None:
        """Import torch, load the model, then prepare the other pages. On a public server, check the installation."""
        from attnviz.ui import caches

        limit_openmp()
        if not settings().public:  # a public server gets no visitors before the model is loaded
            self._requested.wait(self._delay)
        limit_threads()
        from attnviz import document  # noqa: F401 — what makes documents, and torch
        from attnviz.toy import block  # noqa: F401
        from attnviz.ui.step_by_step import view  # noqa: F401

        caches.model("minilm")
        self._loaded.set()
        make_all()
        # The first visit of the other pages is faster with their imports done; pandas, for Tokens, takes longest.
        from attnviz.ui.compare import view as compare_view  # noqa: F401
        from attnviz.ui.heads import view as heads_view  # noqa: F401
        from attnviz.ui.tokens import view as tokens_view  # noqa: F401

        gc.collect()
        gc.freeze()  # what is loaded now stays: later collections need not look at it
        if settings().public:
            from attnviz.ready import checks, print_checks

            print_checks(checks(load=lambda: caches.model("minilm")), sys.stderr)


class PreloadTrigger:
    """ASGI middleware that ends the delay of a preload: before a page that needs torch, or after the first picture."""

    def __init__(self, app: ASGIApp, preload: Preload) -> None:
        self.app = app
        self.preload = preload

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a request."""
        is_http = scope["type"] == "http"
        if is_http and needs_torch(scope["path"], scope["query_string"]):
            self.preload.request()
        await self.app(scope, receive, send)
        if is_http and ARRAYS in scope["path"]:
            self.preload.request()


def needs_torch(path: str, query: bytes) -> bool:
    """Whether an address is that of a page whose first picture has to be computed, judged without parsing it."""
    paths = tuple(page.path for page in PAGES.values() if page.path != "/")
    return path.endswith(paths) or (bool(query) and path.endswith("/"))
