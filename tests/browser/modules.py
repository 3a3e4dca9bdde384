"""Runs functions of single packaged JavaScript modules in the browser."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from playwright.sync_api import Page

from tests.browser.contexts import EMPTY
from tests.browser.evaluate import evaluate

Run = Callable[..., Any]

BYTES = "const bytes = (text) => Uint8Array.from(atob(text), (character) => character.charCodeAt(0));"
"""Defines `bytes(text)`, which decodes base64."""
BASE64 = """
  const base64 = ({ data, shape, dtype = "F32" }) => {
    const bytes = new Uint8Array(data.buffer, data.byteOffset, data.byteLength);
    let text = "";
    for (let at = 0; at < bytes.length; at += 8192) text += String.fromCharCode(...bytes.subarray(at, at + 8192));
    return { data: btoa(text), shape, type: dtype };
  };
"""
"""Defines `base64(array)`."""
CORE = "/frontend/core"
USED = "() => { const was = window.wasUsed; window.wasUsed = true; return was === true; }"
"""Whether a module was imported into this document before; from now on one was."""


def imported(page: Page, served: str, module: str, body: str, argument: Any = None) -> Any:
    """Run a function's body in the browser with the module `m` of the browser side and one argument `given`.

    Each call has a document of its own.
    """
    if page.url != served + EMPTY or page.evaluate(USED):
        page.goto(served + EMPTY)
        page.evaluate(USED)
    url = f"/frontend/{module}"
    return evaluate(page, f"async (given) => {{ const m = await import('{url}'); {body} }}", argument)
