"""The part Generate of the page Train in Chromium: numbers of a draw, and what goes on without the server."""

from __future__ import annotations

import re

import numpy as np
import pytest
import torch
from playwright.sync_api import Page, expect

from attnviz import trained
from attnviz.tokens import CharVocab
from tests.browser.settle import frames, in_the_end, settled

PROMPT = "ROMEO:\n"

pytestmark = pytest.mark.page("one_page")


def opened(page: Page, app_url: str, query: str) -> Page:
    page.goto(f"{app_url}/train?train_part=generate&{query}")
    page.locator('.generation[data-state="ready"]').wait_for()
    return settled(page)


def written(page: Page) -> str:
    found: list[str] = page.locator(".generation > .text .drawn").evaluate_all("all => all.map(one => one.textContent)")
    return "".join(found).replace("↵", "")


def logits_after(text: str) -> torch.Tensor:
    model = trained.load("chargpt")
    return model.logits(torch.tensor(CharVocab(model.labels).encode(text)))[-1]


def test_a_draws_numbers_are_torchs_and_choosing_needs_no_server(page: Page, app_url: str) -> None:
    opened(page, app_url, "length=260&top_k=6&seed=3")
    text, labels = written(page), trained.load("chargpt").labels
    assert len(text) == 260
    room, last = (page.locator(f".generation > .text{one}").bounding_box() for one in ("", " .chosen"))
    assert room and last
    assert room["y"] <= last["y"] < last["y"] + last["height"] <= room["y"] + room["height"] + 1
    sent: list[object] = []
    page.on("request", lambda request: sent.append(request.url))
    page.locator('.generation .drawn[data-n="12"]').click()
    page.keyboard.press("ArrowLeft")
    frames(page)
    assert page.locator(".generation").get_attribute("data-n") == "11"
    logits = logits_after(PROMPT + text[:11])
    likely, order = logits.sort(descending=True)
    expected = (likely[:6] / 0.8).softmax(-1)
    values = page.locator(".generation .drawing .probability").evaluate_all("all => all.map(one => one.dataset.value)")
    found = np.array(values[:7], float)
    np.testing.assert_allclose(found[:6], expected, atol=1e-5)
    assert found[6] == 0
    own = page.locator(".generation .drawing tr.own")
    rank = int(own.get_attribute("data-rank") or -1)
    assert labels[int(order[rank])] == text[11]
    # The drawn number falls into the character's part of the line from 0 to 1.
    sentence = page.locator(".generation .drawing .said").inner_text()
    number, low, high = (float(one) for one in re.findall(r"\d\.\d{4}", sentence))
    assert low <= number <= high
    assert high - low == pytest.approx(float(expected[rank]), abs=2e-4)
    # Attention of the last position, read with the pointer.
    trace = trained.load("chargpt").trace(PROMPT + text[:11])
    canvas = page.locator(".generation .attention canvas")
    box = canvas.bounding_box()
    assert box
    canvas.hover(position={"x": box["width"] - 2, "y": box["height"] * 7.5 / 25})
    said = page.locator(".generation .attention .reading")
    expect(said).to_contain_text("layer 1, head 2 looks at")
    assert float(said.get_attribute("data-value") or "nan") == pytest.approx(
        float(trace.attentions(1)[2, -1, -1]), abs=2e-5
    )
    assert sent == [], "the browser has all numbers"
    page.wait_for_url(lambda url: "drawn=11" in url)
    # A click on the row colours the text by that head, and the link says so.
    canvas.click(position={"x": 5, "y": box["height"] * 7.5 / 25})
    expect(page.locator(".generation > .text.by-weight")).to_be_visible()
    page.wait_for_url(lambda url: "watch=decoder.1.2" in url)


def test_another_seed_gives_another_text_the_one_that_stood_beside(page: Page, app_url: str) -> None:
    opened(page, app_url, "length=40&panel=seeds")
    before, pair = written(page), page.locator(".generation .seeds .pair .text")
    expect(pair).to_have_count(2)
    first, second = (one.replace("↵", "") for one in pair.all_inner_texts())
    assert first.replace("\n", "") == before.replace("\n", "")
    page.get_by_role("button", name="Again: next seed").click()
    page.wait_for_url(lambda url: "seed=1" in url)
    expect(page.locator(".st-key-seed input")).to_have_value("1")
    # The text before stays, ready, until the page has run: what is written says when the new one is here.
    assert in_the_end(page, lambda: written(page), lambda text: text != before).replace("\n", "") == second.replace(
        "\n", ""
    )
    assert first.replace("\n", "") != second.replace("\n", "")
    page.get_by_role("button", name="Key-value cache", exact=True).click()
    said = page.locator(".generation .cache .said")
    expect(said).to_have_attribute("data-same", "true")
    cells = page.locator('.generation .cache tr[data-name="computed"] td').all_inner_texts()
    assert cells[:2] == [f"{sum(range(7, 47)):,}", "46"]
