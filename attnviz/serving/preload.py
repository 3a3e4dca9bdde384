"""Preloads torch and the built-in model in the background, so that the first visitors need not wait for them."""

from __future__ import annotations

import sys
import threading

from starlette.types import ASGIApp, Receive, Scope, Send

from attnviz.links.pages import PAGES
from attnviz.serving.http.modules import make_all
from attnviz.serving.work.pool import limit_threads
from attnviz.settings import settings
from attnviz.sources import SOURCES

DELAY = 5.0
"""Seconds for which a local server delays loading the model. Loading holds Python's global interpreter lock, and made
the first picture up to two seconds later. A request for a page with a model ends the delay."""


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
        """End the delay: a page that shows a model is requested."""
        self._requested.set()

    def run(self) -> None:
        """Import torch, load the model, then prepare the other pages. On a public server, check the installation."""
        from attnviz.ui import caches

        limit_threads()
        from attnviz import document  # noqa: F401 — what makes documents, and torch
        from attnviz.toy import block  # noqa: F401
        from attnviz.ui.step_by_step import view  # noqa: F401

        if not settings().public:  # a public server gets no visitors before the model is loaded
            self._requested.wait(self._delay)
        caches.model("minilm")
        self._loaded.set()
        make_all()
        # The first visit of the other pages is faster with their imports done; pandas, for Tokens, takes longest.
        from attnviz.ui.compare import view as compare_view  # noqa: F401
        from attnviz.ui.heads import view as heads_view  # noqa: F401
        from attnviz.ui.tokens import view as tokens_view  # noqa: F401

        if settings().public:
            from attnviz.ready import checks, print_checks

            print_checks(checks(load=lambda: caches.model("minilm")), sys.stderr)


class PreloadTrigger:
    """ASGI middleware that ends the delay of a preload if a page with a model is requested, before its script runs."""

    def __init__(self, app: ASGIApp, preload: Preload) -> None:
        self.app = app
        self.preload = preload

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a request."""
        if scope["type"] == "http" and shows_model(scope["path"], scope["query_string"]):
            self.preload.request()
        await self.app(scope, receive, send)


def shows_model(path: str, query: bytes) -> bool:
    """Whether a link shows a model that has to be loaded, judged by its path and query without parsing them."""
    loaded = [source.key for source in SOURCES.values() if source.has_names]
    opened = [(page.path, page.source if query else page.opening.get("source", page.source)) for page in PAGES.values()]
    paths = tuple(path for path, source in opened if source in loaded)
    return path.endswith(paths) or any(f"source={key}".encode() in query for key in loaded)
