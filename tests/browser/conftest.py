"""Fixtures of the browser tests: one server a worker. Their Chromium is in contexts.py, for others use it too."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import pytest
from playwright.sync_api import Page

from tests.browser.apps.explored import Explore, Explored
from tests.browser.apps.sight import See, Sight, serving
from tests.browser.modules import Run, imported
from tests.browser.server import ROOT, running


@pytest.fixture(scope="session")
def app_url() -> Iterator[str]:
    """Serve the app, one for each worker."""
    with running() as url:
        yield url


@pytest.fixture(scope="session")
def served() -> Iterator[str]:
    """Serve the page that holds nothing but the figure and the inspector, and with it the packaged files."""
    with serving() as url:
        yield url


@pytest.fixture(scope="session")
def explorer_url() -> Iterator[str]:
    """Serve the page that holds nothing but the explorer, and with it the packaged files."""
    with running("tests/browser/apps/explorer_app.py", env={"PYTHONPATH": str(ROOT)}) as url:
        yield url


@pytest.fixture
def run(page: Page, served: str) -> Run:
    """Run a function's body with one packaged module: `run("format.js", "return m.number(given)", 0.5)`."""
    return partial(imported, page, served)


@pytest.fixture
def see(page: Page, served: str) -> See:
    """Open the inspector's page with what its link says: `see(step="scores", mask="causal")`."""
    return lambda **link: Sight.open(page, served, **link)


@pytest.fixture
def explore(page: Page, explorer_url: str) -> Explore:
    """Open the explorer's page with what its link says: `explore(tokens=64, few=1)`."""
    return lambda **link: Explored.open(page, explorer_url, **link)
