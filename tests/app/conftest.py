"""What holds for all pages that are run without a browser."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

import pytest
from streamlit.components.v2 import manifest_scanner
from streamlit.testing.v1 import app_test


@pytest.fixture(scope="session", autouse=True)
def components_are_looked_for_once_and_pages_compiled_once() -> Iterator[None]:
    """Read the metadata of all installed packages once, and compile each page once, as a server does.

    AppTest does the first in every session, nine tenths of its time, and the second in every run.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(manifest_scanner, "scan_component_manifests", cache(manifest_scanner.scan_component_manifests))
        patch.setattr(app_test, "ScriptCache", cache(app_test.ScriptCache))
        yield
