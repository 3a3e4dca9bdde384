"""axe-core finds no serious fault on any page, light or dark."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import BrowserContext

from tests.browser.settle import settled

Contexts = Callable[..., BrowserContext]

PAGES = (
    "/?step=tokens",
    "/?step=scores&q=1&k=2",
    "/?source=pretrained&step=weights&predict=1",
    "/?step=weights&drawing=chart",
    "/averages",
    "/tokens",
    "/heads",
    "/heads?show=lines&pair=And+then&layer=2&head=1",
    "/compare",
    "/compare?head=3&b_head=5",
)

# The colours of words in a listing are Streamlit's, and no setting changes them.
LISTING = ".stCode"


IN_THE_DARK = ("/?step=scores&q=1&k=2", "/tokens", "/heads", "/compare")


@pytest.mark.parametrize(
    ("link", "scheme"), [*((link, "light") for link in PAGES), *((link, "dark") for link in IN_THE_DARK)]
)
def test_axe_finds_nothing_serious(
    link: str, scheme: Literal["light", "dark"], app_url: str, new_context: Contexts
) -> None:
    page = new_context(color_scheme=scheme).new_page()
    page.goto(app_url + link)
    settled(page)
    page.wait_for_timeout(500)
    found = Axe().run(page, context={"exclude": [[LISTING]]}).response["violations"]
    serious = [
        f"{fault['id']}: {node['target']} {node['html'][:160]}"
        for fault in found
        if fault["impact"] in ("serious", "critical")
        for node in fault["nodes"]
    ]
    assert serious == []
