"""Focus on one matrix: it is in the link, so that it is copied, gone back to, and shown by a lesson."""

from __future__ import annotations

from urllib.parse import urlencode

import numpy as np
import pytest
from playwright.sync_api import Page, expect

from attnviz.links.link import DEFAULT_TEXT
from tests.browser.board import BOARD, cells, matrix
from tests.browser.settle import settled, settled_at, settled_once_at
from tests.browser.test_stage import TYPE
from tests.loaded import built_in_model

PANELS = "(css) => deepFind(css).attnviz.places.map(({ panel }) => panel.name)"

pytestmark = pytest.mark.page("one_page")


def panels(page: Page) -> list[str]:
    """Return the names of the matrices on the board."""
    names: list[str] = page.evaluate(PANELS, BOARD)
    return names


def go(page: Page, url: str, **link: str) -> None:
    settled_at(page, f"{url}/?{urlencode(link)}")


def test_the_matrix_in_focus_is_in_the_link_and_in_the_history(page: Page, app_url: str) -> None:
    go(page, app_url, source="toy", step="weights")
    page.get_by_role("button", name="Focus on weights").click()
    page.wait_for_url("**focus=weights**")
    assert panels(page) == ["weights"]
    link, expected = page.url, matrix(page, "weights")
    page.get_by_role("radio", name="Scores", exact=True).click()  # a step without it shows all
    page.wait_for_url(lambda url: "focus" not in url)
    assert "scores" in panels(page)
    assert len(panels(page)) == 3
    page.go_back()
    settled_once_at(page, "**focus=weights**")
    assert panels(page) == ["weights"]

    page.go_back()
    settled_once_at(page, lambda url: "focus" not in url)
    everything = panels(page)
    assert len(everything) > 1
    page.go_forward()
    settled_once_at(page, "**focus=weights**")
    assert panels(page) == ["weights"]
    page.locator(BOARD).focus()
    page.keyboard.press("Escape")
    page.wait_for_url(lambda url: "focus" not in url)
    assert panels(page) == everything
    settled_at(page, link)
    assert panels(page) == ["weights"]
    assert page.url == link
    np.testing.assert_array_equal(matrix(page, "weights"), expected)
    go(page, app_url, source="toy", step="weights", focus="wrong")
    expect(page.get_by_test_id("stAlert")).to_contain_text("focus=wrong is not the name of a matrix")


def test_a_link_to_a_matrix_that_the_step_does_not_show_says_so(page: Page, app_url: str) -> None:
    go(page, app_url, source="toy", step="scores", focus="weights")
    note = page.get_by_text("The link’s focus=weights is not a matrix of Scores, so all matrices are shown.")
    expect(note).to_be_visible()
    assert len(panels(page)) == 3
    page.wait_for_url(lambda url: "focus" not in url)
    page.get_by_role("radio", name="Weights", exact=True).click()
    expect(note).to_be_hidden()
    settled_once_at(page, "**step=weights**")
    assert len(panels(page)) > 1  # it is not focused on later either
    page.goto(f"{app_url}/compare?source=toy&b_head=1&quantity=scores&focus=divergence")
    expect(page.get_by_test_id("stAlert")).to_contain_text("shows no matrix divergence, so all are shown")
    settled(page)
    assert panels(page) == ["a", "b", "difference"]


def test_the_focus_of_a_comparison_is_in_the_link(page: Page, app_url: str) -> None:
    settled_at(page, f"{app_url}/compare?source=toy&b_head=1")
    page.get_by_role("button", name="Focus on A − B").click()
    page.wait_for_url("**focus=difference**")
    link = page.url
    page.get_by_role("button", name="Show all matrices").click()
    page.wait_for_url(lambda url: "focus" not in url)
    page.go_back()
    page.wait_for_url("**focus=difference**")
    expect(page.get_by_role("button", name="Show all matrices")).to_be_visible()
    settled(page)
    assert panels(page) == ["difference"]
    settled_at(page, f"{app_url}/compare?source=toy&b_head=1")
    assert len(panels(page)) > 1
    settled_at(page, link)
    assert panels(page) == ["difference"]


def test_a_matrix_of_a_comparison_takes_the_picture_with_numbers_that_can_be_read(page: Page, app_url: str) -> None:
    settled_at(page, f"{app_url}/compare?source=pretrained&layer=3&head=1&b_head=4")
    a, b = (built_in_model().trace(DEFAULT_TEXT).attentions(3)[head].numpy() for head in (1, 4))
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


def test_in_lecture_mode_numbers_without_room_are_a_click_away(page: Page, app_url: str) -> None:
    settled_at(page, f"{app_url}/averages?way=matrix&lecture=1")
    assert cells(page, "triangle").size == 0  # 11 tokens
    page.get_by_role("button", name="Focus on A, lower triangle").click()
    settled_once_at(page, "**focus=triangle**")
    expected = np.tril(np.ones((11, 11)) / np.arange(1, 12)[:, None])
    np.testing.assert_allclose(cells(page, "triangle"), expected.flatten(), atol=0.00501)
    assert page.evaluate(TYPE, [BOARD, "triangle"]) >= 18
    page.get_by_role("button", name="Show all matrices").click()
    page.wait_for_url(lambda url: "focus" not in url)
    settled_at(page, f"{app_url}/averages?way=matrix&lecture=1&text=the+cat+saw")
    assert cells(page, "triangle").size == 9
    expect(page.get_by_role("button", name="Focus on A, lower triangle")).to_be_hidden()
