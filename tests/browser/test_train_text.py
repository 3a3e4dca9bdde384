"""The parts Text and Generate of Train in Chromium: losses, the table of pairs and the numbers of a draw are read."""

from __future__ import annotations

import re
from collections import Counter
from itertools import pairwise
from string import ascii_letters

import numpy as np
import pytest
import torch
from playwright.sync_api import Page, expect

from attnviz import trained
from attnviz.tokens import CharVocab
from attnviz.training.loop import Trainer
from attnviz.training.plan import build
from attnviz.training.series import BLOCK, SERIES
from attnviz.training.text.corpus import built_in
from attnviz.training.text.subject import Text, validation_loss
from attnviz.ui.train.plans import stage_plan_of
from attnviz.ui.train.text import built_in_facts
from tests.browser.settle import frames, in_the_end, settled, settled_at

pytestmark = pytest.mark.page("one_page")

STEPS = 30
MINUTE = 60_000
PROMPT = "ROMEO:\n"
VIEW = {"steps": STEPS, "train_dropout": 0.1, "decay": "cosine", "seed": 0}


def loss_here(number: int) -> float:
    """Train a stage in this process, and return its loss over the whole validation part."""
    text = Text(built_in(), BLOCK)
    plan = stage_plan_of(SERIES[number], len(text.labels), VIEW.get)
    trainer = Trainer(build(plan.model, plan.training.seed), text.batch, plan.training)
    for _ in range(STEPS):
        trainer.advance()
    return validation_loss(trainer.model, text.validation, BLOCK)


def trained_stage(page: Page, name: str) -> float:
    """Train a stage with its button, and return the loss that its row says."""
    row = page.locator(f'tr[data-stage="{name}"]')
    row.locator(".train").click()
    expect(row).to_have_attribute("data-state", "done", timeout=2 * MINUTE)
    return float(row.locator("td").nth(4).get_attribute("data-value") or "nan")


def test_a_covered_row_is_guessed_and_revealed(page: Page, app_url: str) -> None:
    page.goto(f"{app_url}/train?train_part=text&rung=head&q=4&k=3&predict=1")
    reading = page.locator(".model-series .head-parts .reading")
    guess = page.locator(".model-series .head-parts .guess")
    expect(guess).to_contain_text("Row 4, “a”, is covered.", timeout=MINUTE)
    expect(reading).to_have_text("Covered.")
    settled(page)
    page.get_by_role("button", name="Reveal", exact=True).click()
    expect(guess).to_contain_text("the largest is column 3 (“w”), with 0.64")
    expect(reading).to_have_text(re.compile(r"0\.64"))
    expect(page).not_to_have_url(re.compile("predict"))


