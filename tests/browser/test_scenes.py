"""Every scene of the lessons that come with attnviz, as it stands on a laptop and on a projector."""

from __future__ import annotations

import re
from collections.abc import Sequence

import pytest
from playwright.sync_api import Page, ViewportSize, expect

from attnviz.lessons import PATHS, shipped
from attnviz.links.pages import PAGES
from tests.browser.settle import settled

LAPTOP: ViewportSize = {"width": 1280, "height": 720}
PROJECTOR: ViewportSize = {"width": 1920, "height": 1080}

BEYOND = """() => {
  const found = [];
  const look = (root) => {
    for (const node of root.querySelectorAll('*')) {
      if (node.shadowRoot) look(node.shadowRoot);
      const style = getComputedStyle(node);
      const { width, height } = node.getBoundingClientRect();
      const isSeen = node.checkVisibility({ opacityProperty: true, visibilityProperty: true });
      if (!isSeen || style.clipPath === 'inset(50%)' || width < 3 || height < 3 || node.matches('select')) continue;
      const sides = { across: [style.overflowX, node.scrollWidth - node.clientWidth],
                      down: [style.overflowY, node.scrollHeight - node.clientHeight] };
      for (const [side, [overflow, beyond]] of Object.entries(sides)) {
        if (overflow !== 'visible' && beyond > 1) found.push(`${node.tagName}.${node.className}: ${beyond} px ${side}`);
      }
    }
  };
  look(document);
  return found;
}"""
"""What is cut or has to be scrolled: each element that holds more than it shows."""


def fits(page: Page, where: str, sizes: Sequence[ViewportSize] = (LAPTOP,)) -> None:
    for size in sizes:
        page.set_viewport_size(size)
        settled(page)
        assert page.evaluate(BEYOND) == [], (where, size)


@pytest.mark.parametrize("name", shipped())
def test_nothing_of_a_scene_is_cut_or_has_to_be_scrolled(still_page: Page, app_url: str, name: str) -> None:
    page, lesson = still_page, shipped()[name]
    first = lesson.scenes[0]
    page.goto(f"{app_url}{PATHS[first.page]}?{first.query}&lesson={name}&scene=1&lecture=1")
    for number, scene in enumerate(lesson.scenes, 1):
        expect(page.locator(".lesson-says b")).to_have_text(scene.title)
        # A projector has more room than a laptop: it is enough to look at both ends of a lesson there.
        is_end = number in (1, len(lesson.scenes))
        fits(page, f"{number}: {scene.title}", (PROJECTOR, LAPTOP) if is_end else (LAPTOP,))
        if scene.question:
            page.keyboard.press("ArrowRight")
            expect(page.locator(".lesson-says")).to_contain_text(scene.said[:40])
            fits(page, f"{number}, revealed")
        for step in scene.steps:
            page.keyboard.press("ArrowRight")
            expect(page).to_have_url(re.compile(rf"\b{PAGES[scene.page].step_key}={step}\b"))
            fits(page, f"{number}, {step}")
        if number < len(lesson.scenes):
            page.keyboard.press("ArrowRight")
