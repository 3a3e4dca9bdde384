"""The Heads page: how it is opened and worked, and how its picture is asked whether it is painted.

Its component lives in a shadow root and notes there what it has painted (frontend/heads/explorer.ts): `painted` counts
the pictures, and the pane of lines says whether the last of its strokes is drawn.
"""

from __future__ import annotations

from collections.abc import Iterable
from urllib.parse import urlencode

from playwright.sync_api import Page

from bench.stopwatch import Shown, act, load
from tests.browser.settle import settled

PATH = "/heads"
PLACE = ".st-key-explorer"
AWAY = (640, 4)
"""A place on the screen where nothing is pointed at."""


def asks(question: str, **about: object) -> str:
    """Return a question of stopwatch.js's `explorer` as JavaScript."""
    return f"stopwatch.explorer.{question}({', '.join(str(value).lower() for value in about.values())})"


def link(text: str, *, model: str = "minilm", chosen: Iterable[tuple[int, int]] = ((0, 0),)) -> str:
    """Return the link to a text's attention, with these heads (layer, head) shown as lines."""
    heads = "_".join(f"{layer}.{head}" for layer, head in chosen)
    return f"{PATH}?{urlencode({'source': 'pretrained', 'model': model, 'text': text, 'chosen': heads})}"


def open_link(page: Page, url: str, tokens: int, *, whole: bool = False) -> float:
    """Return the ms from the start of the navigation until the grid, or the whole picture, is drawn."""
    return load(page, url, asks("painted", tokens=tokens, whole=whole))


def type_text(page: Page, text: str, tokens: int, *, whole: bool = False) -> Shown:
    """Submit another text to the running page, and wait for its grid, or for the whole picture."""
    area = page.locator(".st-key-text textarea")
    area.fill(text)
    page.wait_for_timeout(300)
    return act(page, asks("painted", tokens=tokens, whole=whole), "keydown", lambda: area.press("Control+Enter"))


def open_head(page: Page, layer: int, head: int, *, whole: bool = False) -> Shown:
    """Click on a head in the grid, and wait until it is drawn; `whole`: with the faintest of its lines."""
    rest(page)
    x, y = page.evaluate(asks("thumbnail", layer=layer, head=head))
    return act(page, asks("opened", layer=layer, head=head, whole=whole), "click", lambda: page.mouse.click(x, y))


def next_layer(page: Page, layer: int, head: int, *, whole: bool = False) -> Shown:
    """Go from a head to the same head of the next layer with an arrow key, and wait until it is drawn."""
    rest(page)
    page.evaluate(asks("focus"))
    done = asks("opened", layer=layer + 1, head=head, whole=whole)
    return act(page, done, "keydown", lambda: page.keyboard.press("ArrowDown"))


def hover_token(page: Page, token: int) -> Shown:
    """Point at a query token beside the lines: its own lines stand out."""
    rest(page)
    x, y = page.evaluate(asks("token", token=token))
    return act(page, asks("lit", token=token), "pointermove", lambda: page.mouse.move(x, y))


def rest(page: Page) -> None:
    """Wait until all is drawn and nothing is pointed at."""
    page.mouse.move(*AWAY)
    settled(page)
    page.wait_for_function(asks("resting"))
    page.wait_for_timeout(200)
