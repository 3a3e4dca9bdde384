"""Heads over a corpus as a user sees it: switched to, a head clicked, a number read, a strongest sentence opened."""

from __future__ import annotations

import re

from playwright.sync_api import Page, expect

from attnviz.corpus.shipped import shipped
from tests.browser.contexts import Contexts
from tests.browser.settle import settled


def test_a_head_is_clicked_its_share_read_and_its_strongest_sentence_opened(
    page: Page, app_url: str, new_context: Contexts
) -> None:
    statistics, _ = shipped("minilm")
    page.goto(f"{app_url}/heads")
    settled(page).get_by_role("radio", name="A corpus").click()
    grid = settled(page).locator("[class*=st-key-corpus_grid] .js-plotly-plot")
    # The point of layer 1, head 8, as Plotly has it on the screen.
    place = grid.evaluate("""(plot) => {
      const { xaxis, yaxis } = plot._fullLayout;
      const { left, top } = plot.getBoundingClientRect();
      return [left + xaxis._offset + xaxis.d2p(8), top + yaxis._offset + yaxis.d2p(1)];
    }""")
    page.mouse.move(*place)
    page.mouse.click(*place)
    expect(page).to_have_url(re.compile(r"head=8"))
    share = 100 * statistics.label_share[statistics.labels.index("next"), 1, 8]
    sentence = page.get_by_text(re.compile(r"Layer 1 · head 8")).last
    expect(settled(page).locator(".st-key-corpus_right")).to_contain_text(f"next-token head on {share:.1f} %")
    assert sentence
    copied = new_context().new_page()
    copied.goto(page.url)
    expect(copied.locator(".st-key-corpus_right")).to_contain_text(f"next-token head on {share:.1f} %")

    page.get_by_role("radio", name="Strongest").click()
    at = 1, 8, statistics.measures.index("previous")
    first = settled(page).locator(".st-key-corpus_examples a").first
    value, text = first.inner_text().split(" · ", 1)
    assert float(value) == round(float(statistics.strongest.values[at][0]), 3)
    assert text.strip() in statistics.strongest.texts.values()
    first.click()
    expect(page.locator(".st-key-text textarea")).to_have_value(text.strip())
    expect(page.locator(".st-key-explorer")).to_be_visible()
