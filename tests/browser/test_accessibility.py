"""axe-core finds no fault on any page, light or dark."""

from __future__ import annotations

import re
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.browser.axe import violations
from tests.browser.settle import settled, still

LINKS = (
    "/",
    "/?step=weights&drawing=chart",
    "/averages?text=the+cat+saw+the+dog+run&way=matrix&lesson=attention&scene=3",
    "/train?train_part=generate&drawn=20&watch=decoder.2.1",
    "/bert?bert_part=agent",
    "/bert?bert_part=without",
    "/tokens",
    "/transformer?architecture=both&block=3&part=weights&check=mistake&mistake=cross",
    "/compare",
    "/lessons",
)

pytestmark = pytest.mark.page("one_page", reduced_motion="reduce")


@pytest.mark.parametrize("link", LINKS)
def test_axe_finds_nothing(link: str, app_url: str, page: Page) -> None:
    page.goto(app_url + link)
    looks_at_all(page)


def looks_at_all(page: Page) -> None:
    """Look at a page as it is, and at its colours in the dark."""
    assert faults(page) == []
    page.emulate_media(color_scheme="dark")
    expect(page.locator(".stApp")).to_have_css("background-color", "rgb(20, 20, 27)")
    assert faults(page, **COLOURS) == []  # nothing else is different in the dark


def test_axe_finds_nothing_in_export_and_share_which_take_the_focus_and_give_it_back(app_url: str, page: Page) -> None:
    page.goto(f"{app_url}/heads?show=lines&pair=And+then&layer=2&head=1")
    looks_at_all(page)
    popover = page.get_by_test_id("stPopoverBody")
    export, address = page.get_by_role("region", name="Export this view"), page.get_by_label("Address of this view")
    for key, inside in (("export", export), ("share", address)):
        button = page.locator(f".st-key-{key}").get_by_test_id("stPopoverButton")
        button.focus()
        page.keyboard.press("Enter")
        expect(popover).to_be_focused()
        expect(inside).to_be_visible()
        assert faults(page, **(IN_POPOVER if key == "share" else {})) == []
        if key == "export":
            page.get_by_role("tab", name="Web page").click()
            expect(page.locator(".stCode")).to_contain_text("<iframe")
            assert faults(page, **IN_POPOVER) == []
        page.keyboard.press("Tab")
        expect(popover.locator(":focus").first).to_be_visible()
        page.keyboard.press("Escape")
        expect(popover).to_have_count(0)
        expect(button).to_be_focused()
        settled(page)
    page.keyboard.press("Enter")
    expect(address).to_be_visible()
    page.keyboard.press("Tab")
    expect(address).to_be_focused()
    page.keyboard.press("Shift+Tab")
    expect(button).to_be_focused()


def test_axe_finds_nothing_in_a_guess_the_examples_and_the_walk_that_plays(app_url: str, page: Page) -> None:
    page.goto(f"{app_url}/?step=weights&q=1&k=2&predict=1")
    looks_at_all(page)
    page.locator(".st-key-examples button").first.click()
    expect(page.get_by_role("button", name="What is “it”?")).to_be_visible()
    assert faults(page, **IN_POPOVER) == []
    page.keyboard.press("Escape")
    page.keyboard.press("p")
    page.get_by_role("button", name="Play the walk").click()
    expect(page.get_by_role("group", name="The walk that plays itself")).to_be_visible()
    assert faults(page) == []


COLOURS = {"runOnly": ["color-contrast", "link-in-text-block"]}
"""The rules that depend on colours"""

IN_POPOVER = {"context": "[data-testid=stPopoverBody]"}
"""Looks at a popover: what is around it has been looked at."""


def test_on_a_phone_all_places_and_chapters_are_below_the_name(app_url: str, page: Page) -> None:
    page.set_viewport_size({"width": 390, "height": 844})
    page.goto(f"{app_url}/averages")
    bar = settled(page).get_by_role("navigation")
    share = page.get_by_role("button", name=re.compile("Share")).bounding_box()
    name, *entries = [one.bounding_box() for one in bar.locator("a, button").all()]
    assert name and share
    assert 0 <= name["x"] < name["x"] + name["width"] <= share["x"]
    assert name["y"] + name["height"] <= 60
    for box in entries:
        assert box and box["y"] >= 60 and box["x"] + box["width"] <= 390 and box["height"] >= 24
    page.goto(f"{app_url}/bert?bert_part=subsets")  # the last chapter of a place with more than fit in a row
    settled(page)
    for entry in bar.locator("[aria-current]").all():
        box = entry.bounding_box()
        assert box and box["x"] >= 0 and box["x"] + box["width"] <= 390


def faults(page: Page, **options: Any) -> list[str]:
    """Return what axe finds on a page that has come to rest."""
    found = violations(still(settled(page)), **options)
    return [f"{fault['id']}: {node['target']} {node['html'][:160]}" for fault in found for node in fault["nodes"]]
