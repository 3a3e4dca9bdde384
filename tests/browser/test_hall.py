"""How much of a room's screen the picture of a scene takes, in lecture mode: one scene of each kind."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, expect

from tests.browser.settle import settled
from tests.browser.test_scenes import BEYOND, LAPTOP, PROJECTOR

SHARE = """(selector) => {
  const roots = [document, ...[...document.querySelectorAll(".attnviz-isolated")].flatMap((e) => e.shadowRoot ?? [])];
  const boxes = roots.flatMap((root) => [...root.querySelectorAll(selector)])
    .filter((picture) => picture.checkVisibility({ visibilityProperty: true }))
    .map((picture) => picture.getBoundingClientRect());
  const heights = boxes.map(({ top, bottom }) => Math.min(bottom, innerHeight) - Math.max(top, 0));
  return Math.max(0, ...heights) / innerHeight;
}"""
"""The part of the window's height that the highest of these pictures takes."""

BOARD = ".attnviz-board"
PLOT = ".js-plotly-plot"
SCENES = {
    "averages": ("/averages?lesson=attention&scene=1", BOARD, 0.79),
    "a step, three lines of text": ("/?lesson=attention&scene=6", BOARD, 0.77),
    "a step, two lines of text": ("/?lesson=why&scene=1", BOARD, 0.79),
    "a covered row": ("/?lesson=attention&scene=8", BOARD, 0.77),
    "a head of a real model": ("/?lesson=heads&scene=4", BOARD, 0.79),
    "Transformer, three lines": ("/transformer?lesson=transformer&scene=9", BOARD, 0.77),
    "Transformer, two lines": ("/transformer?lesson=transformer&scene=7", BOARD, 0.79),
    "Transformer, a formula with a fraction": ("/transformer?lesson=transformer&scene=5", BOARD, 0.74),
    "the figure of a whole model": ("/transformer?lesson=claims&scene=1", ".ov-row", 0.84),
    "a mistake": ("/transformer?lesson=mistakes&scene=1", ".mistake", 0.86),
    "lines and heatmap of a head": ("/heads?lesson=heads&scene=1", ".pictures", 0.82),
    "Compare": ("/compare?lesson=why&scene=4", BOARD, 0.74),
    "two heads": ("/compare?lesson=why&scene=9", BOARD, 0.74),
    "curves of a training, four lines of text": ("/train?lesson=forming&scene=6", ".curve", 0.77),
    "curves of a training without their legend": ("/train?lesson=forming&scene=6", "svg.curves", 0.66),
    "a head of a training": ("/train?lesson=forming&scene=8", BOARD, 0.77),
    "a text that a model writes": ("/train?lesson=claims&scene=4", ".generation", 0.82),
    "tables of pairs": ("/train?lesson=ladder&scene=1", BOARD, 0.7),
    "losses of models": ("/train?lesson=ladder&scene=6", "svg.curves", 0.76),
    "a head of a model among others": ("/train?lesson=ladder&scene=5", BOARD, 0.79),
    "all heads, switched off": ("/bert?lesson=explanation&scene=2", BOARD, 0.79),
    "a plot of a classifier": ("/bert?lesson=claims&scene=3", PLOT, 0.77),
    "plots of a text": ("/bert?lesson=bert&scene=5", PLOT, 0.74),
    "plots below a text field, which the sentence names": ("/bert?lesson=bert&scene=6", PLOT, 0.66),
    "a matrix beside two plots": ("/bert?lesson=bert&scene=3", BOARD, 0.78),
    "a table": ("/bert?lesson=bert&scene=2", ".back-rows", 0.72),
    "a table of actions": ("/bert?lesson=bert&scene=8", ".calls", 0.71),
    "a plot below what is said of it": ("/bert?lesson=bert&scene=9", PLOT, 0.72),
}
"""By the kind of scene: its address, its picture, and the least part of the window's height"""


@pytest.fixture
def page(one_page: Page) -> Page:
    one_page.emulate_media(reduced_motion="reduce")
    return one_page


@pytest.mark.parametrize("kind", SCENES)
def test_the_picture_of_a_scene_takes_the_height_that_its_sentence_leaves(page: Page, app_url: str, kind: str) -> None:
    address, picture, least = SCENES[kind]
    page.goto(f"{app_url}{address}&lecture=1")
    expect(page.locator(f"{picture}:visible").first).to_be_visible()  # a snapshot of a training comes by itself
    for size in (LAPTOP, PROJECTOR):
        page.set_viewport_size(size)
        settled(page)
        expect(page.locator(".lesson-says")).to_be_in_viewport(ratio=1)
        expect(page.locator(".st-key-scene_on")).to_be_in_viewport(ratio=1)
        assert page.evaluate(SHARE, picture) >= least, size
        assert page.evaluate(BEYOND) == [], size
        for left in (".player", ".diagram", ".stepper .row"):
            assert page.evaluate(SHARE, left) == 0, (left, size)


def test_both_pictures_of_an_answered_mistake_have_the_height(page: Page, app_url: str) -> None:
    page.goto(f"{app_url}/transformer?lesson=mistakes&scene=1&lecture=1")
    settled(page)
    page.keyboard.press("ArrowRight")
    expect(page.locator(".mistake-effects")).to_be_visible()
    for size in (LAPTOP, PROJECTOR):
        page.set_viewport_size(size)
        settled(page)
        tops = page.locator(".mistake-side").evaluate_all("(sides) => sides.map((e) => e.getBoundingClientRect().top)")
        assert len(tops) == 2, size
        assert tops[0] == tops[1], size
        for picture, least in ((".mistake-side", 0.8), (".mistake-side img", 0.62)):
            assert page.evaluate(SHARE, picture) >= least, (picture, size)
        assert page.evaluate(BEYOND) == [], size


def test_a_text_field_leaves_a_scene_that_does_not_name_it(page: Page, app_url: str) -> None:
    """Outside of lecture mode the field is there, in both scenes."""
    for scene, is_named in ((5, False), (6, True)):
        for lecture in (True, False):
            page.goto(f"{app_url}/bert?lesson=bert&scene={scene}{'&lecture=1' if lecture else ''}")
            expect(page.locator(PLOT).first).to_be_visible()
            settled(page)
            assert page.locator(".st-key-sentence").is_visible() == (is_named or not lecture), (scene, lecture)
