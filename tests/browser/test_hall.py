"""What takes the height of a room's screen in lecture mode, in scenes that test_scenes.py does not see by itself."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, expect

from attnviz.lessons import shipped
from tests.browser.hall import LEAST, ON_A_PROJECTOR, PLOT, SHARE
from tests.browser.settle import settled, settled_at
from tests.browser.test_scenes import BEYOND, LAPTOP, PROJECTOR

pytestmark = pytest.mark.page("one_page", reduced_motion="reduce")


def test_scenes_whose_pictures_are_measured_are_scenes_of_the_lessons() -> None:
    assert LEAST.keys() >= ON_A_PROJECTOR
    assert LEAST.keys() <= {(name, n) for name, lesson in shipped().items() for n in range(1, 1 + len(lesson.scenes))}


def test_both_pictures_of_an_answered_mistake_have_the_height(page: Page, app_url: str) -> None:
    settled_at(page, f"{app_url}/transformer?lesson=mistakes&scene=1&lecture=1")
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
    """Outside of lecture mode the field is there."""
    for scene, lecture, is_there in ((5, "&lecture=1", False), (5, "", True), (6, "&lecture=1", True)):
        page.goto(f"{app_url}/bert?lesson=bert&scene={scene}{lecture}")
        expect(page.locator(PLOT).first).to_be_visible()
        settled(page)
        assert page.locator(".st-key-sentence").is_visible() == is_there, (scene, lecture)
