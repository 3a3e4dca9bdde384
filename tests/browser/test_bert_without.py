"""The part of /bert that switches heads off, in Chromium: a head is clicked in the grid, and the cosine is read."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page, expect

from attnviz.bert.ablation import cosine, hidden_without
from attnviz.links.link import DEFAULT_TEXT
from tests.browser.board import middle_of_cell, painted
from tests.browser.settle import settled, settled_at
from tests.loaded import built_in_model

pytestmark = pytest.mark.page("one_page")


def whole(off: list[tuple[int, int]]) -> float:
    """Return the cosine of the sentence embedding without heads to that of the whole model."""
    model = built_in_model()
    hidden = hidden_without(model, model.tokenize(DEFAULT_TEXT), off)
    return float(cosine(model.trace(DEFAULT_TEXT).last_hidden_state.mean(0), hidden.mean(0)))


def test_a_head_is_switched_off_and_on_by_clicks_and_the_cosine_is_torchs(page: Page, app_url: str) -> None:
    page.goto(f"{app_url}/bert?bert_part=without&off=")
    said = page.locator(".st-key-off_right .stMarkdown").first
    expect(said).to_contain_text("Nothing is switched off")
    settled(page)
    for head, off in (((3, 1), [(3, 1)]), ((5, 7), [(3, 1), (5, 7)]), ((3, 1), [(5, 7)])):
        page.mouse.click(*middle_of_cell(page, *head))
        expect(page).to_have_url(re.compile(rf"off={'_'.join(f'{one}.{other}' for one, other in off)}$"))
        settled(page)
        found = re.search(r"a cosine of (\d\.\d{4}) to", said.inner_text())
        assert found is not None
        assert float(found[1]) == pytest.approx(whole(off), abs=6e-5)

    page.set_viewport_size({"width": 1920, "height": 1080})
    page.goto(f"{app_url}/bert?bert_part=without&off=&lecture=1")
    expect(said).to_contain_text("Nothing is switched off")
    settled(page)
    matrix, type_size = page.locator(".st-key-off_grid"), "element => parseFloat(getComputedStyle(element).fontSize)"
    assert (
        matrix.locator(".frame").evaluate("frame => frame.firstChild.attnviz.type.label") >= 27
    )  # 18 px at 1280 x 720
    assert page.locator(".st-key-off_tokens .columns li small").first.evaluate(type_size) >= 27
    assert matrix.locator(".line").evaluate(type_size) >= 27
    page.mouse.click(*middle_of_cell(page, 2, 3))
    expect(page).to_have_url(re.compile("off=2.3&"))


def test_a_head_is_switched_off_by_keys_and_its_effect_is_read(page: Page, app_url: str) -> None:
    settled_at(page, f"{app_url}/bert?bert_part=without&off=")
    matrix = page.locator(".st-key-off_grid")
    frames, line = matrix.locator("[data-state=pinned-frame]:visible"), matrix.locator(".line")
    expect(line).to_have_text("Point at a head to read its effect.")
    matrix.get_by_role("application").focus()
    for key in ("Enter", "ArrowDown", "ArrowRight", "ArrowRight"):
        page.keyboard.press(key)
    expect(line).to_contain_text("layer 1 · head 2: 1 − cosine ")
    effect = re.findall(r"cosine ([\d.e−-]+)", line.inner_text())[0]
    assert float(effect.replace("−", "-")) == pytest.approx(1 - whole([(1, 2)]), rel=0.01)
    expect(line).to_contain_text("a click switches it off")
    page.keyboard.press("Enter")
    expect(frames).to_have_count(1)
    expect(page).to_have_url(re.compile("off=1.2$"))
    expect(line).to_contain_text("a click switches it on again")
    announced = matrix.get_by_role("status")
    expect(announced).to_have_text(re.compile(r"^layer 1 · head 2: 1 − cosine \S+; switched off$"))
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Space")
    expect(page).to_have_url(re.compile("off=1.2_2.2$"))
    expect(frames).to_have_count(2)
    page.keyboard.press("Space")
    expect(announced).to_have_text(re.compile("; switched on again$"))
    expect(page).to_have_url(re.compile("off=1.2$"))
    expect(frames).to_have_count(1)


def test_a_head_is_switched_off_by_a_tap(one_touch_page: Page, app_url: str) -> None:
    page = one_touch_page
    page.set_viewport_size({"width": 390, "height": 844})
    settled_at(page, f"{app_url}/bert?bert_part=without&off=")
    page.touchscreen.tap(*middle_of_cell(page, 3, 11))
    expect(page).to_have_url(re.compile("off=3.11$"))
    expect(page.locator(".st-key-off_grid .line")).to_contain_text("layer 3 · head 11")


def test_the_matrix_and_the_bars_are_saved_as_pictures(page: Page, app_url: str) -> None:
    settled_at(page, f"{app_url}/bert?bert_part=without&off=3.1")
    numbers = painted(page, "heads")["inside"]
    page.get_by_role("button", name="Export").click()
    view = page.locator(".export-view[data-ready]")
    expect(view.get_by_text("tokens without layer 3 · head 1")).to_be_visible()
    expect(view.get_by_text("heatmaps")).to_be_visible()
    with page.expect_download() as download:
        view.get_by_role("button", name="Download").click()
    assert download.value.suggested_filename == "attnviz-bert-without.svg"
    svg = download.value.path().read_text(encoding="utf-8")
    texts = re.findall(r"<text[^>]*>([^<]*)</text>", svg)
    assert texts.count("1 − cosine") == 1
    assert not {"tired", "token", "layer", "head", *numbers} - set(texts)
    turned = re.findall(r"<text[^>]*>animal</text>", svg)[0]
    assert "matrix" in turned or "rotate" in turned
