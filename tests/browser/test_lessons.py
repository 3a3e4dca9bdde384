"""A lesson as it is given: by clicker, back by the browser, opened anew, guessed, built and brought as a file."""

from __future__ import annotations

import re
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest
import torch
from playwright.sync_api import Page, expect

from attnviz.lessons import OWN, PATHS, Lesson, Scene, read_lesson, shipped
from attnviz.lessons.lesson import write_lesson
from tests.browser.apps.inspector_page import PICTURE, POINT, InspectorPage
from tests.browser.board import painted
from tests.browser.settle import settled, settled_at, settled_once_at, still
from tests.unit.lessons.today import operands

pytestmark = pytest.mark.page("one_page")

HOSTILE = "<img src=x onerror=window.hacked=1> **b** [l](http://e.example)"


def at_scene(page: Page, number: int) -> Page:
    """Wait until a scene of the lesson on attention is shown."""
    title = shipped()["attention"].scenes[number - 1].title
    expect(page.locator(".lesson-says b")).to_have_text(title)
    return settled(page)


def test_a_lesson_by_clicker_question_back_button_and_a_link_by_hand(page: Page, app_url: str) -> None:
    scenes = shipped()["attention"].scenes
    page.goto(f"{app_url}/averages?{scenes[3].query}&lesson=attention&scene=4&lecture=1")
    at_scene(page, 4)
    page.keyboard.press("PageDown")
    at_scene(page, 5)
    assert "/averages" not in page.url
    page.go_back()  # over the change of page
    at_scene(page, 4)
    assert "/averages?" in page.url
    page.goto(f"{app_url}/?{scenes[6].query}&lesson=attention&scene=7&lecture=1")
    at_scene(page, 7)
    page.keyboard.press("PageDown")
    at_scene(page, 8)
    assert painted(page, "weights")["inside"].count("?") == 6
    expect(page.locator(".lesson-says")).to_contain_text(scenes[7].asked[:30])
    page.keyboard.press("r")  # revealing the row shows the answer
    expect(page.locator(".lesson-says")).to_contain_text(scenes[7].said[:30])
    settled(page)  # the address comes last
    page.go_back()
    expect(page.locator(".lesson-says")).to_contain_text(scenes[7].asked[:30])
    settled(page)
    for cell in (0, 4):  # and so does a right guess, after a wrong one
        page.mouse.click(*page.evaluate(POINT, [PICTURE, "weights", 1, cell]))
    expect(page.locator(".lesson-says")).to_contain_text(scenes[7].said[:30])
    settled(page)
    page.go_back()
    expect(page.locator(".lesson-says")).to_contain_text(scenes[7].asked[:30])
    settled(page)
    page.keyboard.press("PageDown")  # the question is answered first
    expect(page.locator(".lesson-says")).to_contain_text(scenes[7].said[:30])
    settled(page)
    assert painted(page, "weights")["inside"].count("?") == 0
    size = page.locator(".lesson-says").evaluate("(e) => parseFloat(getComputedStyle(e).fontSize)")
    assert size >= 24
    page.keyboard.press("PageDown")
    at_scene(page, 9)
    here = page.url
    for number in (8, 8, 7):  # the answer, the question, and so on
        page.go_back()
        at_scene(page, number)
    page.goto("about:blank")
    page.goto(here)
    at_scene(page, 9)
    page.goto(f"{app_url}/lessons")
    settled(page)
    page.goto(f"{app_url}/averages?lesson=attention&scene=9&lecture=1")
    at_scene(page, 9)
    assert painted(page, "head_outputs")["inside"]
    assert sorted(page.url.partition("?")[2].split("&")) == sorted(here.partition("?")[2].split("&"))
    assert "/averages" not in page.url


