"""How evenly the browser draws while something moves: the time from frame to frame, short for 95 frames in 100."""

from __future__ import annotations

from collections.abc import Iterator
from statistics import quantiles

from playwright.sync_api import Page

from bench import explorer
from bench.apps import OURS, STAGE
from bench.stopwatch import chrome, frame_times, limited, new_page, wait_for_calm
from bench.table import Row
from bench.texts import fresh_text
from tests.browser.settle import settled

TOKENS = 64
LIMIT_MS = 20
STEPS = ("Scaled", "Masked", "Weights", "Masked", "Scaled", "Scores") * 2
MOVES = 240
MORPHING = f"() => stopwatch.find('{STAGE}').attnviz.changing"


def rows() -> Iterator[Row]:
    """Measure both pages, on the same server."""
    with OURS.served() as server:
        server.wait()
        with chrome() as browser, limited():
            page = new_page(browser)
            OURS.open(page, server.url, TOKENS)
            wait_for_calm()
            yield row("nothing moves", frame_times(page, lambda: page.wait_for_timeout(3000)), limit=None)
            yield row("hovering, Step by step", hovering(page, STAGE))
            yield row("morphing, Step by step", morphing(page))
        with chrome() as browser, limited():
            page = new_page(browser)
            explorer.open_link(page, server.url + explorer.link(fresh_text(TOKENS)), TOKENS)
            explorer.rest(page)
            wait_for_calm()
            yield row("hovering the lines, Heads", hovering(page, f"{explorer.PLACE} .attnviz-lines"))
            yield row("hovering the heatmap, Heads", hovering(page, f"{explorer.PLACE} .attnviz-board"))


def row(doing: str, times: list[float], limit: float | None = LIMIT_MS) -> Row:
    """Return the time that 95 in 100 frames keep within."""
    return Row(f"frame time while {doing}, {TOKENS} tokens, 95 in 100", 0, quantiles(times, n=20)[-1], limit)


def hovering(page: Page, selector: str) -> list[float]:
    """Return the times between frames while the pointer goes across a picture, from corner to corner and back."""
    box = page.locator(selector).bounding_box()
    assert box, f"{selector} is not to be seen"
    left, top = box["x"] + 0.1 * box["width"], box["y"] + 0.2 * box["height"]
    right, bottom = box["x"] + 0.9 * box["width"], box["y"] + 0.9 * box["height"]

    def move() -> None:
        page.mouse.move(left, top)
        page.mouse.move(right, bottom, steps=MOVES // 2)
        page.mouse.move(left, bottom, steps=MOVES // 2)

    return frame_times(page, move)


def morphing(page: Page) -> list[float]:
    """Return the times between frames in which the stage goes from step to step."""

    def walk() -> None:
        for label in STEPS:
            settled(page)
            OURS.step(page, label)()
            page.wait_for_timeout(400)
        settled(page)

    return frame_times(page, walk, MORPHING)
