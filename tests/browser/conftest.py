"""Fixtures of the browser tests: one server per worker. Chromium's fixtures are in contexts.py, shared with others."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import pytest
from playwright.sync_api import Page

from tests.browser.apps.explored import Explore, Explored
from tests.browser.apps.inspector_page import InspectorPage, See, serving
from tests.browser.modules import Run, imported
from tests.browser.server import ROOT, running


@pytest.fixture(scope="session")
def app_url() -> Iterator[str]:
    """Serve the app, once per worker."""
    with running() as url:
        yield url


@pytest.fixture(scope="session")
def served() -> Iterator[str]:
    """Serve a page with only the figure and the inspector, and the packaged files."""
    with serving() as url:
        yield url


@pytest.fixture(scope="session")
def explorer_url() -> Iterator[str]:
    """Serve a page with only the explorer, and the packaged files."""
    with running("tests/browser/apps/explorer_app.py", env={"PYTHONPATH": str(ROOT)}) as url:
        yield url


@pytest.fixture
def run(page: Page, served: str) -> Run:
    """Run a function's body with one packaged module: `run("format.js", "return m.number(given)", 0.5)`."""
    return partial(imported, page, served)


@pytest.fixture
def see(page: Page, served: str) -> See:
    """Open the inspector's page with these link values: `see(step="scores", mask="causal")`."""
    return lambda **link: InspectorPage.open(page, served, **link)


@pytest.fixture
def explore(page: Page, explorer_url: str) -> Explore:
    """Open the explorer's page with these link values: `explore(tokens=64, few=1)`."""
    return lambda **link: Explored.open(page, explorer_url, **link)
