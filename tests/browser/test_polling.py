"""An expectation that waits in rounds waits as long as it is told to, and no longer."""

from __future__ import annotations

from time import monotonic

import pytest
from playwright.sync_api import Error, Page, expect

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


@pytest.mark.parametrize("selector", ["div", "div[["])
def test_what_can_not_be_looked_for_fails_at_once(page: Page, selector: str) -> None:
    page.evaluate("document.body.innerHTML = '<div></div><div></div>'")
    since = monotonic()
    with pytest.raises((AssertionError, Error), match=r"strict mode violation|not a valid selector|parsing"):
        expect(page.locator(selector)).to_have_text("x", timeout=20_000)
    assert monotonic() - since < 10
