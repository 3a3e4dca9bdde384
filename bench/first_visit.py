"""The first visit of a page by a fresh browser: what it fetches besides Streamlit's files, and how long it takes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from math import inf
from statistics import median
from typing import Any

from playwright.sync_api import Page

from attnviz.serving.arrays import PATH as ARRAYS
from bench.apps import OURS, SENTENCE
from bench.stopwatch import chrome, load, new_page, wait_for_calm
from bench.table import Row
from tests.browser.settle import settled

ROUNDS = 5
OWN = ("/attnviz/", "/_stcore/bidi-components/attnviz.main/")
"""What the addresses of our files have in them"""
REST_S = 0.9
"""How long a page rests, once its arrays have come, before it fetches ahead"""
MOST_REQUESTS, MOST_KB = 12, 150
PAGES = {"/": SENTENCE, "/heads": "() => stopwatch.explorer.count() > 0"}
"""The pages, and what is asked of each: whether its picture is there, in JavaScript"""


@dataclass
class Fetched:
    """Counts the files of ours that a page fetches; made before the page opens anything.

    What a page fetches ahead, when its arrays have been there for a second, is no part of the visit.
    """

    page: Page
    addresses: list[str] = field(default_factory=list, init=False)
    kilobytes: float = field(default=0.0, init=False)
    """As they were sent: compressed, with their headers"""

    def __post_init__(self) -> None:
        self._asked: dict[str, str] = {}
        self._arrays_came = inf
        session = self.page.context.new_cdp_session(self.page)
        session.on("Network.requestWillBeSent", self._note)
        session.on("Network.loadingFinished", self._count)
        session.send("Network.enable")

    def _note(self, event: dict[str, Any]) -> None:
        url = event["request"]["url"]
        is_ahead = event["timestamp"] > self._arrays_came + REST_S
        if not is_ahead and any(part in url for part in OWN):
            self.addresses.append(url)
            self._asked[event["requestId"]] = url

    def _count(self, event: dict[str, Any]) -> None:
        url = self._asked.get(event["requestId"])
        if url is not None:
            self.kilobytes += event["encodedDataLength"] / 1000
            if ARRAYS in url:
                self._arrays_came = event["timestamp"]


def rows() -> Iterator[Row]:
    """Visit each page several times, each time in a fresh browser, on a server that has shown it before."""
    with OURS.served() as server:
        server.wait()
        for path, painted in PAGES.items():
            visits = [visit(server.url + path, painted) for _ in range(ROUNDS + 1)][1:]
            requests, kilobytes, times = (median(figures) for figures in zip(*visits, strict=True))
            yield Row(f"first visit of {path}: own requests", 0.0, requests, MOST_REQUESTS, "requests")
            yield Row(f"first visit of {path}: own files", 0.0, kilobytes, MOST_KB, "kB")
            yield Row(f"first visit of {path}: until the picture is painted", 0.0, times, None)


def visit(url: str, painted: str) -> tuple[int, float, float]:
    """Return how many of our files a fresh browser fetches, their kB, and the ms until the picture is painted."""
    with chrome() as browser:
        page = new_page(browser)
        fetched = Fetched(page)
        wait_for_calm()
        ms = load(page, url, painted)
        settled(page)
        return len(fetched.addresses), fetched.kilobytes, ms
