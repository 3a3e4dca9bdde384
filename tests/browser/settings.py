"""What a visitor does with settings: opens the side bar or the list of examples, and types a text."""

from __future__ import annotations

from playwright.sync_api import Locator, Page, expect


def open_settings(page: Page) -> Locator:
    """Open the side bar, unless it is open, and return it."""
    side_bar = page.get_by_test_id("stSidebar")
    button = page.get_by_role("button", name="Settings", exact=True)
    expect(button).to_be_visible()
    if side_bar.get_attribute("data-collapsed") == "true":
        button.click()
    expect(side_bar).to_have_attribute("data-collapsed", "false")
    side_bar.evaluate("(bar) => Promise.allSettled(bar.getAnimations().map(({ finished }) => finished))")
    return side_bar


def surprise(page: Page) -> None:
    """Choose "Surprise me", the first of the examples."""
    page.get_by_role("button", name="Examples").click()
    page.get_by_role("button", name="Surprise me").click()


def type_text(page: Page, text: str, field: str = "text") -> None:
    """Type a text into a field in place of what stands there, and give it to the page."""
    area = page.locator(f".st-key-{field} textarea")
    area.fill(text)
    area.press("Control+Enter")
