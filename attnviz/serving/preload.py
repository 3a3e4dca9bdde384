"""Preloads torch and the built-in model in the background, so that the first visitors need not wait for them."""

from __future__ import annotations

import gc
import sys
import threading
from collections.abc import Callable
from functools import partial
from importlib import import_module

from starlette.types import ASGIApp, Receive, Scope, Send

from attnviz.links.pages import PAGES
from attnviz.runtime.lock import page_lock
from attnviz.runtime.pool import limit_openmp, limit_threads
from attnviz.serving.arrays import PATH as ARRAYS
from attnviz.serving.static import make_all
from attnviz.settings import settings
from attnviz.ui.bert import MODULES as BERT_MODULES

DELAY = 5.0
"""Seconds for which a local server delays importing torch and loading the model. Both hold Python's global interpreter
lock, and delayed the first picture, which needs neither, by up to three seconds. A request for a page that needs one of
them ends the delay, and so does the picture of the first view, once it is sent."""

IMPORTED = (
    "attnviz.document",
    "attnviz.ui.step_by_step",
    "attnviz.ui.compare.view",
    "attnviz.ui.heads.view",
    "attnviz.ui.transformer.view",
    *BERT_MODULES.values(),
    "attnviz.ui.tokens.view",
)
"""The modules that pages import when they are opened; pandas, for Tokens, takes longest."""


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
        """End the delay: torch or the model is needed now, or the first picture is sent."""
        self._requested.set()

    def run(self) -> None:
        """Load the model, then prepare the pages. On a public server, check the installation."""
        from attnviz.ui import caches

        limit_openmp()
        if not settings().public:  # a public server gets no visitors before the model is loaded
            self._requested.wait(self._delay)
        limit_threads()
        model = caches.model("minilm")
        self._loaded.set()
        from attnviz.pretrained.built_in import BuiltInModel

        steps: list[Callable[[], object]] = [*(partial(import_module, name) for name in IMPORTED), make_all]
        if isinstance(model, BuiltInModel):
            steps.insert(0, model.graph)
        for step in steps:
            with page_lock().held():  # between two pages: at the same time as the first one, it would only delay that
                step()
        gc.collect()
        gc.freeze()  # what is loaded now stays in memory: later collections need not scan it
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
    """Whether an address is that of a page whose first picture must be computed, decided without parsing the query."""
    bare = ("/", PAGES["bert"].path)  # without a query, they need no torch
    paths = tuple(page.path for page in PAGES.values() if page.path not in bare)
    return path.endswith(paths) or (bool(query) and path.endswith(bare))
