"""Words in the app that name parts of a picture: a lesson's sentence, names of heads, the text under the heatmaps."""

from __future__ import annotations

import re
from urllib.parse import urlencode

import numpy as np
import pytest
from playwright.sync_api import Locator, Page, expect

from attnviz.lessons import PATHS, shipped
from tests.app.test_trained_models import TEXT as LETTERS
from tests.app.test_trained_models import weights
from tests.browser.apps.explored import Explored
from tests.browser.apps.inspector_page import PICTURE, POINT, marks_on
from tests.browser.board import cells, matrix
from tests.browser.settings import open_settings, surprise, type_text
from tests.browser.settle import frames, settled, settled_at, settled_once_at
from tests.loaded import built_in_model

BICYCLE = "My sister bought a bicycle because she wanted to ride it to work."

pytestmark = pytest.mark.page("one_page")


def heads(page: Page, app_url: str, **link: str) -> Explored:
    page.goto(f"{app_url}/heads?{urlencode({'text': BICYCLE, **link})}")
    return Explored(page)


def scene_at(page: Page, app_url: str, name: str, number: int) -> Page:
    """Open a scene of a shipped lesson, its answer shown."""
    scene = shipped()[name].scenes[number - 1]
    view = "&".join(part for part in scene.query.split("&") if part != "predict=1")
    return settled_at(page, f"{app_url}{PATHS[scene.page]}?{view}&lesson={name}&scene={number}&lecture=1")


def said(page: Page, text: str) -> Locator:
    return page.locator(".lesson-says").get_by_role("button", name=text, exact=True)


def test_a_lessons_sentence_lights_the_walk_and_the_walk_the_sentence(page: Page, app_url: str) -> None:
    scene_at(page, app_url, "attention", 8)
    said(page, "0.31").hover()
    assert marks_on(page) == {("weights", "row"), ("weights", "column"), ("weights", "cell")}
    said(page, "“run”").click()
    assert ("weights", "column") in marks_on(page, "pinned")
    expect(said(page, "“run”")).to_have_attribute("aria-pressed", "true")
    settled_once_at(page, "**k=5**")
    page.mouse.move(*page.evaluate(POINT, [PICTURE, "weights", 1, 4]))
    expect(said(page, "0.63")).to_have_attribute("data-lit", "pointer")
    expect(said(page, "“dog”")).to_have_attribute("data-lit", "pointer")
    expect(said(page, "0.31")).not_to_have_attribute("data-lit", "pointer")
    page.mouse.move(*page.evaluate(POINT, [PICTURE, "row_sum", 1, 0]))
    expect(said(page, "1.00")).to_have_attribute("data-lit", "pointer")
    page.keyboard.press("ArrowRight")  # to the next scene, whose sentence comes with its picture
    expect(said(page, "Row “cat” of the output")).to_be_visible()
    settled(page)
    said(page, "value of “dog”").hover()
    assert marks_on(page) == {("value", "row")}


def test_a_lessons_sentence_lights_a_comparison_and_the_heads(page: Page, app_url: str) -> None:
    scene_at(page, app_url, "why", 9)
    expect(said(page, "0.93")).to_have_attribute("data-lit", "pin")
    said(page, "0.93").hover()
    assert marks_on(page) == {("b", "row"), ("b", "column"), ("b", "cell")}
    page.mouse.move(*page.evaluate(POINT, [PICTURE, "a", 2, 4]))
    expect(said(page, "0.00")).to_have_attribute("data-lit", "pointer")
    expect(said(page, "0.93")).to_have_attribute("data-lit", "pin")
    scene_at(page, app_url, "why", 3)
    said(page, "1.00").hover()
    assert marks_on(page) == {("b", "region"), ("b", "region-edge")}
    scene_at(page, app_url, "heads", 7)
    ring = page.locator(".ring.hovered")
    said(page, "Layer 0 · head 4").hover()
    expect(ring).to_be_visible()
    said(page, "“door”").hover()
    expect(ring).to_be_hidden()
    assert marks_on(page) == {("layer 0 · head 4", "column")}
    expect(page.locator(".readout")).to_contain_text("is looked at most by")
    page.mouse.move(2, 2)
    assert marks_on(page) == set()


def test_the_name_of_a_head_lights_it_in_the_grid_and_chooses_it(page: Page, app_url: str) -> None:
    explored = heads(page, app_url, layer="3", head="1", chosen="3.1_0.2")
    ring = page.locator(".ring.hovered")
    name = explored.chips.get_by_role("button", name="layer 0 · head 2", exact=True)
    expect(name).to_have_attribute("aria-pressed", "false")
    name.hover()
    expect(ring).to_be_visible()
    explored.point_at_head(0, 2)
    expect(name).to_have_attribute("data-lit", "pointer")
    explored.leave()
    expect(ring).to_be_hidden()
    name.click()
    expect(explored.section).to_have_attribute("data-head", "2")
    expect(explored.section).to_have_attribute("data-chosen", "3.1 0.2")  # both stay
    expect(name).to_have_attribute("aria-pressed", "true")
    page.wait_for_url("**head=2**")


