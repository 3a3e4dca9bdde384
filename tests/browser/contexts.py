"""Fixtures of all tests in a browser: one Chromium a worker, a fresh and watched context a test."""

from __future__ import annotations

import re
from collections.abc import Callable, Generator, Iterator
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, Route, sync_playwright

from tests.browser import chromium
from tests.browser.server import ROOT

LAPTOP = {"width": 1280, "height": 720}
HERE = {"127.0.0.1", "localhost", "[::1]", "::1"}

Contexts = Callable[..., BrowserContext]


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item,
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Leave the outcome of a test's own code where its fixtures find it."""
    report = yield
    if report.when == "call":
        item.stash[_FAILED] = report.failed
    return report


_FAILED = pytest.StashKey[bool]()


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """Start one Chromium for each worker."""
    path = chromium.find()
    assert path, "no Chromium found: install one, or name it in ATTNVIZ_CHROMIUM (tests/run does so by itself)"
    with sync_playwright() as playwright:
        chrome = playwright.chromium.launch(executable_path=path, args=chromium.ARGUMENTS)
        yield chrome
        chrome.close()


class Watch:
    """One context, and what went wrong in it: requests that leave the machine, and errors nobody caught."""

    def __init__(self, context: BrowserContext) -> None:
        """Start watching."""
        self.context = context
        self.outside: list[str] = []
        self.errors: list[str] = []
        context.route("**/*", self._route)
        context.on("weberror", lambda error: self.errors.append(str(error.error)))
        context.on("page", lambda page: page.on("websocket", lambda socket: self._ask(socket.url)))

    def _ask(self, url: str) -> bool:
        parts = urlsplit(url)
        inside = parts.scheme in ("data", "blob") or parts.hostname in HERE
        if not inside:
            self.outside.append(url)
        return inside

    def _route(self, route: Route) -> None:
        if self._ask(route.request.url):
            route.continue_()
        else:
            route.abort()

    def findings(self) -> list[str]:
        """Say what went wrong, one sentence each."""
        found = [f"asked the outside for {url}" for url in self.outside]
        found += [f"uncaught error: {error}" for error in self.errors]
        for page in self.context.pages:
            shown = page.locator("[data-testid=stException]").all_inner_texts()
            found += [f"{page.url} shows an exception: {text}" for text in shown]
        return found

    def photograph(self, name: str) -> None:
        """Save what each page looks like to build/."""
        for number, page in enumerate(self.context.pages):
            page.screenshot(path=ROOT / "build" / f"{name}-{number}.png", full_page=True)


@pytest.fixture
def new_context(browser: Browser, request: pytest.FixtureRequest) -> Iterator[Contexts]:
    """Open browser contexts, as fresh as another person's browser: `new_context(viewport=..., color_scheme=...)`."""
    watches: list[Watch] = []

    def make(**options: object) -> BrowserContext:
        watches.append(Watch(browser.new_context(**{"viewport": LAPTOP, **options})))
        return watches[-1].context

    yield make
    findings = [finding for watch in watches for finding in watch.findings()]
    for number, watch in enumerate(watches):
        if findings or request.node.stash.get(_FAILED, False):
            watch.photograph(re.sub(r"\W+", "-", request.node.name).strip("-")[:120] + f"-{number}")
        watch.context.close()
    assert not findings, "\n".join(findings)


@pytest.fixture
def page(new_context: Contexts) -> Page:
    """Open an empty page of 1280 x 720 in a context of its own."""
    return new_context().new_page()
