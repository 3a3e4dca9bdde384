"""A lesson as a static site, opened from the disk without a network; its numbers are compared with torch."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from playwright.sync_api import Page, expect

from attnviz.cli import main
from attnviz.lessons import gallery_lesson, shipped, write_lesson
from attnviz.links.link import DEFAULT_TEXT
from attnviz.measures.mistakes import TEXTS
from attnviz.steps import STEPS
from tests.browser.board import matrix
from tests.browser.settle import frames
from tests.loaded import built_in_model

pytestmark = pytest.mark.page("offline_page")

WALK = ".walk .attnviz-board"
HEADS = ".explorer .attnviz-board"
PARTS = {
    "attention": (3, 8, 9), "heads": (2, 3, 4, 5), "mistakes": (0, 1), "transformer": (2, 6),
    "bert": (2, 3), "forming": (2, 3),
}  # fmt: skip
"""The scenes that are in the sites of these tests: tests/unit/export/test_web.py builds whole lessons"""
LESSONS = {
    **{
        name: replace(shipped()[name], scenes=tuple(shipped()[name].scenes[n] for n in at))
        for name, at in PARTS.items()
    },
    "gallery": replace(gallery_lesson(), scenes=gallery_lesson().scenes[:2]),
}
"""Together they have scenes of each kind of page that a site has"""
SEEN = {
    (scene.page, bool(scene.question), bool(scene.steps)): (name, number)
    for name, lesson in LESSONS.items()
    for number, scene in enumerate(lesson.scenes, 1)
}
"""A scene of each kind"""


@pytest.fixture(scope="module")
def sites(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the sites of `LESSONS`."""
    folder = tmp_path_factory.mktemp("sites")
    for name, lesson in LESSONS.items():
        file = folder / f"{name}.yaml"
        file.write_text(write_lesson(lesson), encoding="utf-8")
        assert main(["site", str(file), "--out", str(folder / name), "--quiet"]) == 0
    return folder


def opened(page: Page, file: Path) -> list[str]:
    """Open a page of a site and wait until it shows its scene; return what it has complained of."""
    found: list[str] = []
    page.on("console", lambda message: found.append(message.text))
    page.on("requestfailed", lambda request: found.append(request.url))
    page.goto(file.as_uri())
    page.wait_for_selector("[data-painted], .attnviz-picture, .attnviz-index, .mistake")
    frames(page)
    return found


def test_a_page_of_each_kind_opens_without_a_network(page: Page, sites: Path) -> None:
    for name, lesson in LESSONS.items():
        assert len(list((sites / name).glob("*.html"))) == len(lesson.scenes) + 1
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    files = [
        *(sites / name / "index.html" for name in LESSONS),
        *(sites / name / f"scene-{n:02d}.html" for name, n in SEEN.values()),
    ]
    for file in files:
        assert opened(page, file) == []
        for picture in page.locator(".attnviz-picture, .mistake img").all():
            assert picture.evaluate("(image) => image.naturalWidth") > 0
        inside = file.parent.as_uri()
        assert [url for url in asked if not url.startswith((inside, "data:", "blob:"))] == []
        asked.clear()


def test_a_scene_of_heads_shows_them_all_and_keeps_the_keys_of_a_scene(page: Page, sites: Path) -> None:
    scenes = LESSONS["heads"].scenes
    number, scene = next((n, one) for n, one in enumerate(scenes, 1) if one.page == "heads" and "layer" in one.values())
    opened(page, sites / "heads" / f"scene-{number:02d}.html")
    link = scene.values()
    layer, head = int(link["layer"]), int(link["head"])
    wanted = built_in_model().trace(link.get("text", DEFAULT_TEXT)).attentions(layer).numpy()
    name = f"layer {layer} · head {head}"
    np.testing.assert_allclose(matrix(page, name, HEADS), wanted[head], rtol=0, atol=7.7e-6)
    page.get_by_role("grid").press("ArrowRight")
    expect(page.locator(".explorer")).to_have_attribute("data-head", str(head + 1))
    expect(page).to_have_url(re.compile(rf"#.*head={head + 1}\b"))
    page.get_by_role("grid").press("PageDown")
    page.wait_for_url(f"**/scene-{number + 1:02d}.html*")
    assert "head=" not in page.url


