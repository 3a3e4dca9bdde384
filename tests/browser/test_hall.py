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
    "the figure of a whole model": ("/transformer?lesson=claims&scene=1", ".ov-row", 0.7),
    "a mistake": ("/transformer?lesson=mistakes&scene=1", ".mistake", 0.77),
    "lines and heatmap of a head": ("/heads?lesson=heads&scene=1", ".pictures", 0.82),
    "Compare": ("/compare?lesson=why&scene=4", BOARD, 0.74),
    "curves of a training, with their legend": ("/train?lesson=forming&scene=6", ".curve", 0.69),
    "curves of a training": ("/train?lesson=forming&scene=6", "svg.curves", 0.5),
    "a head of a training": ("/train?lesson=forming&scene=8", BOARD, 0.75),
    "losses of models": ("/train?lesson=ladder&scene=6", "svg.curves", 0.76),
    "a head of a model among others": ("/train?lesson=ladder&scene=5", BOARD, 0.69),
    "all heads, switched off": ("/bert?lesson=explanation&scene=2", BOARD, 0.79),
    "a plot of a classifier": ("/bert?lesson=claims&scene=3", PLOT, 0.77),
    "a plot below a text field": ("/bert?lesson=bert&scene=5", PLOT, 0.65),
    "a matrix beside two plots": ("/bert?lesson=bert&scene=3", BOARD, 0.56),
}
"""By the kind of scene: its address, its picture, and the least part of the window's height"""


@pytest.mark.parametrize("kind", SCENES)
def test_the_picture_of_a_scene_takes_the_height_that_its_sentence_leaves(
    still_page: Page, app_url: str, kind: str
) -> None:
    page, (address, picture, least) = still_page, SCENES[kind]
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