def test_each_scene_is_listed_with_the_link_that_opens_it(page: Page, app_url: str) -> None:
    settled_at(page, f"{app_url}/lessons")
    page.get_by_role("tab", name="All scenes").click()
    expect(page.locator(".lesson-card")).to_have_count(len(shipped()))
    settled(page)
    scenes = [(name, n, scene) for name, lesson in shipped().items() for n, scene in enumerate(lesson.scenes, 1)]
    shown = page.get_by_role("tabpanel", name="All scenes").locator(".stPageLink a")
    links = shown.evaluate_all("(links) => links.map((link) => link.href)")
    assert [urlsplit(link).path for link in links] == [PATHS[scene.page] for _, _, scene in scenes]
    for start, (name, number, _) in zip(links, scenes, strict=True):
        query = parse_qs(urlsplit(start).query)
        assert (query["lesson"], query.get("scene", ["1"])) == ([name], [str(number)])
    at = next(n for n, (_, _, scene) in enumerate(scenes) if scene.page == "step_by_step")
    page.goto(links[at])
    expect(page.locator(".lesson-says")).to_contain_text(scenes[at][2].title)


def lines_of_the_outline_are_even(page: Page) -> None:
    """Links to scenes on other pages and buttons for those on this one: as high, and one below the other."""
    lines = page.locator(".st-key-lesson_list > *").evaluate_all(
        "all => all.map((one) => one.getBoundingClientRect()).map(({ top, height }) => [top, height])"
    )
    assert len(lines) == 2
    assert lines[0][1] == pytest.approx(lines[1][1], abs=0.5)
    assert lines[1][0] - lines[0][0] == pytest.approx(lines[0][1], abs=0.5)


def test_what_the_sink_takes_of_a_covered_row_is_not_readable_until_it_is_revealed(page: Page, app_url: str) -> None:
    scene = shipped()["today"].scenes[11]
    query, key = operands("the cat saw the dog run")
    scores = torch.cat([query @ key.T / key.shape[1] ** 0.5, torch.full((6, 1), 3.0).double()], dim=1)
    *weights, share = scores.softmax(-1)[4].tolist()
    best = max(range(6), key=weights.__getitem__)
    told = {"sink": f"{share:.2f}", "row_sum": f"{sum(weights):.2f}"}
    percents = f"{100 * share:.0f} %"
    page = settled_at(page, f"{app_url}/?{scene.query}&lesson=today&scene=12&lecture=1")
    view = InspectorPage(page, has_heads=False)

    def is_covered() -> None:
        for panel, number in told.items():
            texts = painted(page, panel)
            assert (texts["inside"][4], number in texts["inside"]) == ("?", False)
            assert "?" not in texts["inside"][:4]
            assert not any(number in text for text in texts["all"] if "…" in text), "a range below a title"
            view.hover(panel, 4, 0)
            expect(view.panel).to_contain_text("Covered.")
            expect(view.panel).not_to_contain_text(number)
        rows = page.get_by_role("list", name=re.compile("^(→z|Σ),.*rows")).get_by_role("listitem")
        expect(rows.filter(has_text=re.compile("^row 4 .*: covered$"))).to_have_count(2)
        assert told["sink"] not in page.locator(".attnviz-board").first.get_attribute("aria-label")

    is_covered()
    view.hover("sink", 2, 0)
    expect(view.panel).to_contain_text(f"{scores.softmax(-1)[2, 6]:.4f}")
    view.click("sink", 4, 0)
    assert [painted(page, panel)["inside"].count("?") for panel in ("weights", "sink")] == [6, 1], "no guess"
    expect(page.locator(".guess")).to_contain_text("Which of its cells is the largest?")
    wrong = (best + 1) % 6
    view.click("weights", 4, wrong)
    view.leave()
    is_covered()
    view.hover("weights", 4, wrong)
    assert view.result("weights") == pytest.approx(weights[wrong], abs=1e-6)
    expect(view.line("weights")).not_to_contain_text(percents)
    expect(view.line("weights")).not_to_contain_text("the row:")
    expect(page.locator(".lesson-says")).to_contain_text(scene.asked[-40:])
    view.click("weights", 4, best)
    expect(page.locator(".lesson-says")).to_contain_text(scene.said[:30])
    settled(page)
    for panel, number in told.items():
        assert painted(page, panel)["inside"][4] == number
        view.hover(panel, 4, 0)
        assert view.result("cell") == pytest.approx(sum(weights) if panel == "row_sum" else share, abs=1e-6)
    view.hover("weights", 4, wrong)
    expect(view.line("weights")).to_contain_text(percents)


