"""The page Train in Chromium: a head forms, and every snapshot can be gone through without the server."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from playwright.sync_api import Page, expect

from attnviz.training.tagged.files import tagged_files
from attnviz.ui.train.arrays import accuracy_without, at_snapshots, heads_of, reading_of
from tests.app.test_train_tagged import TEST, TRAIN
from tests.browser.board import matrix
from tests.browser.contexts import Contexts
from tests.browser.settings import open_settings
from tests.browser.settle import frames, in_the_end, settled, settled_once_at
from tests.browser.web_pages import opened as opened_from_disk
from tests.training import TASK, model_after

pytestmark = pytest.mark.page("one_page")

TEXT = "qweasdqweasdqweasd"
STEPS, RATE = 60, 0.01
LINK = f"steps={STEPS}&rate={RATE}&batch=64"
FEW = 10
SHORT = LINK.replace(f"{STEPS}", f"{FEW}", 1)
"""A training that is only there to be done"""
MINUTE = 60_000
Open = Callable[..., Page]


def opened(page: Page, app_url: str, query: str = LINK) -> Page:
    page.goto(f"{app_url}/train?{query}")
    page.locator(".training .large[data-step]").wait_for(timeout=MINUTE)
    return settled(page)


def trained(page: Page) -> None:
    page.keyboard.press("Enter")
    expect(page.locator(".training .state")).to_have_text(f"Step {STEPS} of {STEPS} · done", timeout=3 * MINUTE)
    in_the_end(page, lambda: shown_step(page), lambda step: step == STEPS, seconds=30)


def shown_step(page: Page) -> int:
    return int(page.locator(".training .large").get_attribute("data-step") or -1)


def weights(page: Page) -> np.ndarray:
    return matrix(page, "weights")


def visible(found: np.ndarray) -> np.ndarray:
    return np.tril(np.nan_to_num(found))


@pytest.fixture(scope="module")
def expected() -> dict[int, Any]:
    """What the same training gives in this process, at some steps."""
    reading = reading_of(TASK, *TASK.read(TEXT))
    models = model_after((0, 30, 45, STEPS), rate=RATE, steps=STEPS)
    return {step: (model, at_snapshots([model], reading)) for step, model in models.items()}


def test_a_head_forms_and_its_snapshots_are_torchs_and_played_and_exported(
    page: Page, app_url: str, expected: dict[int, Any], new_context: Contexts, tmp_path: Path
) -> None:
    opened(page, app_url, LINK + "&watch=decoder.1.1")
    nothing_is_cut_off(page)
    np.testing.assert_allclose(
        visible(weights(page)), expected[0][1]["weights.decoder"][0, 3] / 65535, rtol=0, atol=2e-3
    )
    trained(page)
    last = page.locator(".training .legend b")
    assert float(last.nth(0).inner_text().removesuffix(" %")) > 20
    expect(page.locator(".training .without .result")).to_be_visible(timeout=MINUTE)  # the last snapshot's has come
    it_is_played_and_so_is_the_exported_page(page, new_context, tmp_path)
    sent: list[object] = []
    page.on("websocket", lambda socket: socket.on("framesent", sent.append))
    page.on("request", lambda request: sent.append(request.url))
    pressed = 0
    while shown_step(page) > 45:
        page.keyboard.press("ArrowLeft")
        frames(page)
        pressed += 1
    assert pressed == 3
    # Where it stays for a moment, the accuracy without the head is asked for.
    assert [one for one in sent if "~a." not in str(one)] == [], (
        "the server is not asked for a snapshot that is gone through"
    )
    assert shown_step(page) == 45
    np.testing.assert_allclose(
        visible(weights(page)), expected[45][1]["weights.decoder"][0, 3] / 65535, rtol=0, atol=2e-3
    )
    expect(page.locator(".training .scrubber .said")).to_have_text("after 45 steps")
    expect(page.locator(".training .marker").first).to_be_attached()
    assert page.locator(".training .curves").first.get_attribute("data-step") == "45"
    # A number is read with the pointer, and pinned with a click.
    model, found = expected[45]
    box = page.locator(".training .large canvas").first.bounding_box()
    assert box
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] * 0.7)
    said = page.locator(".training .reading")
    expect(said).to_contain_text("looks at")
    query, key = (int(part.split()[-1]) for part in said.inner_text().split(" “")[:2])
    if key <= query:
        value = float(said.get_attribute("data-value") or "nan")
        assert value == pytest.approx(found["weights.decoder"][0, 3, query, key] / 65535, abs=2e-3)
    # The accuracy without the head, as this process finds it.
    without = page.locator(".training .without .result")
    expect(without).to_be_visible(timeout=MINUTE)
    tested = f"Accuracy on {len(TASK.held_out())} held-out sequences "  # more than those of the curve
    expect(page.locator(".training .without")).to_contain_text(tested)
    expect(page.locator(".training .curve h2").first).to_have_text("What it has learned, at step 40")
    number = [(place.layer, head) for place, head in heads_of(model)].index((1, 1))
    share = float(without.get_attribute("data-value") or "nan")
    assert share == pytest.approx(accuracy_without(model, TASK)[number], abs=5e-3)
    page.wait_for_url(lambda url: "snapshot=45" in url and "watch=decoder.1.1" in url)
    # The same snapshot on Step by step: all its weights, as this process computes them.
    page.get_by_role("button", name="Open on Step by step").click()
    page.wait_for_url(lambda url: "model=trained-" in url and "layer=1" in url and "head=1" in url, timeout=MINUTE)
    page.locator(".walk [data-painted][data-step=weights]").wait_for(timeout=MINUTE)
    settled(page)
    np.testing.assert_allclose(visible(weights(page)), found["weights.decoder"][0, 3] / 65535, rtol=0, atol=2e-3)
    expect(page.locator(".st-key-trained_card")).to_contain_text("After 45 steps")


def test_a_training_on_a_phone_survives_a_change_of_page_and_a_reload(app_url: str, new_context: Contexts) -> None:
    context = new_context(viewport={"width": 390, "height": 844}, has_touch=True, is_mobile=True)
    page = opened(context.new_page(), app_url, SHORT)
    assert page.evaluate("document.documentElement.scrollWidth") == 390
    page.locator(".training .main").tap()
    expect(page.locator(".training .state")).to_contain_text("done", timeout=3 * MINUTE)
    for css in (".training .main", ".training .large", ".training .slider, .training input[type=range]"):
        box = page.locator(css).first.bounding_box()
        assert box
        assert box["x"] >= 0
        assert box["x"] + box["width"] <= 390
    page.get_by_role("link", name="Start", exact=True).click()
    settled_once_at(page, "**/lessons*")
    page.go_back()
    done = f"Step {FEW} of {FEW} · done"
    expect(page.locator(".training .state")).to_have_text(done, timeout=MINUTE)
    page.reload()
    expect(page.locator(".training .state")).to_have_text(done, timeout=MINUTE)


def test_two_files_are_trained_and_tested_on(page: Page, app_url: str, tmp_path: Path) -> None:
    files = tagged_files(TRAIN, TEST)
    page.goto(f"{app_url}/train?task=tagging&steps=10&batch=16&rate=0.01")
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
    expect(page.locator(".training .state")).to_have_text("Step 10 of 10 · done", timeout=3 * MINUTE)
    expect(legend).to_contain_text(usual)
    assert "she" not in page.url
    expect(
        page.locator(".st-key-tagged_training")
    ).not_to_be_visible()  # the fields fold away; the settings are in reach
    expect(page.get_by_text("More settings")).to_be_in_viewport()


def test_stop_one_step_and_continue_with_keys(page: Page, app_url: str) -> None:
    opened(page, app_url, "steps=100000&batch=4&task=numbers")
    nothing_is_cut_off(page)
    state = page.locator(".training .state")
    page.keyboard.press("Enter")
    expect(state).to_contain_text("steps/s", timeout=MINUTE)
    page.keyboard.press("Enter")
    expect(state).to_contain_text("stopped", timeout=MINUTE)

    def step() -> int:
        return int(state.inner_text().split()[1].replace(",", ""))

    before = step()
    page.keyboard.press(".")
    assert in_the_end(page, step, lambda now: now > before, seconds=30) == before + 1
    expect(page.locator(".training .main")).to_have_text("▶ Continue")
    page.keyboard.press("Enter")
    expect(page.locator(".training .main")).to_have_text("■ Stop", timeout=MINUTE)
    page.keyboard.press("Enter")
    expect(state).to_contain_text("stopped", timeout=MINUTE)
    page.keyboard.press("l")
    expect(page.get_by_role("button", name="Leave lecture mode (L)")).to_be_visible()
    nothing_is_cut_off(settled(page))


def it_is_played_and_so_is_the_exported_page(page: Page, new_context: Contexts, tmp_path: Path) -> None:
    page.locator(".training .play").click()
    expect(page.locator(".training .play")).to_have_attribute("aria-label", "Pause")
    assert in_the_end(page, lambda: shown_step(page), lambda step: step < STEPS, seconds=10) < STEPS
    expect(page.locator(".training .said").first).to_have_text(f"after {STEPS} steps", timeout=MINUTE)
    expect(page.locator(".training .play")).to_have_attribute("aria-label", "Play the training")
    settled(page).locator(".st-key-export button").first.click()  # a run of the page would close it
    page.get_by_role("tab", name="Web page").click()
    with page.expect_download(timeout=MINUTE) as download:
        page.get_by_role("button", name="Interactive page").click()
    file = tmp_path / download.value.suggested_filename
    download.value.save_as(file)
    alone = new_context(offline=True).new_page()
    asked = opened_from_disk(alone, file, painted=".training .large[data-step]")
    assert asked == [file.as_uri()], "it asks nobody for anything"
    assert shown_step(alone) == STEPS
    np.testing.assert_array_equal(weights(alone), weights(page))
    before = weights(alone)
    alone.keyboard.press("ArrowLeft")
    assert in_the_end(alone, lambda: shown_step(alone), lambda step: step < STEPS, seconds=10) == STEPS - 5
    assert np.abs(visible(weights(alone)) - visible(before)).max() > 0.01
    expect(alone.locator(".training .top")).to_be_hidden()
    expect(alone.locator(".training .opener")).to_be_hidden()
    page.keyboard.press("Escape")
    settled(page)


def nothing_is_cut_off(page: Page) -> None:
    """Check that a projector shows all of it."""
    for css in (".transport", ".large", ".scrubber", ".answers"):
        box = page.locator(f".training {css}").bounding_box()
        assert box, css
        assert box["y"] + box["height"] <= 720, css
