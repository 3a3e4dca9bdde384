"""The part of /bert that switches heads off, in Chromium: a head is clicked in the grid, and the cosine is read."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page, expect

from attnviz.bert.ablation import cosine, hidden_without
from attnviz.links.link import DEFAULT_TEXT
from tests.browser.settle import settled
from tests.loaded import built_in_model

MINUTE = 60_000


def whole(off: list[tuple[int, int]]) -> float:
    """Return the cosine of the sentence embedding without heads to that of the whole model."""
    model = built_in_model()
    hidden = hidden_without(model, model.tokenize(DEFAULT_TEXT), off)
    return float(cosine(model.trace(DEFAULT_TEXT).last_hidden_state.mean(0), hidden.mean(0)))


def click_on_head(page: Page, layer: int, head: int) -> None:
    """Click the cell of a head in the grid of 6 x 12."""
    box = page.locator("[class*=st-key-off_grid] .nsewdrag").bounding_box()
    assert box is not None
    page.mouse.click(box["x"] + (head + 0.5) * box["width"] / 12, box["y"] + (layer + 0.5) * box["height"] / 6)


def test_a_head_is_switched_off_and_on_by_clicks_and_the_cosine_is_torchs(page: Page, app_url: str) -> None:
    page.goto(f"{app_url}/bert?bert_part=without&off=")
    said = page.locator(".st-key-off_right .stMarkdown").first
    expect(said).to_contain_text("Nothing is switched off", timeout=MINUTE)
    settled(page)
    for head, off in (((3, 1), [(3, 1)]), ((5, 7), [(3, 1), (5, 7)]), ((3, 1), [(5, 7)])):
        click_on_head(page, *head)
        expect(page).to_have_url(re.compile(rf"off={'_'.join(f'{one}.{other}' for one, other in off)}$"))
        settled(page)
        found = re.search(r"a cosine of (\d\.\d{4}) to", said.inner_text())
        assert found is not None
        assert float(found[1]) == pytest.approx(whole(off), abs=6e-5)

    page.set_viewport_size({"width": 1920, "height": 1080})
    page.goto(f"{app_url}/bert?bert_part=without&off=&lecture=1")
    expect(said).to_contain_text("Nothing is switched off", timeout=MINUTE)
    settled(page)
    label = page.locator("[class*=st-key-off_grid] .ytick text").first
    drawn = label.evaluate("text => [text.getBoundingClientRect().height, text.getBBox().height]")
    assert drawn[0] / drawn[1] == pytest.approx(1.5, abs=0.05)  # a plot of a lecture grows with the window
    click_on_head(page, 2, 3)
    expect(page).to_have_url(re.compile("off=2.3&"))
