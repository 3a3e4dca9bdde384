"""Tagging a user's own files in Chromium: the files go up, a model is trained on them, beside the baseline."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from attnviz.training.tagged.files import tagged_files
from tests.app.test_train_tagged import TEST, TRAIN
from tests.browser.settings import open_settings
from tests.browser.settle import settled

pytestmark = pytest.mark.page("one_page")

MINUTE = 60_000


def test_two_files_are_trained_and_tested_on(page: Page, app_url: str, tmp_path: Path) -> None:
    files = tagged_files(TRAIN, TEST)
    page.set_viewport_size({"width": 1280, "height": 720})
    page.goto(f"{app_url}/train?task=tagging&steps=40&batch=16&rate=0.01")
    page.locator(".training .large[data-step]").wait_for(timeout=MINUTE)
    open_settings(page)
    page.locator(".st-key-tagged_from").get_by_text("Your files").click()
    for which, data in (("training", TRAIN), ("test", TEST)):
        (tmp_path / f"{which}.txt").write_bytes(data)
        page.locator(f".st-key-tagged_{which} input[type=file]").set_input_files(tmp_path / f"{which}.txt")
        settled(page)
    expect(page.get_by_text("No link holds the files.")).to_be_visible(timeout=MINUTE)
    usual = f"baseline {100 * files.baseline.accuracy:.1f} %"
    legend = page.locator(".training .legend").first
    expect(legend).to_contain_text(usual)
    # The line is where the axis has that share.
    line = page.locator(".training .curves.shares .lines path.baseline")
    rules = page.locator(".training .curves.shares .axes .rule")
    bottom, top = (float(rules.nth(at).get_attribute("y1") or "nan") for at in (0, rules.count() - 1))
    y = float((line.get_attribute("d") or "").split("L")[0].split(",")[1])
    assert y == pytest.approx(bottom + (top - bottom) * files.baseline.accuracy, abs=0.2)
    page.locator(".training .transport .main").click()
    expect(page.locator(".training .state")).to_have_text("Step 40 of 40 · done", timeout=3 * MINUTE)
    expect(legend).to_contain_text(usual)
    assert "she" not in page.url
    expect(
        page.locator(".st-key-tagged_training")
    ).not_to_be_visible()  # the fields fold away; the settings are in reach
    expect(page.get_by_text("More settings")).to_be_in_viewport()
