"""The button "Surprise me": what the page says and shows, against torch."""

from __future__ import annotations

import re

import pytest
import torch
from playwright.sync_api import Page, expect

from tests.browser.settings import surprise, type_text
from tests.browser.settle import settled, settled_at
from tests.loaded import built_in_model

pytestmark = pytest.mark.page("one_page")

BICYCLE = "My sister bought a bicycle because she wanted to ride it to work."


def test_surprise_shows_the_number_that_torch_computes(page: Page, app_url: str) -> None:
    settled_at(page, app_url)
    type_text(page, BICYCLE)
    settled(page)
    trace = built_in_model().trace(BICYCLE)
    weights = torch.stack([trace.attentions(layer) for layer in range(6)])  # (L, H, T, T)
    seen = []
    for _ in range(2):
        surprise(page)
        settled(page)
        says = page.locator(".said").inner_text()
        layer, head, query, key, own, others = re.findall(
            r"Layer (\d), head (\d+): “(\w+)” looks at “(\w+)” with (0\.\d\d); .* mean is (0\.\d\d)", says
        )[0]
        rows = [at for at, label in enumerate(trace.tokens.labels) if label == query]
        cells = [(q, k) for q in rows for k, label in enumerate(trace.tokens.labels) if label == key]
        q, k = max(cells, key=lambda cell: float(weights[int(layer), int(head)][cell]))
        expected = float(weights[int(layer), int(head), q, k])
        mean = (float(weights[:, :, q, k].sum()) - expected) / 71
        assert (float(own), float(others)) == (pytest.approx(expected, abs=0.0051), pytest.approx(mean, abs=0.0051))
        sentence = page.get_by_role("region", name="Sentence")
        if not sentence.get_by_role("table").count():
            sentence.get_by_role("button", name="How is ").click()
        shown = sentence.get_by_role("row", name=re.compile(f"^{key} ")).locator("[data-result]").first
        assert float(shown.get_attribute("data-value") or "nan") == pytest.approx(expected, abs=1e-4)
        expect(page.locator(".strip [aria-pressed=true]")).to_have_text(head)
        seen.append((layer, head))
    assert seen[0] == ("3", "1")
    assert seen[1] != seen[0]
    page.get_by_role("radio", name="Weights").click()
    settled(page)
    (pinned,) = re.findall(r"[?&]q=(\d+)", page.url)
    expect(page.locator(".walk .fact")).to_contain_text(f"row {pinned}, ")


def test_on_a_phone_what_it_says_is_seen(one_touch_page: Page, app_url: str) -> None:
    page = one_touch_page
    page.set_viewport_size({"width": 390, "height": 844})
    page.emulate_media(color_scheme="dark")
    settled_at(page, app_url)
    surprise(page)
    expect(page.locator(".said")).to_be_in_viewport()
    settled(page)
    chosen = page.locator(".strip [aria-pressed=true]")
    expect(chosen).to_be_in_viewport()
    page.locator(".strip button").last.click()
    settled(page)
    expect(chosen).to_have_text("11")
    page.reload()
    settled(page)
    expect(chosen).to_have_text("11")
    expect(chosen).to_be_in_viewport()
    page.evaluate("document.querySelector('[data-testid=stMain]').scrollTo(0, 300)")
    behind = page.locator("[data-testid=stHeader]")  # what scrolls below the name and the toolbar is not seen there
    assert behind.evaluate("header => getComputedStyle(header).backgroundColor").startswith("rgb(")  # not transparent
    assert page.evaluate("document.elementFromPoint(30, 28)?.textContent") == "attnviz"
    assert page.evaluate("document.elementFromPoint(195, 56)?.closest('[data-testid=stHeader]') !== null")
