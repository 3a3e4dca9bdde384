"""The classifier of /bert in Chromium: a file is taken, a click trains on it, and a typed sentence is answered.

tests/app/test_bert_classifier.py compares the numbers with torch, and test_bert_agent.py those of the agent."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page, expect

from tests.app.test_bert_classifier import CSV
from tests.browser.settings import open_settings, type_text
from tests.browser.settle import settled

pytestmark = pytest.mark.page("one_page")

STEPS = 100


def test_a_file_is_trained_on_and_what_it_makes_is_asked(page: Page, app_url: str) -> None:
    page.goto(f"{app_url}/bert?bert_part=classifier&class_steps={STEPS}&seed=1")
    open_settings(settled(page))
    page.locator(".st-key-class_from button", has_text="Your CSV").click()
    page.locator(".st-key-class_file input[type=file]").set_input_files(
        {"name": "weather.csv", "mimeType": "text/csv", "buffer": CSV.encode()}
    )
    expect(page.get_by_text("weather.csv: 40 rows")).to_be_visible()
    page.get_by_role("button", name="Train", exact=True).click()
    expect(page.get_by_text(f"Trained now, on the mean over tokens: seed 1, {STEPS} steps")).to_be_visible()
    expect(page.get_by_text("100.0 % of 10 held-out texts are right")).to_be_visible()
    page.locator(".st-key-class_view button", has_text="Your sentence").click()
    type_text(page, "cold rain at night", "sentence")
    expect(page.get_by_text(re.compile(r"rain [5-9]\d\.\d %")).first).to_be_visible()
