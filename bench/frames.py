"""How evenly the browser draws while something moves: the time from frame to frame, short for 95 frames in 100.

And how long its main thread is held up at a time, and how much memory a walk keeps. Blocks are counted in the thread's
own time, and of several rounds the shortest counts: other work on the machine makes a block longer, and nothing makes
it shorter.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from statistics import quantiles
from typing import Any

from playwright.sync_api import Browser, Locator, Page, expect

from bench import heads
from bench.apps import OURS, STAGE
from bench.stopwatch import chrome, frame_times, limited, megabytes, new_page, wait_for_calm
from bench.table import Row
from bench.texts import fresh_text
from tests.browser.apps.operands import Operands, document
from tests.browser.apps.walk_page import WalkPage, WalkView, serving
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
            heads.open_link(page, server.url + heads.link(fresh_text(TOKENS)), TOKENS)
            heads.rest(page)
            wait_for_calm()
            yield row("hovering the lines, Heads", hovering(page, f"{heads.PLACE} .attnviz-lines"))
            yield row("hovering the heatmap, Heads", hovering(page, f"{heads.PLACE} .attnviz-board"))


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


LONG, HEADS, SIZE = 1024, 4, 64
"""A text as long as GPT-2 takes; its heads are drawn by chance."""
ROUNDS = 4
MOST_MB = 150
BLOCK_MS, FRAME_MS = 50, 1000 / 60
TRACED = ["disabled-by-default-devtools.timeline", "toplevel", "__metadata"]
TRAINING = "/train?steps=200&rate=0.01&batch=32"
SCRUB = """async (slider) => {
  const last = Number(slider.max);
  for (let at = 0; at <= last; at += 1) {
    slider.value = String(at);
    slider.dispatchEvent(new Event('input', { bubbles: true }));
    await new Promise((done) => requestAnimationFrame(() => setTimeout(done)));
  }
  return last;
}"""
"""Goes through the snapshots of a training, one a frame."""


def block_rows() -> Iterator[Row]:
    """Measure a long walk and the default one, and scrubbing a training."""
    with chrome() as browser, serving(WalkPage({3: document(Operands(LONG, SIZE), HEADS)})) as served:
        page = new_page(browser)
        page.goto("about:blank")
        empty = megabytes(page)
        WalkView.open(page, served.url, step="tokens")
        wait_for_calm()
        longest = stepping(browser, page)
        yield block(f"longest block while stepping, {LONG:,} tokens", longest, BLOCK_MS)
        what = f"memory of a walk, {LONG:,} tokens, all steps of {HEADS} heads, beyond an empty page"
        yield Row(what, 0, megabytes(page) - empty, MOST_MB, "MB")
    with OURS.served() as server:
        server.wait()
        with chrome() as browser:
            page = new_page(browser)
            settled(page_at(page, server.url))
            yield block("longest block while stepping, the default view", stepping(browser, page), BLOCK_MS)
            page_at(page, server.url + TRAINING)
            yield block("longest block while scrubbing a training", scrubbing(browser, page), FRAME_MS)


def block(what: str, ms: float, limit: float) -> Row:
    """Make a row of a thread's time."""
    return Row(f"{what} (time of the thread)", 0, ms, limit)


def page_at(page: Page, url: str) -> Page:
    """Open an address."""
    page.goto(url)
    return page


def stepping(browser: Browser, page: Page) -> float:
    """Return the ms of the longest block of a step, with each step of each head."""
    steps, heads = page.locator("[aria-label=Step] [role=radio]"), page.locator("button[aria-label^='head ']")
    steps.first.wait_for()
    found: dict[int, list[float]] = {}
    for round_ in range(ROUNDS):
        if round_ < heads.count():
            heads.nth(round_).click()
            page.wait_for_timeout(1000)
        for number, step in enumerate(steps.all()):
            found.setdefault(number, []).append(longest_block(browser, lambda step=step: stepped(page, step)))
    return max(min(blocks) for blocks in found.values())


def stepped(page: Page, step: Locator) -> None:
    """Go to a step, and wait until its picture rests."""
    step.click()
    page.wait_for_timeout(800)


def scrubbing(browser: Browser, page: Page) -> float:
    """Train, then return the ms of the longest block while the slider goes through all snapshots."""
    page.locator(".training .large[data-step]").wait_for()
    settled(page)
    page.keyboard.press("Enter")
    expect(page.locator(".training .state")).to_contain_text("done", timeout=180_000)
    page.wait_for_timeout(1500)
    slider = page.locator(".training input[type=range]").element_handle()
    return min(longest_block(browser, lambda: page.evaluate(SCRUB, slider)) for _ in range(ROUNDS))


def longest_block(browser: Browser, action: Callable[[], object]) -> float:
    """Return the ms of the longest task of a page's main thread, in the thread's own time, while something is done."""
    browser.start_tracing(categories=TRACED)
    action()
    events: list[dict[str, Any]] = json.loads(browser.stop_tracing())["traceEvents"]
    names = [event for event in events if event["name"] == "thread_name"]
    main = {(event["pid"], event["tid"]) for event in names if event["args"]["name"] == "CrRendererMain"}
    tasks = [event for event in events if event["name"] == "RunTask" and (event["pid"], event["tid"]) in main]
    return max((event.get("tdur", 0) / 1000 for event in tasks), default=0.0)