def test_a_head_that_a_lesson_names_is_chosen_alone(page: Page, app_url: str) -> None:
    scene_at(page, app_url, "heads", 7)
    explored = Explored(page)
    word = said(page, "Layer 0 · head 4")
    expect(word).to_have_attribute("aria-pressed", "true")
    explored.choose(2, 3)
    expect(explored.section).to_have_attribute("data-chosen", "2.3")
    expect(word).to_have_attribute("aria-pressed", "false")
    word.press("Enter")
    expect(explored.section).to_have_attribute("data-chosen", "0.4")


def test_the_tokens_under_the_heatmap_light_their_row_and_column(page: Page, app_url: str) -> None:
    explored = heads(page, app_url, layer="3", head="1", q="11", k="5")
    query = explored.readout.get_by_role("button", name=re.compile(r"^it\s?11$"))
    query.hover()
    assert marks_on(page) == {("layer 3 · head 1", "row")}
    expect(explored.readout).to_contain_text("pinned")  # and it stays as it is
    explored.readout.get_by_role("button", name=re.compile(r"^bicycle\s?5$")).hover()
    assert marks_on(page) == {("layer 3 · head 1", "column")}
    explored.leave()
    assert marks_on(page) == set()
    query.click()  # lets go of the pinned row
    frames(page)
    assert explored.view()["q"] is None


def test_why_a_head_stands_out_lights_the_walk_and_chooses_the_head(page: Page, app_url: str) -> None:
    """The only surprise of this file: a second one of the same visitor is another head."""
    settled_at(page, f"{app_url}/?{urlencode({'text': BICYCLE, 'source': 'toy'})}")
    surprise(page)
    settled(page)
    reason = page.locator(".said")
    reason.get_by_role("button", name="“bicycle”").hover()
    expect(page.locator(".sentence .word[data-named]")).to_contain_text("bicycle")
    reason.get_by_role("button", name="0.97").hover()
    expect(page.locator(".sentence .finding")).to_have_text("“it” gives 97 % of its attention to “bicycle”.")
    page.get_by_role("radio", name="Weights").click()
    settled(page)
    reason.get_by_role("button", name="“bicycle”").hover()
    settled(page)
    assert ("weights", "column") in marks_on(page)
    reason.get_by_role("button", name="0.97").hover()
    assert ("weights", "cell") in marks_on(page)
    strip = page.get_by_role("group", name="heads of layer 3")
    strip.get_by_role("button", name="head 7").click()
    page.wait_for_url("**head=7**")
    head = reason.get_by_role("button", name="Layer 3, head 1")
    expect(head).to_have_attribute("aria-pressed", "false")
    head.hover()
    expect(strip.get_by_role("button", name="head 1", exact=True)).to_have_class("lit")
    head.click()
    page.wait_for_url("**head=1**")
    expect(head).to_have_attribute("aria-pressed", "true")


def test_an_example_says_what_it_shows_beside_its_picture(page: Page, app_url: str) -> None:
    page.goto(f"{app_url}/heads")
    Explored(page)
    page.get_by_role("button", name="Examples").click()
    page.get_by_role("button", name="A verb and its object").click()
    says = page.locator(".said")
    expect(says).to_have_text("Layer 0 · head 4. “opened” gives “door” 0.93 of its attention.")
    settled(page)
    says.get_by_role("button", name="“door”").hover()
    assert marks_on(page) == {("layer 0 · head 4", "column")}
    explored = Explored(page)
    explored.choose(1, 1)
    says.get_by_role("button", name="Layer 0 · head 4").click()  # the way back
    expect(explored.section).to_have_attribute("data-chosen", "0.4")
    type_text(page, "Another text.")
    expect(says).to_be_hidden()


def test_the_notice_of_a_comparison_lights_it(page: Page, app_url: str) -> None:
    settled_at(page, f"{app_url}/compare")
    notice = page.locator(".notice")
    a = built_in_model().trace("The animal didn't cross the street because it was too tired.").attentions(3)[1]
    notice.get_by_role("button", name="“too”").hover()
    assert {shape for _, shape in marks_on(page)} == {"row"}
    notice.get_by_role("button", name=f"{float(a[12].max()):.2f}", exact=True).first.hover()
    assert marks_on(page) == {("a", "row"), ("a", "column"), ("a", "cell")}


def test_the_name_of_a_trained_models_head_chooses_it_and_its_weights_are_torchs(page: Page, app_url: str) -> None:
    link = urlencode({"source": "trained", "model": "induction", "text": LETTERS, "step": "weights"})
    settled_at(page, f"{app_url}/?{link}")
    open_settings(page)
    page.get_by_role("button", name="Layer 1, head 0: looks at what came after").click()
    settled(page)
    expected = weights(1, 0)
    np.testing.assert_allclose(np.nan_to_num(matrix(page, "weights")), expected, rtol=0, atol=1e-5)
    shown = cells(page, "weights")
    np.testing.assert_allclose(shown, expected[np.tril_indices(len(expected))], rtol=0, atol=0.0051)
    expect(page.locator(".st-key-trained_card")).to_contain_text("looks at what came after the same letter")
    assert "layer=1" in page.url
