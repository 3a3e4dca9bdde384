"""The tour by keyboard and by touch, and "Surprise me": what the page says and shows, against torch."""

from __future__ import annotations

import re

import pytest
import torch
from playwright.sync_api import Locator, Page, expect

from tests.browser.contexts import Contexts
from tests.browser.modules import Run
from tests.browser.settle import frames, in_the_end, settled
from tests.loaded import built_in_model

BICYCLE = "My sister bought a bicycle because she wanted to ride it to work."
LINK = "/?source=pretrained&layer=3&head=1&step=weights"
TITLES = ["Your text", "Step by step", "The picture", "One cell, worked out", "Layers and heads", "Guess a row",
          "Take it with you"]  # fmt: skip
POINTED_AT = """() => {
  const tour = deepFind('.tour');
  const [ring, card] = ['.ring', '.card'].map((css) => {
    const { left, top, right, bottom } = tour.querySelector(css).getBoundingClientRect();
    return [left, top, right, bottom];
  });
  return { ring, card, window: [innerWidth, innerHeight], hidden: tour.querySelector('.ring').hidden };
}"""
TARGETS = [
    ".st-key-text_field", ".stepper .steps", ".walk .picture", ".inspector", ".strip", "[data-name=predict]",
    ".st-key-toolbar",
]  # fmt: skip


def card(page: Page) -> Locator:
    return page.get_by_role("dialog").filter(has=page.locator("h2"))


def check_stop(page: Page, number: int, target: str) -> None:
    """Check that a stop is open, that it points at its element, and that its card is wholly in the window."""
    expect(card(page)).to_have_accessible_name(TITLES[number])
    expect(card(page).get_by_text(f"{number + 1} of 7", exact=True)).to_be_visible()
    expect(page.locator(target).first).to_be_in_viewport()

    def distance() -> float:
        frames(page)
        found = page.evaluate(POINTED_AT)
        wanted = page.locator(target).first.bounding_box()
        assert wanted
        left, top, right, bottom = found["ring"]
        width, height = found["window"]
        inside = [max(wanted["x"], 0), max(wanted["y"], 0), min(wanted["x"] + wanted["width"], width),
                  min(wanted["y"] + wanted["height"], height)]  # fmt: skip
        return max(abs(a - b) for a, b in zip((left, top, right, bottom), inside, strict=True))

    assert in_the_end(page, distance, lambda far: far <= 6) <= 6, target
    found = page.evaluate(POINTED_AT)
    left, top, right, bottom = found["card"]
    width, height = found["window"]
    assert not found["hidden"]
    assert left >= 0
    assert top >= 0
    assert right <= width
    assert bottom <= height


def test_the_tour_goes_by_keyboard_and_lets_the_page_be_used(page: Page, app_url: str) -> None:
    loaded: list[str] = []
    page.on("request", lambda request: loaded.append(request.url))
    settled_at = settled_page(page, app_url + LINK)
    assert not any(re.search(r"/tour\.(js|css)", url) for url in loaded)  # it comes when it is asked for
    start = settled_at.locator(".st-key-tour_start").get_by_role("button")
    start.first.focus()
    page.keyboard.press("Enter")
    for number, target in enumerate(TARGETS):
        check_stop(page, number, target)
        if number == 2:
            expect(card(page)).to_contain_text("The play button below")
        assert "step=weights" in page.url  # the keys are the tour's, not the walk's
        if number < 6:
            page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowLeft")
    check_stop(page, 5, TARGETS[5])
    for number in (4, 3):
        page.keyboard.press("ArrowLeft")
        check_stop(page, number, TARGETS[number])

    # The page goes on working below, and a run of all of it does not end the tour.
    page.locator(".strip button").nth(4).click()
    expect(page.locator(".strip button").nth(4)).to_have_attribute("aria-pressed", "true")
    page.get_by_label("Second sentence (optional)").fill("It was red.")
    page.keyboard.press("Enter")
    settled(page)
    check_stop(page, 3, TARGETS[3])
    card(page).get_by_role("button", name="Next").click()
    check_stop(page, 4, TARGETS[4])
    page.keyboard.press("Escape")
    expect(card(page)).to_have_count(0)
    settled(page)
    start.first.click()  # again from the start
    check_stop(page, 0, TARGETS[0])
    card(page).get_by_role("button", name="Skip").click()
    expect(card(page)).to_have_count(0)
    settled(page)


