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
SCENES = {
    "averages": ("/averages?lesson=attention&scene=1", BOARD, 0.79),
    "a step, three lines of text": ("/?lesson=attention&scene=6", BOARD, 0.75),
    "a step, two lines of text": ("/?lesson=why&scene=1", BOARD, 0.79),
    "a covered row": ("/?lesson=attention&scene=8", BOARD, 0.75),
    "a head of a real model": ("/?lesson=heads&scene=4", BOARD, 0.79),
    "Transformer, three lines": ("/transformer?lesson=transformer&scene=9", BOARD, 0.75),
    "Transformer, two lines": ("/transformer?lesson=transformer&scene=7", BOARD, 0.79),
    "curves of a training": ("/train?lesson=forming&scene=6", "svg.curves", 0.45),
}
"""By the kind of scene: its address, its picture, and the least part of the window's height"""


@pytest.mark.parametrize("kind", SCENES)
def test_the_picture_of_a_scene_takes_the_height_that_its_sentence_leaves(
    still_page: Page, app_url: str, kind: str
) -> None:
    page, (address, picture, least) = still_page, SCENES[kind]
    page.goto(f"{app_url}{address}&lecture=1")
    for size in (LAPTOP, PROJECTOR):
        page.set_viewport_size(size)
        settled(page)
        expect(page.locator(".lesson-says")).to_be_in_viewport(ratio=1)
        expect(page.locator(".st-key-scene_on")).to_be_in_viewport(ratio=1)
        assert page.evaluate(SHARE, picture) >= least, size
        assert page.evaluate(BEYOND) == [], size
        for left in (".player", ".diagram", ".stepper .row"):
            assert page.evaluate(SHARE, left) == 0, (left, size)
