"""What holds for each view in any room: at a desk and on a phone. Each page is opened once, for several checks."""

from __future__ import annotations

from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.browser.settings import open_settings
from tests.browser.settle import settled_at

pytestmark = pytest.mark.page("one_page")


def box(locator: Any) -> dict[str, float]:
    found = locator.bounding_box()
    assert found is not None
    return dict(found)


def test_warnings_take_one_line_and_are_read_whole_over_the_picture(page: Page, app_url: str) -> None:
    settled_at(page, f"{app_url}/?source=pretrained&step=weights&layer=77&head=99&q=400&stretch=3&predict=7")
    warning, board = page.get_by_test_id("stAlert"), page.locator(".attnviz-board").first
    expect(warning).to_have_count(1)
    text = warning.locator("p")
    expect(text).to_have_attribute("aria-expanded", "false")
    before = box(board)
    assert box(text)["height"] < 30
    assert before["y"] + before["height"] <= 720
    expect(page.get_by_role("button", name="Play this step")).to_be_in_viewport(ratio=1)
    text.focus()
    page.keyboard.press("Enter")
    expect(text).to_have_attribute("aria-expanded", "true")
    assert box(warning)["height"] > 40
    assert text.evaluate("(e) => [e.scrollWidth <= e.clientWidth, e.scrollHeight <= e.clientHeight + 1]") == [
        True,
        True,
    ]
    assert box(board) == before
    text.click()
    expect(text).to_have_attribute("aria-expanded", "false")


CUT = """() => [...document.querySelectorAll('[data-testid=stPopoverBody] *')]
  .filter((e) => e.scrollWidth > e.clientWidth + 1 && getComputedStyle(e).textOverflow === 'ellipsis')
  .map((e) => e.textContent)"""


@pytest.mark.parametrize("link", ["/?source=toy", "/transformer"])
def test_no_label_of_the_settings_under_more_is_cut(page: Page, app_url: str, link: str) -> None:
    settled_at(page, app_url + link)
    open_settings(page).get_by_role("button", name="More", exact=True).click()
    expect(page.get_by_test_id("stPopoverBody").get_by_text("Heads of keys")).to_be_visible()
    assert page.evaluate(CUT) == []
    page.keyboard.press("Escape")