def test_a_stage_is_trained_and_the_table_and_a_loss_are_read(page: Page, app_url: str) -> None:
    page.goto(f"{app_url}/train?train_part=text&steps={STEPS}&train_dropout=0.1&decay=cosine")
    page.locator(".model-series tr[data-stage]").first.wait_for(timeout=MINUTE)
    settled(page)
    assert trained_stage(page, "head") == pytest.approx(loss_here(1), abs=1e-4)
    lines = page.locator(".model-series .lines path")
    assert lines.evaluate_all("all => all.map((one) => one.textContent)")[1:] == [
        "One head before: recorded", "One head", f"counted bigram: {built_in_facts().floor:.3f}"
    ]  # fmt: skip
    before = "Faint: “One head” trained before, recorded (1.76 after 2,000 steps)"
    expect(page.locator(".model-series .faint")).to_have_text(before)
    # One step of another stage, and a second one.
    page.locator('tr[data-stage="heads"] .name').click()
    for step in (1, 2):
        page.locator(".model-series .one").click()
        expect(page.locator(".model-series .state")).to_have_text(
            f"Four heads: Step {step} of {STEPS} · stopped", timeout=MINUTE
        )
    page.locator('tr[data-stage="head"] .name').click()
    expect(page.locator(".model-series .written")).to_have_attribute("data-step", str(STEPS), timeout=MINUTE)
    # One loss: what is written out equals torch's.
    page.locator('button[data-view="loss"]').click()
    shown = page.locator(".model-series .arithmetic .torch")
    expect(shown).to_be_visible(timeout=MINUTE)
    mean = float(page.locator(".model-series .arithmetic .result").nth(3).get_attribute("data-value") or "nan")
    assert mean == pytest.approx(float(shown.get_attribute("data-value") or "nan"), abs=1e-5)
    # A cell of the table: its count, as a count by hand.
    page.locator('button[data-view="table"]').click()
    canvas = page.locator(".model-series .pairs canvas").first
    expect(canvas).to_be_visible(timeout=MINUTE)
    reading = page.locator(".model-series .pairs .reading:not(.vowels)")
    box = canvas.bounding_box()
    assert box

    def point() -> str:
        page.mouse.move(box["x"] + box["width"] * 0.2, box["y"] + box["height"] * 0.4)
        page.mouse.move(box["x"] + box["width"] * 0.2 + 1, box["y"] + box["height"] * 0.4)
        return reading.inner_text()

    said = in_the_end(page, point, lambda said: "follows" in said, seconds=30)
    after, before, times = re.findall(r"“(.+?)” follows “(.+?)” ([\d,]+) times", said or reading.inner_text())[0]
    facts = built_in_facts()
    pair = "".join({"␣": " ", "⏎": "\n"}.get(one, one) for one in (before, after))
    part = facts.text[: facts.train]
    assert int(times.replace(",", "")) == sum(part[at : at + 2] == pair for at in range(len(part)))
    # Consonants before vowels, as a count by hand.
    kinds = ["vowel" if one in "aeiouAEIOU" else "consonant" if one in ascii_letters else "" for one in part]
    pairs, single = Counter(pairwise(kinds)), Counter(kinds)
    follows = sum(count for (one, _), count in pairs.items() if one == "consonant")
    share, anywhere = pairs["consonant", "vowel"] / follows, single["vowel"] / len(part)
    expect(page.locator(".model-series .pairs .vowels")).to_have_text(
        f"After a consonant a vowel (a, e, i, o, u) follows {pairs['consonant', 'vowel']:,} times of {follows:,}: "
        f"{100 * share:.1f} %. Of all {len(part):,} characters {100 * anywhere:.1f} % are vowels, so a vowel is "
        f"{share / anywhere:.2f} times as frequent after a consonant as anywhere."
    )
    # The text in chunks: the second one repeats the end of the first.
    page.locator('button[data-view="data"]').click()
    page.locator('button[data-cut="chunks"]').click()
    second = page.locator(".model-series .cut .ids").nth(1)
    expect(second.locator(".repeated")).to_have_count(8, timeout=MINUTE)
    line = facts.text.split("\n")[0]
    ids = [facts.labels.index(one) for one in line[32:72] + "\n" * (len(line) <= 72)]
    assert [int(one) for one in second.locator(".id").all_inner_texts()] == ids
    expect(page).to_have_url(re.compile("cut=chunks"))


def test_a_turned_phone_stacks_the_tables_of_pairs(page: Page, app_url: str) -> None:
    grid = "deepFind('.pairs .attnviz-board')?.attnviz.shown?.grid"
    page.set_viewport_size({"width": 844, "height": 390})
    settled_at(page, f"{app_url}/train?train_part=text&text_view=table")
    page.wait_for_function(f"() => {grid}?.flat().length === 2")  # the counted table comes before the learned one
    assert page.evaluate(grid) == [[0, 1]]
    page.set_viewport_size({"width": 390, "height": 844})
    page.wait_for_function(f"() => {grid}?.length === 2")
    expect(page.locator(".pairs .large")).to_have_class("large two")
    page.set_viewport_size({"width": 844, "height": 390})
    page.wait_for_function(f"() => {grid}?.length === 1")


# ---- Generate


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
