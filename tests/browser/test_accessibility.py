"""axe-core finds no fault on any page, light or dark; each has one title, in the tab and as its heading."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page, expect

from attnviz.links.pages import PAGES as ALL_PAGES
from tests.browser.axe import violations
from tests.browser.contexts import Contexts
from tests.browser.settle import settled, still

PAGES = (
    "/",
    "/?step=tokens",
    "/?step=scores&q=1&k=2",
    "/?source=pretrained&step=weights&predict=1",
    "/?step=weights&drawing=chart",
    "/?text=the+cat+saw+the+dog+run&head_size=4&seed=1&q=1&k=4&lesson=attention&scene=6",
    "/averages?way=matrix",
    "/train",
    "/train?train_part=generate&drawn=20&watch=decoder.2.1",
    "/bert?bert_part=back",
    "/bert?bert_part=agent",
    "/bert?bert_part=search",
    "/bert?bert_part=without",
    "/tokens",
    "/heads",
    "/heads?show=lines&pair=And+then&layer=2&head=1",
    "/transformer?architecture=both&block=3&part=weights&check=mistake&mistake=cross",
    "/compare",
    "/lessons",
)


@pytest.fixture
def page(still_page: Page) -> Page:
    return still_page


@pytest.mark.parametrize("link", PAGES)
def test_axe_finds_nothing(link: str, app_url: str, page: Page) -> None:
    page.goto(app_url + link)
    assert faults(page) == []
    page.emulate_media(color_scheme="dark")
    expect(page.locator(".stApp")).to_have_css("background-color", "rgb(20, 20, 27)")
    assert faults(page, **COLOURS) == []  # nothing else is different in the dark


def test_axe_finds_nothing_in_export_and_share(app_url: str, page: Page) -> None:
    page.goto(f"{app_url}/heads")
    settled(page).locator(".st-key-export button").first.click()
    expect(page.get_by_role("region", name="Export this view")).to_be_visible()
    assert faults(page) == []
    page.get_by_role("tab", name="Web page").click()
    expect(page.locator(".stCode")).to_contain_text("<iframe")
    assert faults(page) == []
    page.keyboard.press("Escape")
    page.locator(".st-key-share button").first.click()
    expect(page.get_by_role("textbox", name="Address of this view")).to_be_visible()
    assert faults(page) == []


def test_axe_finds_nothing_in_the_examples_and_the_walk_that_plays(app_url: str, page: Page) -> None:
    page.goto(f"{app_url}/?step=weights")
    settled(page).locator(".st-key-examples button").first.click()
    expect(page.get_by_role("button", name="What is “it”?")).to_be_visible()
    assert faults(page) == []
    page.keyboard.press("Escape")
    page.get_by_role("button", name="Play the walk").click()
    expect(page.get_by_role("group", name="The walk that plays itself")).to_be_visible()
    assert faults(page) == []


COLOURS = {"runOnly": ["color-contrast", "link-in-text-block"]}
"""The rules that depend on colours"""

TAB_TITLES = {
    "step_by_step": "attnviz: what attention computes",
    "heads": "Heads · attnviz",
    "averages": "From averages to attention · attnviz",
    "train": "Train · attnviz",
    "bert": "BERT at work · attnviz",
    "transformer": "Transformer · attnviz",
    "tokens": "Tokens · attnviz",
    "compare": "Compare · attnviz",
    "lessons": "Lessons · attnviz",
}


def test_each_page_has_one_title_and_all_are_in_the_navigation(app_url: str, page: Page) -> None:
    page.goto(app_url)
    for shown in reversed(ALL_PAGES.values()):
        page.get_by_role("link", name=shown.menu_title, exact=True).click()
        expect(page).to_have_title(TAB_TITLES[shown.name])
        expect(page.get_by_role("heading", level=1)).to_have_text([shown.title])
        links = settled(page).get_by_test_id("stTopNav").get_by_role("link")
        expect(links).to_have_text([other.menu_title for other in ALL_PAGES.values()])  # none is in a menu of the rest
        assert links.evaluate_all("all => all.every((one) => one.checkVisibility())")


def test_on_a_phone_the_header_shows_the_title_beside_the_buttons(app_url: str, new_context: Contexts) -> None:
    phone = new_context(viewport={"width": 390, "height": 844}).new_page()
    phone.goto(f"{app_url}/averages")
    title = phone.get_by_role("heading", level=1)
    expect(title).to_be_visible()
    box, share = title.bounding_box(), phone.get_by_role("button", name=re.compile("Share")).bounding_box()
    assert box and share
    assert 48 < box["x"] < box["x"] + box["width"] <= share["x"]
    assert box["y"] >= 0
    assert box["y"] + box["height"] <= 60, "the title is as high as the header, at most"


def faults(page: Page, **options: object) -> list[str]:
    """Return what axe finds on a page that has come to rest."""
    found = violations(still(settled(page)), **options)
    return [f"{fault['id']}: {node['target']} {node['html'][:160]}" for fault in found for node in fault["nodes"]]
