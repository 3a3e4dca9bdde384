"""Fixtures of the browser tests: one server per worker. Chromium's fixtures are in contexts.py, shared with others."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import ExitStack, suppress
from functools import partial
from types import MappingProxyType

import pytest
from playwright.sync_api import Browser, Error, Page, expect

from tests.browser.apps.explored import Explore, Explored
from tests.browser.apps.operands import Operands, document
from tests.browser.apps.walk_page import See, WalkPage, WalkView, serving
from tests.browser.contexts import LAPTOP, Watch, kind_of, lent, page_of
from tests.browser.line import Line, line_of
from tests.browser.modules import Run, imported
from tests.browser.server import ROOT, running
from tests.browser.settle import settled


@pytest.fixture(scope="session")
def app_url() -> Iterator[str]:
    """Serve the app, once per worker."""
    with running() as url:
        yield url


@pytest.fixture(scope="session")
def served() -> Iterator[str]:
    """Serve a page with only the explorer, and the packaged files."""
    with running("tests/browser/apps/explorer_server.py", env={"PYTHONPATH": str(ROOT)}) as url:
        yield url


@pytest.fixture
def run(plain_page: Page, served: str) -> Run:
    """Run a function's body with one packaged module: `run("core/format.ts", "return m.number(given)", 0.5)`."""
    return partial(imported, plain_page, served)


@pytest.fixture
def see(page: Page) -> Iterator[See]:
    """Open a walk of seeded operands on a plain page: `see(step="scores", mask="causal", tokens=12)`."""
    with ExitStack() as servers:

        def open_walk(
            tokens: int = 12,
            size: int = 8,
            mask: str = "none",
            heads: int = 4,
            page: Page = page,
            of_scores: Mapping[str, float] = MappingProxyType({}),
            **link: str | int,
        ) -> WalkView:
            walk = document(Operands(tokens=tokens, size=size, mask=mask, **of_scores), heads)
            return WalkView.open(page, servers.enter_context(serving(WalkPage({3: walk}))).url, **link)

        yield open_walk


@pytest.fixture
def explore(one_page: Page, served: str) -> Explore:
    """Open the explorer's page with these link values, in the one page of the file: `explore(tokens=64, few=1)`.

    The explorer of the test before is gone by then, in the browser and on the server.
    """

    def open_explorer(**link: str | int) -> Explored:
        explorer = one_page.locator(".explorer")
        if explorer.count():
            settled(one_page)  # nothing that it still sends reaches the next one
            one_page.goto(f"{served}/?away=1")
            expect(explorer).to_have_count(0)
        return Explored.open(one_page, served, **link)

    return open_explorer


@pytest.fixture
def explore_fresh(page: Page, served: str) -> Explore:
    """Open the explorer's page in a page of the test's own, in which no module has run."""
    return lambda **link: Explored.open(page, served, **link)


@pytest.fixture(scope="module")
def watch_of_line(browser: Browser, idle: dict[str, list[Watch]]) -> Iterator[Watch]:
    """A context for `line`, in one file."""
    watch = lent(browser, idle)
    watch.give_pages(LAPTOP)
    yield watch
    watch.clean()
    idle[kind_of({})].append(watch)


@pytest.fixture
def line(watch_of_line: Watch, request: pytest.FixtureRequest) -> Iterator[Line]:
    """A connection that a test can hold up, with one page for all tests of a file; see `one_page`."""
    for page in page_of(watch_of_line, request):
        yield line_of(page)


@pytest.fixture(scope="module")
def watch_offline(browser: Browser, idle: dict[str, list[Watch]]) -> Iterator[Watch]:
    """A context for `offline_page`, in one file."""
    watch = lent(browser, idle, offline=True)
    watch.give_pages(LAPTOP)
    yield watch
    watch.clean()
    idle[kind_of({"offline": True})].append(watch)


@pytest.fixture
def offline_page(watch_offline: Watch, request: pytest.FixtureRequest) -> Iterator[Page]:
    """A page without a network for all tests of a file: each opens files of the disk, and nothing of it goes on."""
    for page in page_of(watch_offline, request):
        yield page
        with suppress(Error):
            page.evaluate("() => { sessionStorage.clear(); localStorage.clear(); }")
