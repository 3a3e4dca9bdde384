"""What a person waits for: the first picture after a start, the next after a click, a part of a transformer."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from statistics import median
from urllib.parse import urlencode

from playwright.sync_api import Locator, Page

from bench.apps import OURS, SENTENCE, WEIGHTS_OF_MINILM, App, is_native
from bench.stopwatch import Shown, act, chrome, load, new_page, wait_for_calm
from bench.table import Row, compared
from bench.texts import text_of
from tests.browser.settle import settled

COLD_ROUNDS = 3
LENGTHS = (16, 64, 256)
NUMBERS = (1, 2, 3, 4)
"""The layers, and then the heads, that are chosen one after the other."""
THERE_AND_BACK = ("Scores", "Weights")

Action = Callable[[], object]


PARTS_OF_BERT = {
    "back": "() => document.querySelector('.back-rows')",
    "language": "() => document.querySelector('.st-key-language_moved .columns li')",
}
"""Parts of BERT, by their names in links, and whether a browser shows all of each, in JavaScript"""


def cold_start(app: App, path: str, done: str) -> float:
    """Return the ms from the start of the server's process until a waiting browser shows what `done` asks for."""
    with chrome() as browser:
        page = new_page(browser)
        wait_for_calm()
        with app.served() as server:
            server.wait()
            return load(page, server.url + path, done, since=server.started)


def cold_rows(other: App) -> Iterator[Row]:
    """Compare cold starts, in turns."""
    pictures = [(other, "/"), (OURS, "/"), (OURS, WEIGHTS_OF_MINILM)]
    turns = [(app, path, SENTENCE if (app, path) == (OURS, "/") else app.repainted) for app, path in pictures]
    turns += [(OURS, f"/bert?bert_part={part}", done) for part, done in PARTS_OF_BERT.items()]
    series: list[list[float]] = [[] for _ in turns]
    for number in range(COLD_ROUNDS):
        for which in range(len(turns)):
            index = (which + number) % len(turns)
            series[index].append(cold_start(*turns[index]))
    yield compared("server start -> the first sentence, the default view", series[0], series[1], limit=0.5)
    yield compared("server start -> first heatmap, a head of MiniLM", series[0], series[2], limit=0.6)
    for part, times in zip(PARTS_OF_BERT, series[3:], strict=True):
        yield compared(f"server start -> BERT, the part {part}", series[0], times, limit=0.8)


def click(app: App, page: Page, prepare: Callable[[], Action], event: str = "pointerup") -> float:
    """Time one click, or another choice that begins with `event`, begun from rest."""
    settled(page)
    page.wait_for_timeout(300)
    return act(page, app.repainted, event, prepare()).ms


def change_rows(other: App) -> Iterator[Row]:
    """Compare changes of layer, head and step at each length, in turns, both apps open side by side."""
    with ExitStack() as stack:
        served = [stack.enter_context(app.served()) for app in (other, OURS)]
        for server in served:
            server.wait()
        for tokens in LENGTHS:
            with chrome() as browser:
                # A step counts as painted when its morph is over: what is timed here is the step without it.
                pages = [new_page(browser, motion="reduce") for _ in range(2)]
                for app, page, server in zip((other, OURS), pages, served, strict=True):
                    app.open(page, server.url, tokens)
                wait_for_calm()
                yield from changes(other, pages[0], pages[1], tokens)


def changes(other: App, theirs: Page, ours: Page, tokens: int) -> Iterator[Row]:
    """Click through layers, heads and steps at one length."""
    series: dict[str, tuple[list[float], list[float]]] = {}
    steps: list[float] = []
    for what in ("layer", "head"):
        series[what] = ([], [])
        for number in NUMBERS:
            turns = ((0, other, theirs), (1, OURS, ours))
            for side, app, page in turns if number % 2 else reversed(turns):
                box = getattr(app, what)
                begins = "input" if is_native(box) else "pointerup"
                chosen = click(app, page, lambda a=app, p=page, b=box, n=number: a.choice(p, b, n), begins)
                series[what][side].append(chosen)
            if what == "layer":
                steps += [click(OURS, ours, lambda label=label: OURS.step(ours, label)) for label in THERE_AND_BACK]
        yield compared(f"change of {what} -> painted, {tokens} tokens", *series[what], limit=0.25)
    yield compared(f"change of step (theirs: layer) -> painted, {tokens} tokens", series["layer"][0], steps, limit=0.25)


PART_LENGTHS = (16, 64)
ROUNDS = 3
LIMIT_FRAMES = 2
MODEL = {"architecture": "both", "width": "64", "heads": "4", "part": "weights"}
WIDE = {"width": 1920, "height": 1080}
PARTS_OF_MODEL = ".st-key-walk .diagram button.part:not([data-kind=block]):not([data-kind=tokens])"
"""Those that show matrices"""


def part_rows() -> Iterator[Row]:
    """Measure a model with an encoder and a decoder at each length."""
    with OURS.served() as server:
        server.wait()
        for tokens in PART_LENGTHS:
            with chrome() as browser:
                page = new_page(browser, motion="reduce")
                page.set_viewport_size(WIDE)
                text = text_of(tokens)
                page.goto(f"{server.url}/transformer?{urlencode({**MODEL, 'text': text, 'pair': text})}")
                settled(page)
                names = [name or "" for name in page.locator(PARTS_OF_MODEL).evaluate_all(NAMES)]
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
