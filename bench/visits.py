"""Visits to BertViz's views and to our Heads page, each in a fresh browser, and the figures that they give."""

from __future__ import annotations

import sys
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from statistics import median
from typing import Any

from playwright.sync_api import Error, Page, Response, WebSocket

from attnviz.serving.arrays import PATH as ARRAYS
from bench import bertviz_views as bertviz
from bench import explorer
from bench.limits import BrokeError, limited, megabytes
from bench.stopwatch import Shown, chrome, new_page, wait_for_calm
from bench.texts import fresh_text

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
            address = url + explorer.link(fresh_text(tokens), model=model)
            figures.series["link"].append(explorer.open_link(page, address, tokens))
            explorer.rest(page)
            page.wait_for_timeout(2000)  # what is fetched ahead counts as well
        figures.series["bytes"].append(received.megabytes)
        figures.add("text", lambda _: explorer.type_text(page, fresh_text(tokens), tokens), range(2))
        figures.add("open", lambda head: explorer.open_head(page, 0, head), (7, 3, 11))
        figures.add("open, whole", lambda head: explorer.open_head(page, 0, head, whole=True), (2, 9, 4))
        explorer.open_head(page, 0, 5)
        figures.add("layer", lambda layer: explorer.next_layer(page, layer, 5), (0, 1))
        figures.add("layer, whole", lambda layer: explorer.next_layer(page, layer, 5, whole=True), (2, 3))
        figures.add("hover", lambda token: explorer.hover_token(page, token), bertviz.TOKENS_TO_HOVER)
        figures.series["memory"].append(megabytes(page))


def visit_lines(url: str, tokens: int, figures: Figures, model: str = "minilm") -> None:
    """Open one layer's heads as lines, submit other texts, and point at tokens."""
    with fresh_page() as page:
        with limited():
            address = url + explorer.link(fresh_text(tokens), model=model, chosen=LAYER)
            figures.series["lines by link"].append(explorer.open_link(page, address, tokens, whole=True))
            explorer.rest(page)
        figures.add("lines", lambda _: explorer.type_text(page, fresh_text(tokens), tokens, whole=True), range(2))
        figures.add("hover 12", lambda token: explorer.hover_token(page, token), bertviz.TOKENS_TO_HOVER)
        figures.series["memory 12"].append(megabytes(page))