def test_the_tour_works_by_touch_on_a_dark_phone(new_context: Contexts, app_url: str) -> None:
    phone = new_context(viewport={"width": 390, "height": 844}, has_touch=True, color_scheme="dark")
    page = settled_page(phone.new_page(), app_url + LINK)
    page.locator(".st-key-tour_start").get_by_role("button").first.tap()
    targets = [TARGETS[0], ".steps [role=radiogroup]", *TARGETS[2:]]
    for number, target in enumerate(targets):
        check_stop(page, number, target)
        card(page).get_by_role("button", name="Done" if number == 6 else "Next").tap()
    expect(card(page)).to_have_count(0)
    settled(page)
    page.get_by_role("button", name="Surprise me").tap()
    expect(page.locator(".said")).to_be_in_viewport()
    settled(page)


def test_the_card_of_a_stop_is_in_the_window_and_covers_nothing_where_there_is_room(run: Run) -> None:
    card = {"width": 368, "height": 180}
    rooms = [{"width": 1280, "height": 720}, {"width": 390, "height": 844}, {"width": 844, "height": 390}]
    boxes = [(40, 30, 220, 100), (300, 70, 950, 50), (1000, 280, 270, 140), (0, 0, 1280, 60), (200, 600, 100, 100),
             (0, 0, 50, 720), (20, 200, 350, 500), (0, 0, 1280, 720), (640, 360, 0, 0)]  # fmt: skip
    cases = [({"x": x, "y": y, "width": width, "height": height}, card, room)
             for x, y, width, height in boxes for room in rooms]  # fmt: skip
    code = """return given.map(([target, card, room]) => {
        const at = m.placed(target, card, room);
        return [at.x, at.y, m.overlap({ ...at, ...card }, target)];
    })"""
    for (target, _, room), (x, y, covered) in zip(cases, run("tour/placing.ts", code, cases), strict=True):
        assert 0 <= x <= room["width"] - card["width"]
        assert 0 <= y <= room["height"] - card["height"]
        above, below = target["y"], room["height"] - target["y"] - target["height"]
        left, right = target["x"], room["width"] - target["x"] - target["width"]
        if max(above, below) >= card["height"] + 20 or max(left, right) >= card["width"] + 20:
            assert covered == 0, (target, room)


def settled_page(page: Page, url: str) -> Page:
    page.goto(url)
    return settled(page)


def test_surprise_shows_the_number_that_torch_computes(page: Page, app_url: str) -> None:
    settled_page(page, app_url)
    page.get_by_label("Text", exact=True).fill(BICYCLE)
    page.keyboard.press("Control+Enter")
    settled(page)
    trace = built_in_model().trace(BICYCLE)
    weights = torch.stack([trace.attentions(layer) for layer in range(6)])  # (L, H, T, T)
    seen = []
    for _ in range(2):
        page.get_by_role("button", name="Surprise me").click()
        settled(page)
        says = page.locator(".said").inner_text()
        layer, head, query, key, own, others = re.findall(
            r"Layer (\d), head (\d+): “(\w+)” looks at “(\w+)” with (0\.\d\d); .* mean is (0\.\d\d)", says
        )[0]
        rows = [at for at, label in enumerate(trace.tokens.labels) if label == query]
        cells = [(q, k) for q in rows for k, label in enumerate(trace.tokens.labels) if label == key]
        q, k = max(cells, key=lambda cell: float(weights[int(layer), int(head)][cell]))
        expected = float(weights[int(layer), int(head), q, k])
        mean = (float(weights[:, :, q, k].sum()) - expected) / 71
        assert (float(own), float(others)) == (pytest.approx(expected, abs=0.0051), pytest.approx(mean, abs=0.0051))
        sentence = page.get_by_role("region", name="Sentence")
        if not sentence.get_by_role("table").count():
            sentence.get_by_role("button", name="How is ").click()
        shown = sentence.get_by_role("row", name=re.compile(f"^{key} ")).locator("[data-result]").first
        assert float(shown.get_attribute("data-value") or "nan") == pytest.approx(expected, abs=1e-4)
        expect(page.locator(".strip [aria-pressed=true]")).to_have_text(head)
        seen.append((layer, head))
    assert seen[0] == ("3", "1")
    assert seen[1] != seen[0]
