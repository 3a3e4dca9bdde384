"""How long it takes to open a part of a transformer in its diagram when its numbers are there."""

from __future__ import annotations

from collections.abc import Iterator
from statistics import median
from urllib.parse import urlencode

from playwright.sync_api import Locator, Page

from bench.apps import OURS
from bench.stopwatch import Shown, act, chrome, new_page, wait_for_calm
from bench.table import Row
from bench.texts import text_of
from tests.browser.settle import settled

LENGTHS = (16, 64)
ROUNDS = 3
LIMIT_FRAMES = 2
MODEL = {"architecture": "both", "width": "64", "heads": "4", "part": "weights"}
WIDE = {"width": 1920, "height": 1080}
PARTS = ".st-key-walk .diagram button.part:not([data-kind=block]):not([data-kind=tokens])"
"""Those that show matrices"""


def rows() -> Iterator[Row]:
    """Measure a model with an encoder and a decoder at each length."""
    with OURS.served() as server:
        server.wait()
        for tokens in LENGTHS:
            with chrome() as browser:
                page = new_page(browser, motion="reduce")
                page.set_viewport_size(WIDE)
                text = text_of(tokens)
                page.goto(f"{server.url}/transformer?{urlencode({**MODEL, 'text': text, 'pair': text})}")
                settled(page)
                names = [name or "" for name in page.locator(PARTS).evaluate_all(NAMES)]
                for name in names:  # the numbers of each come once
                    button(page, name).click()
                    settled(page)
                wait_for_calm()
                shown = [opened(page, name) for _ in range(ROUNDS) for name in names]
            what = f"open a part of a transformer -> painted, {tokens} tokens"
            yield Row(what, 0, median(one.ms for one in shown), None)
            frames = sorted(one.frames for one in shown)
            yield Row(f"{what}, median of {len(shown)}", 0, median(frames), LIMIT_FRAMES, unit="frames")
            yield Row(f"{what}, 95 in 100", 0, frames[int(0.95 * len(frames))], LIMIT_FRAMES, unit="frames")


NAMES = "buttons => buttons.map((one) => one.getAttribute('aria-label'))"


def button(page: Page, name: str) -> Locator:
    """Return the button of a part."""
    return page.locator(".st-key-walk .diagram").get_by_role("button", name=name, exact=True)


def opened(page: Page, name: str) -> Shown:
    """Time one click on a part, begun from rest."""
    settled(page)
    page.wait_for_timeout(300)
    return act(page, OURS.repainted, "pointerup", button(page, name).click)
