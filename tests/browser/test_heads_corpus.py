"""Heads over a corpus as a user sees it: switched to, a head clicked, a number read, a strongest sentence opened."""

from __future__ import annotations

import re

from playwright.sync_api import Page, expect

from attnviz.corpus.offered import SHIPPED, statistics
from tests.browser.apps.explored import Explored
from tests.browser.contexts import Contexts
from tests.browser.settle import settled

PIXEL = """(section, [layer, head, query, key]) => {
  const { grid } = section.attnviz.view;
  const { data, width, height } = grid.given.overview;
  return data[((layer * 12 + head) * height + query) * width + key];
}"""
"""A cell of a head's thumbnail, 255 for a weight of 1."""


def test_a_head_is_clicked_its_share_read_and_its_strongest_sentence_opened(
    page: Page, app_url: str, new_context: Contexts
) -> None:
    found = statistics(SHIPPED)[0]
    page.goto(f"{app_url}/heads?label=next-token+head&sort=next")
    settled(page).get_by_role("radio", name="A corpus").click()
    expect(page.locator(".st-key-corpus_right")).to_be_visible()
    explored = Explored(page)
    mean = found.offset_mean[1, 8, found.offsets.index(1)]
    assert explored.section.evaluate(PIXEL, [1, 8, 3, 4]) == round(255 * mean)
    explored.point_at_head(1, 8)
    share = f"next-token head on {100 * found.label_share[found.labels.index('next'), 1, 8]:.2f} %"
    expect(explored.tooltip).to_contain_text(share)
    expect(explored.section.locator(".hint")).to_contain_text("1 of 72 heads: next-token head")
    expect(explored.section.locator(".hint .how")).to_have_text("Click a head, or use the arrow keys, to choose it.")
    explored.choose(1, 8)
    expect(page).to_have_url(re.compile(r"head=8"))
    expect(settled(page).locator(".st-key-corpus_right")).to_contain_text(share)
    copied = new_context().new_page()
    copied.goto(page.url)
    expect(copied.locator(".st-key-corpus_right")).to_contain_text(share)

    page.get_by_role("radio", name="Strongest").click()
    at = 1, 8, found.measures.index("next")  # the measure of its label
    first = settled(page).locator(".st-key-corpus_examples a").first
    value, text = first.inner_text().split(" · ", 1)
    assert float(value) == round(float(found.strongest.values[at][0]), 3)
    assert text.strip() in found.strongest.texts.values()
    first.click()
    expect(page.locator(".st-key-text textarea")).to_have_value(text.strip())
    expect(page.locator(".st-key-explorer")).to_be_visible()
    expect(page.locator(".st-key-heads_top")).to_contain_text(share)