def test_only_what_has_no_page_of_its_own_is_a_picture(sites: Path) -> None:
    for name, lesson in LESSONS.items():
        for number, scene in enumerate(lesson.scenes, 1):
            text = (sites / name / f"scene-{number:02d}.html").read_text(encoding="utf-8")
            assert ("attnviz-picture" in text) == (scene.page in ("tokens", "train", "bert")), (name, number)


def test_a_scene_goes_through_its_steps_before_the_next_scene(page: Page, sites: Path) -> None:
    lesson = LESSONS["attention"]
    number = next(n for n, scene in enumerate(lesson.scenes, 1) if scene.steps)
    scene = lesson.scenes[number - 1]
    opened(page, sites / "attention" / f"scene-{number:02d}.html")

    def is_at(step: str) -> None:
        expect(page.get_by_role("radio", name=STEPS[step].title, exact=True)).to_be_checked()
        expect(page.get_by_text(scene.said)).to_be_visible()

    is_at(scene.walk[0])
    for step in scene.steps:
        page.keyboard.press("PageDown")
        is_at(step)
    page.get_by_role("link", name="Previous").click()
    is_at(scene.walk[-2])
    for step in reversed(scene.walk[:-2]):
        page.keyboard.press("ArrowLeft")
        is_at(step)
    page.keyboard.press("ArrowLeft")
    page.wait_for_url(f"**/scene-{number - 1:02d}.html*")


def test_what_is_right_beside_a_mistake_stays_hidden_until_it_is_revealed(page: Page, sites: Path) -> None:
    scene = LESSONS["mistakes"].scenes[0]
    text = next(iter(TEXTS.values()))
    opened(page, sites / "mistakes" / "scene-01.html")
    expect(page.get_by_text(scene.asked)).to_be_visible()
    expect(page.get_by_text(text.wrong)).to_be_visible()
    expect(page.get_by_text(text.right)).to_be_hidden()
    expect(page.get_by_role("table")).to_be_hidden()
    page.keyboard.press("ArrowRight")
    expect(page.get_by_text(scene.said)).to_be_visible()
    expect(page.get_by_text(text.right)).to_be_visible()
    expect(page.get_by_role("table")).to_be_visible()
    page.keyboard.press("ArrowRight")
    page.wait_for_url("**/scene-02.html*")


def test_a_scene_with_a_question_covers_its_row_until_it_is_revealed(page: Page, sites: Path) -> None:
    lesson = LESSONS["heads"]
    number = next(n for n, scene in enumerate(lesson.scenes, 1) if scene.question)
    scene = lesson.scenes[number - 1]
    opened(page, sites / "heads" / f"scene-{number:02d}.html")
    attentions = built_in_model().trace(scene.values()["text"]).attentions(int(scene.values()["layer"])).numpy()
    wanted = attentions[int(scene.values()["head"])]
    np.testing.assert_allclose(matrix(page, "weights", WALK), wanted, rtol=0, atol=1e-6)
    expect(page.get_by_text(scene.asked)).to_be_visible()
    expect(page.get_by_text(scene.said)).to_be_hidden()
    assert page.locator(WALK).evaluate("(board) => board.attnviz.covers !== null")
    page.keyboard.press("ArrowRight")  # reveals before it goes on
    expect(page.get_by_text(scene.said)).to_be_visible()
    expect(page.get_by_text(scene.asked)).to_be_hidden()
    assert page.locator(WALK).evaluate("(board) => board.attnviz.covers === null")
    word = page.get_by_role("button", name="0.89", exact=True)
    word.hover()
    expect(page.locator("[data-shape=cell][data-state=hovered]")).to_have_attribute("data-panel", "weights")
    word.click()
    expect(word).to_have_attribute("aria-pressed", "true")
    page.mouse.move(2, 2)
    page.keyboard.press("Escape")
    page.keyboard.press("l")
    expect(page.locator("html")).to_have_class("lecture")
    page.keyboard.press("b")
    expect(page.get_by_role("img", name="Black screen")).to_be_visible()
    page.keyboard.press("b")
    expect(page.get_by_role("img", name="Black screen")).to_be_hidden()
    page.keyboard.press("ArrowRight")
    page.wait_for_url(f"**/scene-{number + 1:02d}.html#lecture=1")
    expect(page.locator("html")).to_have_class("lecture")
    page.keyboard.press("PageUp")
    page.wait_for_url(f"**/scene-{number:02d}.html#lecture=1")
    page.get_by_role("link", name=f"{number} of {len(lesson.scenes)}").click()
    expect(page.get_by_role("heading", name=lesson.title)).to_be_visible()
