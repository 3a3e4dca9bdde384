"""Focus on one matrix: it is in the link, so that it is copied, gone back to, and shown by a lesson."""

from __future__ import annotations

from urllib.parse import urlencode

import numpy as np
from playwright.sync_api import Page, expect

from attnviz.links.link import DEFAULT_TEXT
from attnviz.pretrained import load
from tests.browser.board import BOARD, cells, matrix
from tests.browser.contexts import Contexts
from tests.browser.settle import settled
from tests.browser.test_stage import TYPE

PANELS = "(css) => deepFind(css).attnviz.places.map(({ panel }) => panel.name)"


def panels(page: Page) -> list[str]:
    """Return the names of the matrices on the board."""
    names: list[str] = page.evaluate(PANELS, BOARD)
    return names


def go(page: Page, url: str, **link: str) -> None:
    page.goto(f"{url}/?{urlencode(link)}")
    settled(page)


def test_the_matrix_in_focus_is_in_the_link_and_in_the_history(page: Page, app_url: str, new_context: Contexts) -> None:
    go(page, app_url, source="toy", step="weights")
    page.get_by_role("button", name="Focus on weights").click()
    page.wait_for_url("**focus=weights**")
    assert panels(page) == ["weights"]
    expected = matrix(page, "weights")
    copy = new_context().new_page()
    copy.goto(page.url)
    settled(copy)
    assert panels(copy) == ["weights"]
    assert copy.url == page.url
    np.testing.assert_array_equal(matrix(copy, "weights"), expected)
    copy.get_by_role("radio", name="Scores", exact=True).click()  # a step without it shows all
    copy.wait_for_url(lambda url: "focus" not in url)
    assert "scores" in panels(copy)
    assert len(panels(copy)) == 3
    copy.go_back()
    copy.wait_for_url("**focus=weights**")
    settled(copy)
    assert panels(copy) == ["weights"]

    page.go_back()
    page.wait_for_url(lambda url: "focus" not in url)
    settled(page)
    everything = panels(page)
    assert len(everything) > 1
    page.go_forward()
    page.wait_for_url("**focus=weights**")
    settled(page)
    assert panels(page) == ["weights"]
    page.locator(BOARD).focus()
    page.keyboard.press("Escape")
    page.wait_for_url(lambda url: "focus" not in url)
    assert panels(page) == everything
    go(page, app_url, source="toy", step="weights", focus="wrong")
    expect(page.get_by_test_id("stAlert")).to_contain_text("focus=wrong is not the name of a matrix")


def test_a_matrix_of_a_comparison_takes_the_picture_with_numbers_that_can_be_read(page: Page, app_url: str) -> None:
    page.goto(f"{app_url}/compare?source=pretrained&layer=3&head=1&b_head=4")
    settled(page)
    a, b = (load("minilm").trace(DEFAULT_TEXT).attentions(3)[head].numpy() for head in (1, 4))
    assert panels(page) == ["a", "b", "difference", "divergence"]
    page.get_by_role("button", name="Focus on A − B").click()
    settled(page)
    assert panels(page) == ["difference"]
    np.testing.assert_allclose(cells(page, "difference"), (a - b).flatten(), atol=0.00501)
    assert page.evaluate(TYPE, [BOARD, "difference"]) >= 11
    page.locator(BOARD).focus()
    for key in ("Enter", "Escape", "Escape"):  # what is pinned is let go of first
        page.keyboard.press(key)
    settled(page)
    assert panels(page) == ["a", "b", "difference", "divergence"]
