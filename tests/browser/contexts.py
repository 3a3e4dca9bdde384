"""Fixtures of all tests in a browser: one Chromium per worker, and a clean, monitored context per test."""

from __future__ import annotations

import re
from collections.abc import Callable, Generator, Iterator
from contextlib import suppress
from typing import Any
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import (
    Browser,
    BrowserContext,
    Error,
    Page,
    Response,
    ViewportSize,
    expect,
    sync_playwright,
)

from tests.browser import chromium
from tests.browser.polling import look_often
from tests.browser.server import ROOT
from tests.browser.settle import LISTEN, TIMEOUT_S

LAPTOP: ViewportSize = {"width": 1280, "height": 720}
HERE = {"127.0.0.1", "localhost", "[::1]", "::1"}
PROCESS_PER_SITE = "--process-per-site"
"""Pages of one site in one context share a process, and so its compiled scripts."""
LOOPBACK_ONLY = "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1, EXCLUDE localhost, EXCLUDE [::1]"
"""The browser resolves no other host. Playwright's request interception would disable the HTTP cache, so that each
page would open as slowly as the first."""
EMPTY = "/_stcore/health"
"""An address of Streamlit's servers whose document has no script"""
TIMEOUT_MS = TIMEOUT_S * 1000
"""Playwright's default of 5 seconds is less than a page may take to reload."""
SITE_STORAGE = "cookies,local_storage,indexeddb,websql,cache_storage,service_workers,file_systems"
"""All that a site stores in a browser, except the HTTP cache"""

OF_A_PAGE = ("viewport", "color_scheme", "reduced_motion")
"""Options that each page of a context may have for itself: contexts that differ in these alone are one, so that its
cache and its process serve all of them."""

Contexts = Callable[..., BrowserContext]

expect.set_options(timeout=TIMEOUT_MS)
look_often()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item,
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Store whether a test failed, for its fixtures."""
    report = yield
    if report.when == "call":
        item.stash[_FAILED] = report.failed
    return report


_FAILED = pytest.StashKey[bool]()


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """Start one Chromium per worker."""
    path = chromium.find()
    assert path, "no Chromium found: install one, or name it in ATTNVIZ_CHROMIUM (tests/run does so by itself)"
    with sync_playwright() as playwright:
        chrome = playwright.chromium.launch(
            executable_path=path, args=[*chromium.ARGUMENTS, PROCESS_PER_SITE, LOOPBACK_ONLY]
        )
        yield chrome
        chrome.close()


class Watch:
    """A context and the problems in it: requests to other machines, and uncaught errors."""

    def __init__(self, context: BrowserContext) -> None:
        """Start monitoring."""
        self.context = context
        self.outside: list[str] = []
        self.errors: list[str] = []
        self.sites: set[str] = set()
        self.resident: Page | None = None
        context.set_default_timeout(TIMEOUT_MS)
        context.add_init_script(LISTEN)
        context.on("request", lambda request: self._record_request(request.url))
        context.on("weberror", lambda error: self.errors.append(str(error.error)))
        context.on("page", lambda page: page.on("websocket", lambda socket: self._record_request(socket.url)))

    def give_pages(self, viewport: ViewportSize, **media: Any) -> None:
        """Give each page that is opened from now on these options."""

        def new_page() -> Page:
            page = BrowserContext.new_page(self.context)
            page.set_viewport_size(viewport)
            if media:
                page.emulate_media(**media)
            return page

        self.context.new_page = new_page  # type: ignore[method-assign]

    def _record_request(self, url: str) -> None:
        parts = urlsplit(url)
        if parts.hostname in HERE:
            self.sites.add(f"{parts.scheme.replace('ws', 'http')}://{parts.netloc}")
        elif parts.scheme not in ("data", "blob", "file"):
            self.outside.append(url)

    def reported(self) -> list[str]:
        """Return the problems that the browser reported, one sentence each."""
        found = [f"request to another machine: {url}" for url in self.outside]
        return found + [f"uncaught error: {error}" for error in self.errors]

    def findings(self) -> list[str]:
        """Return all problems, one sentence each, with the exceptions that the app shows."""
        found = self.reported()
        for page in self.context.pages:
            shown = page.locator("[data-testid=stException]").all_inner_texts()
            found += [f"{page.url} shows an exception: {text}" for text in shown]
        return found

    def photograph(self, name: str) -> None:
        """Save a screenshot of each page to build/."""
        for number, page in enumerate(page for page in self.context.pages if page != self.resident):
            page.screenshot(path=ROOT / "build" / f"{name}-{number}.png", full_page=True)

    def forget(self, page: Page) -> None:
        """Clear what its sites have stored, by a page of the context."""
        session = self.context.new_cdp_session(page)
        for site in self.sites:
            session.send("Storage.clearDataForOrigin", {"origin": site, "storageTypes": SITE_STORAGE})
        session.detach()
        self.context.clear_cookies()

    def clean(self) -> None:
        """Close all pages and clear storage, but keep the HTTP cache and, with an empty page, the site's process."""
        resident = self.resident = self.resident or self.context.new_page()
        if self.sites and not resident.url.startswith(tuple(self.sites)):
            with suppress(Error):  # the server may have stopped
                resident.goto(min(self.sites) + EMPTY)
        for page in self.context.pages:
            if page != resident:
                page.close()
        self.forget(resident)
        self.outside, self.errors, self.sites = [], [], set()


