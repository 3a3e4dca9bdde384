"""A plain page with a walk: documents that Python wrote, the modules of the browser side, no Streamlit."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from functools import cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import count
from threading import Thread
from typing import Any
from urllib.parse import urlencode, urlsplit

import numpy as np
import plotly.offline
from playwright.sync_api import Page, expect

from attnviz.steps import WALK
from tests.browser.apps.inspector_page import InspectorPage
from tests.browser.board import matrix
from tests.browser.settle import frames, still
from tests.browser.sources import CACHING, PREFIX, source

PAGE = """<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8">
    <meta name="viewport" content="width=device-width, initial-scale=1">
    <title>A walk</title>
    <link rel="icon" href="data:,">
    <link rel="stylesheet" href="/frontend/walk/theme.css">
    <link rel="stylesheet" href="/frontend/walk/walk.css">
    <link rel="stylesheet" href="/frontend/diagram/diagram.css">
    <style>
      html, body { height: 100%; margin: 0; }
      main { box-sizing: border-box; height: 100%; padding: 0.75rem 1rem; }
    </style>
  </head>
  <body>
    <main class="attnviz-standalone"></main>
    <script type="module">
      import { read } from "/frontend/core/document.ts";
      import { Diagram } from "/frontend/diagram/diagram.ts";
      import { Walk } from "/frontend/walk/walk.ts";

      const whole = document.body.innerHTML;

      window.begin = async () => {
        const link = new URL(location).searchParams;
        const { layers, first, documents, drawings, model } = await (await fetch("given")).json();
        const plotly = async () => window.Plotly ?? new Promise((done) => {
          const script = Object.assign(document.createElement("script"), { src: "/plotly.js" });
          script.onload = () => done(window.Plotly);
          document.head.append(script);
        });
        const home = {
          layers,
          drawings,
          plotly,
          ...(link.has("alone") ? {} : { keyboard: document }),
          source: { request: (name) => fetch(`documents/${name}`), offerAgain: async () => {} },
          documents,
          changed: (values) => window.changes.push(values),
          revealed: () => { window.revealed += 1; },
        };
        window.changes = [];
        window.revealed = 0;
        window.walk = new Walk(document.querySelector("main"), home);
        window.diagram = model ? new Diagram((at) => window.walk.choose(at)) : null;
        if (model) {
          window.diagram.take(model);
          window.walk.lead(window.diagram);
        }
        const number = (name) => (link.has(name) ? { [name]: Number(link.get(name)) } : {});
        const word = (name) => (link.has(name) ? { [name]: link.get(name) } : {});
        const on = (name) => ({ [name]: link.get(name) === "1" });
        window.walk.setLecture(link.get("lecture") === "1");
        const chosen = ["layer", "head", "q", "k"].map(number);
        const words = ["step", "drawing", "stretch"].map(word);
        const values = Object.assign({}, ...words, on("predict"), on("why"), ...chosen);
        const answer = await fetch(`documents/${documents[values.layer ?? first]}`);
        window.walk.show(values, read(new Uint8Array(await answer.arrayBuffer())));
      };
      window.beginAt = async (address) => {
        window.walk.destroy();
        window.diagram?.destroy();
        document.body.innerHTML = whole;
        history.replaceState({}, "", address);
        scrollTo(0, 0);
        await window.begin();
      };
      await window.begin();
    </script>
  </body>
</html>
"""

BEGIN_AT = """async (address) => {
  if (!window.beginAt || !document.querySelector("main")) return false;
  await window.beginAt(address);
  return true;
}"""
"""Shows another walk: to fetch and run all modules anew takes longer than most of the tests"""


@dataclass
class WalkPage:
    """What the page serves: documents by layer."""

    documents: Mapping[int, bytes] = field(default_factory=dict)
    scores: Mapping[str, bytes] = field(default_factory=dict)
    """What scores are made of, by the names under which the walk asks for them"""
    drawings: list[tuple[str, str]] = field(default_factory=list)
    model: Mapping[str, Any] | None = None
    """What the diagram shows; None without one"""
    url: str = ""

    def link(self, **values: Any) -> str:
        return f"{self.url}/?{urlencode(values)}"

    def answer(self, path: str) -> tuple[str, bytes] | None:
        """Return the type and the content of a path below the page's own; None if there is none."""
        kind, _, name = path.partition("/")
        if not kind:
            return "text/html", PAGE.encode()
        if kind == "given":
            layers = sorted(self.documents) if len(self.documents) > 1 else []
            given = {
                "layers": layers,
                "first": min(self.documents),
                "documents": {layer: str(layer) for layer in self.documents},
                "drawings": self.drawings,
                "model": self.model,
            }
            return "application/json", json.dumps(given).encode()
        if kind == "documents" and name in self.scores:
            return "application/octet-stream", self.scores[name]
        if kind == "documents" and name.isdecimal() and int(name) in self.documents:
            return "application/octet-stream", self.documents[int(name)]
        return None


