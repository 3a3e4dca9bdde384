"""axe-core finds no serious fault on any page, light or dark."""

from __future__ import annotations

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, expect

from tests.browser.settle import settled, still

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


@pytest.mark.parametrize("link", PAGES)
def test_axe_finds_nothing_serious(link: str, app_url: str, page: Page) -> None:
    page.goto(app_url + link)
    assert serious(page) == []
    if link in IN_THE_DARK:
        page.emulate_media(color_scheme="dark")
        expect(page.locator(".stApp")).to_have_css("background-color", "rgb(20, 20, 27)")
        assert serious(page) == []


def serious(page: Page) -> list[str]:
    """Return what axe finds on a page that has come to rest."""
    found = Axe().run(still(settled(page)), context={"exclude": [[LISTING]]}).response["violations"]
    return [
        f"{fault['id']}: {node['target']} {node['html'][:160]}"
        for fault in found
        if fault["impact"] in ("serious", "critical")
        for node in fault["nodes"]
    ]
