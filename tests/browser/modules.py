"""Runs functions of single packaged JavaScript modules in the browser."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from playwright.sync_api import Page

Run = Callable[..., Any]


def imported(page: Page, served: str, module: str, body: str, argument: Any = None) -> Any:
    """Run a function's body in the browser with the module `m` of the packaged files and one argument `given`."""
    page.goto(f"{served}/_stcore/health")
    url = f"/_stcore/bidi-components/attnviz.inspector/{module}"
    return page.evaluate(f"async (given) => {{ const m = await import('{url}'); {body} }}", argument)
