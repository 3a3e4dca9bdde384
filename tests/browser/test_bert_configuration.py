"""The configuration on /bert in Chromium: its numbers are read beside those of BERT-base."""

from __future__ import annotations

from playwright.sync_api import Page, expect
from torch import nn

from tests.browser.settle import settled
from tests.loaded import built_in_model

MINUTE = 60_000


def test_the_numbers_are_those_of_the_loaded_model(page: Page, app_url: str) -> None:
    page.goto(f"{app_url}/bert")
    words = page.locator(".sizes.words")
    expect(words).to_be_visible(timeout=MINUTE)
    settled(page)
    model = built_in_model()
    vocabulary, width = model.bert.embeddings.token.weight.shape
    assert words.locator("td.own").all_inner_texts()[:2] == [f"{vocabulary:,}", f"{width:,}"]
    tables = page.locator(".sizes:not(.words) tbody")
    expect(tables).to_contain_text(f"{nn.Embedding(20_000, 32).weight.numel():,}")
    expect(tables).to_contain_text(f"{vocabulary * width:,}")
    bars = page.get_by_role("list", name="parameters, millions").get_by_role("img")
    assert bars.count() == 2 * 6
    assert bars.first.get_attribute("aria-label") == f"MiniLM (a small BERT): {vocabulary * width / 1e6:.3g}"
    lengths = [bar.evaluate("(e) => e.querySelector('i')?.getBoundingClientRect().width ?? 0") for bar in bars.all()]
    assert abs(lengths[0] / lengths[1] - width / 768) < 0.01, "the tables of tokens have as many rows"
    assert lengths[-2] == 0, "the pooler is not loaded"
    page.get_by_text("All numbers of parameters").click()
    together = page.get_by_role("row", name="together")
    expect(together).to_contain_text(f"{sum(weight.numel() for weight in model.bert.parameters()):,}")
    expect(together).to_contain_text("109,482,240")