class _Server(ThreadingHTTPServer):
    """All pages of this process, each below a path of its own.

    They have the modules of the browser side in common, so that a browser fetches and compiles these once.
    """

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.pages: dict[str, WalkPage] = {}
        self.numbers = count()
        self.url = f"http://127.0.0.1:{self.server_port}/"
        Thread(target=self.serve_forever, daemon=True).start()

    @contextmanager
    def shown(self, page: WalkPage) -> Iterator[WalkPage]:
        name = f"page{next(self.numbers)}"
        page.url = self.url + name
        self.pages[name] = page
        try:
            yield page
        finally:
            del self.pages[name]

    def shared(self, path: str) -> tuple[str, bytes] | None:
        """Return the type and the content of a file that all pages use; None if there is none."""
        if path == "/plotly.js":
            return "text/javascript", _plotly()
        return source(path.removeprefix(f"{PREFIX}/")) if path.startswith(f"{PREFIX}/") else None

    def handle_error(self, *_: object) -> None:
        """A browser that leaves a page ends its connections."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Server

    def do_GET(self) -> None:
        path = urlsplit(self.path).path
        file, caching = self.server.shared(path), CACHING
        if file is None:
            name, _, rest = path.removeprefix("/").partition("/")
            page = self.server.pages.get(name)
            file, caching = page.answer(rest) if page else None, "no-store"
        self.send_response(200 if file else 404)
        kind, content = file or ("text/plain", b"")
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(content)))
        self.send_header("Cache-Control", caching)
        self.end_headers()
        self.wfile.write(content)

    def log_request(self, *_: object) -> None:
        """Log nothing."""


class WalkView(InspectorPage):
    """A walk as its user meets it."""

    picture = ".walk .attnviz-board:not([hidden]), .walk .js-plotly-plot"

    @classmethod
    def open(cls, page: Page, url: str, **link: str | int) -> WalkView:
        """Open a link and wait until it is painted: as another walk of the document that is open, if it has one."""
        address = f"{url}/?{urlencode(link)}"
        if not (page.url.startswith(_server().url) and page.evaluate(BEGIN_AT, address)):
            page.goto(address)
        return cls(page)

    def __init__(self, page: Page) -> None:
        self.page = page
        self.panel = page.get_by_role("region", name="Arithmetic of one cell")
        shown = ".walk .word, .walk [data-painted], .walk .heatmaplayer image"
        expect(page.locator(shown).first).to_be_visible()
        expect(page.locator(".player[aria-busy=true]")).to_have_count(0)  # what plays a step is fetched
        frames(page)

    def step(self, title: str) -> None:
        self.page.get_by_role("radio", name=title, exact=True).click()

    def show(self, step: str) -> None:
        """Choose a step by its name, and wait until it is painted."""
        self.step(WALK[step].title)
        expect(self.page.locator(self.picture)).to_have_attribute("data-step", step)
        still(self.page)
        frames(self.page)

    def matrix(self, name: str) -> np.ndarray:
        return matrix(self.page, name, self.picture)

    @property
    def painted(self) -> list[str]:
        """The step, layer and head whose picture is on the screen."""
        read = "({ dataset: { step, layer, head } }) => [step, layer, head]"
        shown: list[str] = self.page.locator(self.picture).evaluate(read)
        return shown

    @property
    def changes(self) -> list[dict[str, Any]]:
        """What the page has heard of."""
        heard: list[dict[str, Any]] = self.page.evaluate("window.changes")
        return heard

    def pinned(self, q: int | None, k: int | None, changes: int) -> None:
        """Wait until the page has heard of so many changes, and of this pin by them."""
        heard = """([q, k, count]) => {
          const now = Object.assign({ q: null, k: null }, ...window.changes);
          return window.changes.length === count && now.q === q && now.k === k;
        }"""
        self.page.wait_for_function(heard, arg=[q, k, changes])
        frames(self.page)


See = Callable[..., WalkView]


_server = cache(_Server)
_plotly = cache(lambda: plotly.offline.get_plotlyjs().encode())


def serving(page: WalkPage) -> AbstractContextManager[WalkPage]:
    """Serve a page, and fill in its address."""
    return _server().shown(page)