def test_ones_own_lesson_is_built_downloaded_and_opened(page: Page, app_url: str, tmp_path: Path) -> None:
    settled_at(page, f"{app_url}/?step=scaled&seed=5&q=1&predict=1")
    page.locator(".st-key-share button").first.click()
    page.locator(".st-key-lesson_add_title input").fill(HOSTILE)
    page.locator(".st-key-lesson_add_sentence textarea").fill("The answer.")
    page.locator(".st-key-lesson_add_question input").fill("What is covered?")
    page.get_by_role("button", name="Add to my lesson").click()
    expect(page.get_by_text("Scene 1 of your lesson")).to_be_visible()
    page.keyboard.press("Escape")
    page.get_by_role("link", name="Start", exact=True).click()
    page.get_by_role("tab", name="Your own").click()
    with page.expect_download() as download:
        page.locator(".st-key-lesson_download button").click()
    file = tmp_path / "mine.yaml"
    download.value.save_as(file)
    built = Scene(HOSTILE, "The answer.", "step_by_step", "step=scaled&q=1&seed=5&predict=1", "What is covered?")
    (read,) = read_lesson(file.read_bytes(), OWN).scenes
    assert (read.values(), read.question) == (built.values(), built.question)
    scenes = (read, Scene(HOSTILE, HOSTILE, "tokens", "text=two+words"))
    file.write_text(write_lesson(Lesson(OWN, HOSTILE, "Mine.", scenes)), encoding="utf-8")
    expect(page.get_by_text("per file")).to_be_hidden()  # Streamlit would say 1 MB beside the 100 kB
    page.locator(".st-key-lesson_file input[type=file]").set_input_files(file)
    expect(page.locator(".st-key-lesson_at label").nth(2)).to_contain_text(HOSTILE)
    page.locator(".st-key-lesson_tools a").click()
    expect(page.locator(".lesson-says")).to_contain_text("What is covered?")
    page.locator(".st-key-scene_on button").click()
    expect(page.locator(".lesson-says")).to_contain_text("The answer.")
    page.locator(".st-key-scene_on a").click()
    settled_once_at(page, re.compile("/tokens.*lesson=own&scene=2"))
    expect(page.locator(".lesson-says b")).to_have_text(HOSTILE)
    here = page.url
    with page.expect_navigation():  # to the dark, for which the page is loaded again
        page.keyboard.press("t")
    expect(page.locator(".lesson-says b")).to_have_text(HOSTILE)
    assert settled(page).url == here
    assert page.locator(".stApp").evaluate("(e) => getComputedStyle(e).backgroundColor") == "rgb(20, 20, 27)"
    expect(page.get_by_test_id("stAlert")).to_have_count(0)
    page.locator("[class*=st-key-lesson_outline] button").first.click()
    expect(page.locator(".st-key-lesson_list")).to_contain_text("**b** [l](http://e.example)")
    still(settled(page))
    lines_of_the_outline_are_even(page)
    assert page.evaluate("() => window.hacked") is None

    page.keyboard.press("Escape")
    page.get_by_role("link", name="Start", exact=True).click()
    page.get_by_role("tab", name="Your own").click()
    page.locator(".st-key-lesson_drop button").click()
    page.wait_for_function("() => !sessionStorage.getItem('attnviz-lesson')")
    page.goto(here)
    expect(page.get_by_test_id("stAlert")).to_contain_text("Open its file on the page Start")
