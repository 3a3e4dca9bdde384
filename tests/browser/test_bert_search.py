"""Search by meaning in Chromium: a query is typed, the best hit and its score are read, a text is pasted."""

from __future__ import annotations

import re

import pytest
import torch
from playwright.sync_api import Page, expect
from transformers import AutoModel, AutoTokenizer

from attnviz.bert.search import built_in
from attnviz.pretrained.described import find_folder
from tests.browser.settings import open_settings
from tests.browser.settle import settled

MINUTE = 60_000
QUERY, PASTED = "someone is ill", "The train was late. A cat was sleeping on the sofa. Prices went up."


def cosines(query: str, sentences: list[str]) -> torch.Tensor:
    """Compute the cosines of sentence embeddings with transformers."""
    tokenizer, model = AutoTokenizer.from_pretrained(find_folder()), AutoModel.from_pretrained(find_folder()).eval()
    inputs = tokenizer([query, *sentences], padding=True, return_tensors="pt")
    with torch.inference_mode():
        hidden = model(**inputs).last_hidden_state
    sums = (hidden * inputs["attention_mask"][..., None]).sum(1)
    return torch.cosine_similarity(sums[:1], sums[1:])


def test_a_query_is_typed_a_hit_is_read_and_a_text_is_pasted(page: Page, app_url: str) -> None:
    page.goto(f"{app_url}/bert?bert_part=search")
    best = page.locator(".st-key-hit_meaning_1")
    expect(best).to_be_visible(timeout=MINUTE)
    field = page.locator(".st-key-find input")
    field.fill(QUERY)
    field.press("Enter")
    sentences = list(built_in().sentences)
    expected = cosines(QUERY, sentences)
    expect(best).to_contain_text(sentences[int(expected.argmax())], timeout=MINUTE)
    expect(page).to_have_url(re.compile(r"find=someone\+is\+ill|find=someone%20is%20ill"))
    score = float(re.findall(r"\d\.\d+", best.inner_text())[0])
    assert score == pytest.approx(float(expected.max()), abs=6e-4)
    # A point of the map is clicked: its sentence is shown.
    page.locator(".st-key-find_view").get_by_text("Map", exact=True).click()
    points = page.locator(".stPlotlyChart .scatterlayer .trace").nth(1).locator("path.point")
    expect(points).to_have_count(5, timeout=MINUTE)  # the best hits but the one that is looked at
    settled(page)
    points.last.click(force=True)
    expect(page).to_have_url(re.compile("hit=[0-9]+"), timeout=MINUTE)
    chosen = sentences[int(re.findall("hit=([0-9]+)", page.url)[0])]
    assert chosen in [sentences[place] for place in expected.argsort(descending=True)[1:6].tolist()]
    expect(page.get_by_text(chosen).first).to_be_visible()
    # A text is pasted: it is searched, and the field is empty again, so that no later message carries it.
    page.locator(".st-key-find_view").get_by_text("Ranking", exact=True).click()
    open_settings(page)
    page.locator(".st-key-search_text_from").get_by_text("Paste", exact=True).click()
    area = page.locator(".st-key-search_text_pasted textarea")
    area.fill(PASTED)
    page.get_by_role("button", name="Search in this text").click()
    expect(page.locator('[class*="st-key-hit_meaning_"]')).to_have_count(3, timeout=MINUTE)
    expect(area).to_have_value("")
    own = ["The train was late.", "A cat was sleeping on the sofa.", "Prices went up."]
    expect(best).to_contain_text(own[int(cosines(QUERY, own).argmax())])
    assert "cat" not in page.url