@pytest.fixture(scope="session")
def idle() -> dict[str, list[Watch]]:
    """Contexts that are not in use, by their options."""
    return {}


def kind_of(options: dict[str, Any]) -> str:
    """Return the name of contexts with these options among those that are not in use."""
    return repr(sorted(options.items()))


def lent(browser: Browser, idle: dict[str, list[Watch]], **options: Any) -> Watch:
    """Take a context with these options: one that is not in use, whose cache has the app's files, or a new one."""
    waiting = idle.setdefault(kind_of(options), [])
    return waiting.pop() if waiting else Watch(browser.new_context(viewport=LAPTOP, **options))


@pytest.fixture
def new_context(browser: Browser, idle: dict[str, list[Watch]], request: pytest.FixtureRequest) -> Iterator[Contexts]:
    """Open browser contexts, one per simulated visitor: `new_context(viewport=..., color_scheme=...)`.

    Files of the app may be in the HTTP cache already; storage and cookies are empty. Tests may change pages, but not
    the context itself, which is reused.
    """
    used: list[tuple[str, Watch]] = []

    def make(**options: Any) -> BrowserContext:
        own = {name: options.pop(name) for name in OF_A_PAGE if name in options}
        watch = lent(browser, idle, **options)
        watch.give_pages(**{"viewport": LAPTOP, **own})
        used.append((kind_of(options), watch))
        return watch.context

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


@pytest.fixture(scope="session")
def plain(browser: Browser) -> Watch:
    """A context for `plain_page`."""
    return Watch(browser.new_context(viewport=LAPTOP))


@pytest.fixture
def plain_page(plain: Watch) -> Iterator[Page]:
    """One page for all tests that need no app: to open another for each takes longer than most of them.

    Each leaves a new document, at the same address where `imported` was used, so that the next call needs no other.
    """
    page = plain.context.pages[0] if plain.context.pages else plain.context.new_page()
    yield page
    with suppress(Error):  # nothing of this test goes on into the next
        page.evaluate("() => { if (origin !== 'null') { sessionStorage.clear(); localStorage.clear(); } }")
        page.goto(page.url if page.url.endswith(EMPTY) else "about:blank")
        page.mouse.move(0, 0)
        if page.viewport_size != LAPTOP:
            page.set_viewport_size(LAPTOP)
    findings, plain.outside, plain.errors = plain.reported(), [], []  # the app is on none of its pages
    assert not findings, "\n".join(findings)


@pytest.fixture
def still_page(new_context: Contexts) -> Page:
    """Open an empty page on which nothing moves, so that what is painted is there at once."""
    return new_context(reduced_motion="reduce").new_page()


