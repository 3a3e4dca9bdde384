"""Fixtures of the browser tests: one server a worker. Their Chromium is in contexts.py, for others use it too."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.browser.apps.sight import serving
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
