"""Every scene of the lessons that come with attnviz, as it stands on a laptop, and some on a projector."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

import pytest
from playwright.sync_api import CDPSession, Page, ViewportSize, expect

from attnviz.annotated_text import AnnotatedText
from attnviz.lessons import PATHS, shipped
from attnviz.links.pages import PAGES
from tests.browser.hall import LEAST, ON_A_PROJECTOR, takes_the_height
from tests.browser.settle import settled
from tests.browser.test_lecture import PAINTED, RECORD, WRITTEN
from tests.browser.test_phone import styled

LAPTOP: ViewportSize = {"width": 1280, "height": 720}
PROJECTOR: ViewportSize = {"width": 1920, "height": 1080}

BEYOND = """() => {
  const found = [];
  for (const node of deepAll()) {
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
  return found;
}"""
"""What is cut or has to be scrolled: each element that holds more than it shows."""


SAID = """
  const written = WRITTEN, painted = PAINTED;
  const says = document.querySelector(".lesson-says");
  const numbers = () => {
    says.style.visibility = "hidden";
    const texts = [...written(), ...painted()].map(([, text]) => text);
    says.style.visibility = "";
    const found = texts.flatMap((text) => text.match(/\\d[\\d,]*(?:\\.\\d+)?/g) ?? []);
    return found.map((one) => Number(one.replaceAll(",", "")));
  };
  const isRead = (decimals) => {
    const shown = decimals.length ? numbers() : [];
    const reads = (x, one) => x.toFixed(one.split(".")[1].length) === one && (Number(one) !== 100 || x === 100);
    return decimals.every((one) => shown.some((x) => reads(x, one)));
  };
""".replace("WRITTEN", WRITTEN.strip()).replace("PAINTED", PAINTED)

NAMED = """async (hasSteps) => {SAID
  const frame = () => new Promise((done) => requestAnimationFrame(() => setTimeout(done)));
  const until = async (holds) => {
    const end = performance.now() + 30000;
    while (!holds() && performance.now() < end) await frame();
    return holds();
  };
  const point = (on, kind, own = {}) =>
    on.dispatchEvent(new PointerEvent(kind, { bubbles: true, composed: true, pointerType: "mouse", ...own }));
  const roots = () => [...document.querySelectorAll(".attnviz-isolated")].flatMap(({ shadowRoot }) => shadowRoot ?? []);
  const litItem = () => [document, ...roots()].some((root) => root.querySelector("[data-lit-item]:not(.marked)"));
  const failed = [];
  for (const word of says.querySelectorAll(".marked")) {
    const decimals = word.textContent.match(/\\d+\\.\\d+/g) ?? [];
    const { item, row, column, matrix, head } = word.dataset;
    const mayLack = hasSteps && (matrix || head);
    if (!(await until(() => word.ariaDisabled === "false" || (mayLack && word.ariaDisabled === "true")))) {
      failed.push(`${word.textContent}: the page has nothing of this name`);
      continue;
    }
    if (word.ariaDisabled === "true") continue;
    point(word, "pointerover");
    const isLit = await until(() => word.dataset.lit === "pointer" && (!item || litItem()));
    if (!isLit) failed.push(`${word.textContent}: nothing is lit`);
    let isThere = await until(() => isRead(decimals) || (row && column && !item));
    if (isThere && !isRead(decimals)) {
      word.click(); // a cell whose number has no room is written out when it is pinned
      isThere = await until(() => isRead(decimals));
      word.click();
    }
    if (!isThere) failed.push(`${word.textContent}: this number is not on the screen`);
    point(word, "pointerout", { relatedTarget: document.body });
    point(document.body, "pointerover");
    await frame();
    word.dataset.seen = "";
  }
  return [failed, [...says.querySelectorAll(".marked")].map((word) => "seen" in word.dataset)];
}""".replace("SAID", SAID)
"""Points at each marked word of a sentence: which light nothing, or state a number that is not on the screen then; and
which words name something of the open step. In a scene of one step each of them has to."""

UNREAD = """(decimals) => {SAID
  return decimals.filter((one) => !isRead([one]));
}""".replace("SAID", SAID)
"""The numbers that are not on the screen."""

WRITTEN_OUT = re.compile(r"(?:ln|log₂|−log) ?[\d.]+ = [\d.]+")
"""Arithmetic that a sentence writes out itself"""


def names_what_is_there(page: Page, text: AnnotatedText, where: str, has_steps: bool) -> list[bool]:
    """Hold that the words of a sentence light something, and that its numbers can be read; return which words do."""
    failed, seen = page.evaluate(NAMED, has_steps)
    assert failed == [], where
    plain = "".join(piece for piece, target in text.pieces() if target is None)
    decimals = re.findall(r"(?<![\w.])\d+\.\d+", WRITTEN_OUT.sub("", plain))
    assert page.evaluate(UNREAD, decimals) == [], where
    return list(seen)


SCREENS: dict[Page, CDPSession] = {}
"""What sets a page's screen: while it is open, the page keeps the size that it was given"""


def small_picture(page: Page, size: ViewportSize) -> None:
    """Give the window this size, but paint it at a tenth: to paint all scenes whole takes an eighth of their time."""
    metrics = {**size, "deviceScaleFactor": 1, "mobile": False, "scale": 0.1}
    SCREENS[page].send("Emulation.setDeviceMetricsOverride", metrics)
    assert page.evaluate("() => ({ width: innerWidth, height: innerHeight })") == size


def fits(
    page: Page, where: str, sizes: Sequence[ViewportSize] = (LAPTOP,), pictures: dict[str, float] | None = None
) -> None:
    for size in sizes:
        small_picture(page, size)
        settled(page)
        if pictures:
            takes_the_height(page, pictures, (where, size))
        assert page.evaluate(BEYOND) == [], (where, size)


@pytest.fixture
def page(one_page: Page, app_url: str) -> Iterator[Page]:
    """One page for all lessons, on which nothing moves and all that canvases write is noted."""
    SCREENS[one_page] = one_page.context.new_cdp_session(one_page)
    one_page.emulate_media(reduced_motion="reduce")
    if not one_page.evaluate("() => 'written' in window"):
        one_page.goto(f"{app_url}/lessons?lecture=1")
        settled(one_page).evaluate(RECORD)
    yield one_page
    SCREENS.pop(one_page).detach()  # a picture of what failed is painted whole


@pytest.mark.parametrize("name", shipped())
def test_a_scene_is_seen_whole_and_its_words_and_numbers_are_there(page: Page, app_url: str, name: str) -> None:
    lesson = shipped()[name]
    first = lesson.scenes[0]
    page.goto(f"{app_url}{PATHS[first.page]}?{first.query}&lesson={name}&scene=1&lecture=1")
    for number, scene in enumerate(lesson.scenes, 1):
        expect(page.locator(".lesson-says b")).to_have_text(scene.title)
        pictures = LEAST.get((name, number))
        sizes = (PROJECTOR, LAPTOP) if (name, number) in ON_A_PROJECTOR else (LAPTOP,)  # which has less room
        fits(page, f"{number}: {scene.title}", sizes, pictures)
        named, has_steps = list[list[bool]](), bool(scene.steps)
        if scene.question:
            names_what_is_there(page, scene.asked, f"{number}, asked", has_steps)
            page.keyboard.press("ArrowRight")
            expect(page.locator(".lesson-says")).to_contain_text(scene.said[:40])
            fits(page, f"{number}, revealed")
        named.append(names_what_is_there(page, scene.said, f"{number}: {scene.title}", has_steps))
        for step in scene.steps:
            page.keyboard.press("ArrowRight")
            expect(page).to_have_url(re.compile(rf"\b{PAGES[scene.page].step_key}={step}\b"))
            fits(page, f"{number}, {step}")
            named.append(names_what_is_there(page, scene.said, f"{number}, {step}", has_steps))
        assert all(map(any, zip(*named, strict=True))), (number, "a word names nothing of the scene's steps")
        assert scene.said.marks, number
        if number < len(lesson.scenes):
            page.keyboard.press("ArrowRight")
    # What Chromium has noted of an element for a rule stays noted, so this holds for all scenes that were open.
    assert styled(page) < 20, "a change of one element styles the whole page anew"
