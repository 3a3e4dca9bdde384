"""Embeddings and back on /bert in Chromium: junk, then the text again, one token written out, neighbours searched."""

from __future__ import annotations

import re

import pytest
import torch
from playwright.sync_api import Page, expect
from torch.nn import functional

from tests.browser.settle import settled
from tests.loaded import built_in_model

MINUTE = 60_000
TEXT = "The cat sat on the mat."


def test_a_text_is_lost_and_comes_back_and_its_numbers_are_torchs(page: Page, app_url: str) -> None:
    page.goto(f"{app_url}/bert?bert_part=back&back_weights=random&text={TEXT}")
    out = page.locator(".back .out")
    expect(page.locator(".back .texts")).to_contain_text("0 of 9 ids come back", timeout=MINUTE)
    settled(page)
    page.locator(".st-key-back_weights button", has_text="The model's own").click()
    expect(out).to_have_text(TEXT.lower(), timeout=MINUTE)
    settled(page)
    page.locator(".st-key-back_view button", has_text="written out").click()
    page.locator(".st-key-q button", has_text="cat").click()
    expect(page.locator(".back .written").first).to_contain_text("“cat”", timeout=MINUTE)
    settled(page)
    model = built_in_model()
    weight, cat = model.bert.embeddings.token.weight, model.tokenize(TEXT).ids[2]
    logits = weight @ weight[cat]
    logit, total = (page.locator(f".back b.{name}").inner_text().replace(",", "") for name in ("logit", "sum"))
    assert float(logit) == pytest.approx(logits.max().item(), abs=6e-4)
    assert float(total) == pytest.approx((logits - logits.max()).exp().sum().item(), rel=1e-4)
    page.locator(".st-key-back_view button", has_text="Nearest").click()
    search = page.locator(".st-key-back_piece input")
    search.fill("queen")
    search.press("Enter")
    table = page.locator('.back table[data-by="cosine"]')
    expect(table).to_contain_text("“queen”", timeout=MINUTE)
    settled(page)
    row = weight[torch.tensor(model.tokenize("queen").ids[1])]
    second = functional.cosine_similarity(weight, row[None]).topk(2).values[1].item()
    assert float(table.locator("tbody tr").nth(1).locator("td").nth(2).inner_text()) == pytest.approx(second, abs=6e-4)
    expect(page).to_have_url(re.compile("back_piece=queen"))