GO = """(address) => {
  if (window.awaitsAnswer === undefined || !document.querySelector('[data-testid="stApp"]')) return false;
  history.pushState({}, '', address);
  dispatchEvent(new PopStateEvent('popstate', { state: {} }));
  return true;
}"""
"""Goes to an address as the browser's back button does: the app is not loaded anew."""


@pytest.fixture(scope="session")
def kept(browser: Browser) -> Watch:
    """A context for `one_page`."""
    return Watch(browser.new_context(viewport=LAPTOP))


@pytest.fixture(scope="session")
def kept_touch(browser: Browser) -> Watch:
    """A context for `one_touch_page`."""
    return Watch(browser.new_context(viewport=LAPTOP, has_touch=True))


HAS_APP = """() => Boolean(document.querySelector('[data-testid="stApp"]'))"""


def between_files(watch: Watch) -> Iterator[Watch]:
    """Close the pages of a context after a file, except a plain one: it has no session, which the next might go on in.

    To open one for each file, and to run all modules anew, takes longer than most tests of one.
    """
    yield watch
    kept, *others = [page for page in watch.context.pages if page != watch.resident] or [None]
    if kept and not others and not kept.evaluate(HAS_APP):
        kept.evaluate("() => { if (origin !== 'null') sessionStorage.clear(); }")
        watch.forget(kept)
    else:
        watch.clean()


@pytest.fixture(scope="module")
def watch_of_file(kept: Watch) -> Iterator[Watch]:
    """The context of `one_page`, in one file."""
    yield from between_files(kept)


@pytest.fixture(scope="module")
def touch_watch_of_file(kept_touch: Watch) -> Iterator[Watch]:
    """The context of `one_touch_page`, in one file."""
    yield from between_files(kept_touch)


def page_of(watch: Watch, request: pytest.FixtureRequest) -> Iterator[Page]:
    """Yield the page of a context, without what a test has changed of the window."""
    pages = [page for page in watch.context.pages if page != watch.resident]
    page = pages[0] if pages else watch.context.new_page()
    load = page.goto

    def goto(url: str, **options: Any) -> Response | None:
        is_open = any(url.startswith(site) and page.url.startswith(site) for site in watch.sites)
        return None if is_open and page.evaluate(GO, url) else load(url, **options)

    page.goto = goto  # type: ignore[method-assign]
    yield page
    del page.goto
    findings = watch.findings()
    if findings or request.node.stash.get(_FAILED, False):
        watch.photograph(re.sub(r"\W+", "-", request.node.name).strip("-")[:120])
        watch.clean()
    else:
        page.unroute_all()
        page.mouse.move(0, 0)
        page.set_viewport_size(LAPTOP)
        page.emulate_media(color_scheme="null", reduced_motion="null")
    watch.outside, watch.errors = [], []
    assert not findings, "\n".join(findings)


@pytest.fixture
def one_page(watch_of_file: Watch, request: pytest.FixtureRequest) -> Iterator[Page]:
    """One page for all tests of a file, each in the session of the one before, as a visitor goes from view to view.

    `goto` loads the app only once. To load it for each test takes longer than most of them. After a test that failed,
    a page is opened anew.
    """
    yield from page_of(watch_of_file, request)


@pytest.fixture
def one_touch_page(touch_watch_of_file: Watch, request: pytest.FixtureRequest) -> Iterator[Page]:
    """One page with a touch screen for all tests of a file; see `one_page`."""
    yield from page_of(touch_watch_of_file, request)


@pytest.fixture
def page(request: pytest.FixtureRequest) -> Page:
    """Open an empty page of 1280 x 720 in a context of its own.

    A file may take another one for all its tests: `pytestmark = pytest.mark.page("one_page", reduced_motion="reduce")`
    names the fixture, and what the page prefers.
    """
    mark = request.node.get_closest_marker("page")
    if mark is None:
        new_context: Contexts = request.getfixturevalue("new_context")
        return new_context().new_page()
    page: Page = request.getfixturevalue(*mark.args)
    if mark.kwargs:
        page.emulate_media(**mark.kwargs)
    return page
