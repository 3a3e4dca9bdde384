"""The classifier and the agent of /bert in Chromium: a file is taken, a click trains, a probability is read off.

The file holds a few of the built-in reviews, which tests/app/test_bert_classifier.py trains on."""

from __future__ import annotations

import csv
import io
import re

import pytest
import torch
from playwright.sync_api import Page, expect

from attnviz.bert.classification.classifier import plan_of, pool, vectors_of
from attnviz.bert.classification.examples import built_in, examples_of, read_table
from attnviz.bert.classification.shipped import load as load_shipped
from attnviz.training.loop import Trainer
from attnviz.training.plan import build
from attnviz.training.vectors import Vectors
from tests.browser.settings import open_settings, type_text
from tests.browser.settle import in_the_end, settled
from tests.loaded import built_in_model

pytestmark = pytest.mark.page("one_page")

STEPS = 40
DONE = f"Trained now, on the mean over tokens: seed 1, {STEPS} steps"
FILE = "some.csv"
TEXT = "I loved every minute of it."


def some_reviews() -> bytes:
    """Return a CSV file with each seventh of the built-in reviews."""
    texts, file = built_in("reviews"), io.StringIO()
    rows = csv.writer(file)
    rows.writerow(["text", "label"])
    rows.writerows((texts.texts[n], texts.labels[texts.classes[n]]) for n in range(0, len(texts), 7))
    return file.getvalue().encode()


def layer_here(data: bytes) -> tuple[torch.nn.Module, float]:
    """Train a linear layer in this process, and return it with its accuracy on held-out texts."""
    texts = examples_of(read_table(data), data, name=FILE, text="text", label="label")
    plan = plan_of(len(texts.labels), 384, steps=STEPS, seed=1)
    vectors = vectors_of(texts, pool(built_in_model(), texts.texts), "mean", tanh=False)
    subject = Vectors(vectors, len(texts.labels), 1)
    trainer = Trainer(build(plan.model, 1), subject.batch, plan.training)
    for _ in range(STEPS):
        trainer.advance()
    held = subject.held_out()
    with torch.no_grad():
        right = (trainer.model(held.ids).argmax(-1) == held.targets).float().mean().item()
    return trainer.model.requires_grad_(requires_grad=False), right


def share(page: Page) -> float:
    """Read the share of held-out texts that are right, in %."""
    found = re.match(r"([\d.]+) %", page.get_by_text("held-out texts are right").inner_text())
    return float(found[1]) if found else -1.0


def test_a_classifier_is_trained_and_it_and_the_agent_are_asked(page: Page, app_url: str) -> None:
    data = some_reviews()
    layer, right = layer_here(data)
    page.goto(f"{app_url}/bert?bert_part=classifier&class_steps={STEPS}&seed=1")
    open_settings(settled(page))
    page.locator(".st-key-class_from button", has_text="Your CSV").click()
    page.locator(".st-key-class_file input[type=file]").set_input_files(
        {"name": FILE, "mimeType": "text/csv", "buffer": data}
    )
    expect(page.get_by_text(f"{FILE}: {len(data.splitlines()) - 1} rows")).to_be_visible()
    page.get_by_role("button", name="Train", exact=True).click()
    expect(page.get_by_text(DONE)).to_be_visible()
    near = pytest.approx(100 * right, abs=4.8)  # one text at the border
    assert in_the_end(page, lambda: share(page), lambda found: found == near) == near
    page.locator(".st-key-class_view button", has_text="Your sentence").click()
    type_text(page, TEXT, "sentence")
    read = pool(built_in_model(), [TEXT])
    positive = layer(read.mean)[0].softmax(-1)[1].item()
    some = "|".join(f"{100 * positive + step / 10:.1f}" for step in range(-3, 4))  # weights are sent in float16
    expect(page.get_by_text(re.compile(rf"positive ({some}) %")).first).to_be_visible()

    # tests/app/test_bert_agent.py trains the agent; what is asked here is the one that ships.
    page.goto(f"{app_url}/bert?bert_part=agent&agent_view=result")
    page.locator(".st-key-agent_view button", has_text="Your report").click()
    type_text(page, TEXT, "report")
    probabilities = load_shipped("agent").classifier.probabilities(read)[0]
    expect(page.locator(".calls code").nth(3)).to_contain_text(TEXT)
    for number in range(4):
        cell = page.locator(".calls tr").nth(number + 1).locator("td").nth(2).inner_text()
        assert float(cell.removesuffix(" %")) == pytest.approx(100 * probabilities[number].item(), abs=0.3)
