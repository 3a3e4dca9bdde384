"""An expectation that waits in rounds waits as long as it is told to, and no longer."""

from __future__ import annotations

from time import monotonic

import pytest
from playwright.sync_api import Page, expect

from tests.browser import polling


@pytest.fixture
def page(plain_page: Page, monkeypatch: pytest.MonkeyPatch) -> Page:
    monkeypatch.setattr(polling, "ROUND_MS", 100)
    return plain_page


def test_what_comes_after_some_rounds_is_found(page: Page) -> None:
    page.evaluate("setTimeout(() => { document.body.textContent = 'here'; document.title = 'there'; }, 350)")
    expect(page.locator("body")).to_have_text("here")
    expect(page).to_have_title("there")
    page.evaluate("setTimeout(() => { document.body.textContent = ''; }, 350)")
    expect(page.locator("body")).not_to_have_text("here")


def test_what_never_comes_fails_when_the_time_is_up(page: Page) -> None:
    since = monotonic()
    with pytest.raises(AssertionError, match="nowhere"):
        expect(page.locator("body")).to_have_text("nowhere", timeout=450)
    assert monotonic() - since >= 0.45
    with pytest.raises(AssertionError):
        expect(page.locator("body")).not_to_be_attached(timeout=1)
