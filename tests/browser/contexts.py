"""Fixtures of all tests in a browser: one Chromium a worker, a clean and watched context a test."""

from __future__ import annotations

import re
from collections.abc import Callable, Generator, Iterator
from contextlib import suppress
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Browser, BrowserContext, Error, Page, expect, sync_playwright

from tests.browser import chromium
from tests.browser.server import ROOT
from tests.browser.settle import LISTEN, PATIENCE_S

LAPTOP = {"width": 1280, "height": 720}
HERE = {"127.0.0.1", "localhost", "[::1]", "::1"}
ALL_IN_ONE = "--process-per-site"
"""Pages of one site and one person share a process, so that a page finds there what an earlier one has compiled."""
ONLY_HERE = "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1, EXCLUDE localhost, EXCLUDE [::1]"
"""The browser finds no other host. To stop requests one by one would take its cache of files away, as Playwright does
it, and then each page is as slow to open as the first one."""
PATIENCE = PATIENCE_S * 1000
"""ms. Playwright's own 5 seconds are less than a page may take to be loaded again."""
SITE_KEEPS = "cookies,local_storage,indexeddb,websql,cache_storage,service_workers,file_systems"
"""What a site may leave in a browser, but for the files that it is made of"""

Contexts = Callable[..., BrowserContext]

expect.set_options(timeout=PATIENCE)


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
        chrome = playwright.chromium.launch(executable_path=path, args=[*chromium.ARGUMENTS, ALL_IN_ONE, ONLY_HERE])
        yield chrome
        chrome.close()


class Watch:
    """One context, and what went wrong in it: requests that leave the machine, and errors nobody caught."""

    def __init__(self, context: BrowserContext) -> None:
        """Start watching."""
        self.context = context
        self.outside: list[str] = []
        self.errors: list[str] = []
        self.sites: set[str] = set()
        self.resident: Page | None = None
        context.set_default_timeout(PATIENCE)
        context.add_init_script(LISTEN)
        context.on("request", lambda request: self._ask(request.url))
        context.on("weberror", lambda error: self.errors.append(str(error.error)))
        context.on("page", lambda page: page.on("websocket", lambda socket: self._ask(socket.url)))

    def _ask(self, url: str) -> None:
        parts = urlsplit(url)
        if parts.hostname in HERE:
            self.sites.add(f"{parts.scheme.replace('ws', 'http')}://{parts.netloc}")
        elif parts.scheme not in ("data", "blob"):
            self.outside.append(url)

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
        for number, page in enumerate(page for page in self.context.pages if page != self.resident):
            page.screenshot(path=ROOT / "build" / f"{name}-{number}.png", full_page=True)

    def clean(self) -> None:
        """Leave of what was done nothing but the files of the site, which an empty page there keeps at hand."""
        resident = self.resident = self.resident or self.context.new_page()
        if self.sites and not resident.url.startswith(tuple(self.sites)):
            with suppress(Error):  # the server may be gone by now
                resident.goto(f"{min(self.sites)}/_stcore/health")
        for page in self.context.pages:
            if page != resident:
                page.close()
        session = self.context.new_cdp_session(resident)
        for site in self.sites:
            session.send("Storage.clearDataForOrigin", {"origin": site, "storageTypes": SITE_KEEPS})
        session.detach()
        self.context.clear_cookies()
        self.outside, self.errors, self.sites = [], [], set()


@pytest.fixture(scope="session")
def idle() -> dict[str, list[Watch]]:
    """Keep contexts that no test uses now, by the options that they were made with."""
    return {}


@pytest.fixture
def new_context(browser: Browser, idle: dict[str, list[Watch]], request: pytest.FixtureRequest) -> Iterator[Contexts]:
    """Open browser contexts, each another person's browser: `new_context(viewport=..., color_scheme=...)`.

    That person may have loaded the files of a page before, and has done nothing there yet. What a test does to a page
    goes with it; to the context itself it does nothing.
    """
    used: list[tuple[str, Watch]] = []

    def make(**options: object) -> BrowserContext:
        options = {"viewport": LAPTOP, **options}
        kind = repr(sorted(options.items()))
        waiting = idle.setdefault(kind, [])
        used.append((kind, waiting.pop() if waiting else Watch(browser.new_context(**options))))
        return used[-1][1].context

    yield make
    findings = [finding for _, watch in used for finding in watch.findings()]
    failed = bool(findings) or request.node.stash.get(_FAILED, False)
    for number, (kind, watch) in enumerate(used):
        if failed:
            watch.photograph(re.sub(r"\W+", "-", request.node.name).strip("-")[:120] + f"-{number}")
            watch.context.close()
        else:
            watch.clean()
            idle[kind].append(watch)
    assert not findings, "\n".join(findings)


@pytest.fixture
def page(new_context: Contexts) -> Page:
    """Open an empty page of 1280 x 720 in a context that nobody else uses."""
    return new_context().new_page()
