"""The two apps under the stopwatch: where they are, and how a person works them."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlencode

from playwright.sync_api import Page

from bench.texts import text_of
from tests.browser.server import ROOT, Server, start
from tests.browser.settle import settled

PLAIN_SCRIPT = ROOT / "bench" / "plain_app.py"
STAGE = ".attnviz-stage"
PLOT = ".js-plotly-plot"
WEIGHTS_OF_MINILM = "/?" + urlencode({"source": "pretrained", "step": "weights"})


@dataclass(frozen=True)
class App:
    """An app, what its picture shows and of how many rows (in JavaScript), and the CSS selectors of what is clicked."""

    script: Path
    picture: str
    rows: str
    layer: str
    head: str
    settings: bool
    """Whether it runs under this repository's settings; else under Streamlit's defaults"""
    takes_links: bool

    @property
    def repainted(self) -> str:
        """A question to the page, in JavaScript: is there a picture other than the present one?"""
        return f"stopwatch.changed(() => {self.picture})"

    @contextmanager
    def served(self) -> Iterator[Server]:
        """Start it and hand it out at once, before it is up."""
        with tempfile.TemporaryDirectory() as empty:
            options = () if self.settings else ("--browser.gatherUsageStats", "false")
            server = start(self.script.resolve(), cwd=ROOT if self.settings else Path(empty), options=options)
            try:
                yield server
            finally:
                server.stop()
                server.log.unlink()

    def open(self, page: Page, url: str, tokens: int) -> None:
        """Open it on one head's weights of a text of this length, by a link where it takes one, else by typing."""
        text = text_of(tokens)
        if self.takes_links:
            page.goto(f"{url}{WEIGHTS_OF_MINILM}&{urlencode({'text': text})}")
        else:
            page.goto(url)
            settled(page)
            area = page.locator("textarea").first
            area.fill(text)
            area.press("Control+Enter")
        settled(page)
        page.wait_for_timeout(500)
        settled(page)
        shown = page.evaluate(f"() => {self.rows}")
        assert shown == tokens, f"{self.script.name} shows {shown} rows, not {tokens}"

    def choice(self, page: Page, box: str, number: int) -> Callable[[], object]:
        """Open a select box and return the click on its option, which is what is timed.

        A selector with a place for the number is a row of buttons, where the click is all, as in the browser's own box.
        """
        if "{}" in box:
            return page.locator(box.format(number)).click
        if is_native(box):
            return lambda: page.locator(box).select_option(index=number)
        page.locator(box).click()
        option = page.get_by_role("option").nth(number)
        option.wait_for()
        page.wait_for_timeout(200)
        return option.click

    def step(self, page: Page, label: str) -> Callable[[], object]:
        """Return the click on a step's button."""
        return page.locator(".st-key-walk").get_by_role("radio", name=label, exact=True).click


SENTENCE = "() => Boolean(stopwatch.find('.sentence .word'))"
"""Whether our default view is there, in JavaScript: it is no matrix"""
OURS = App(
    script=ROOT / "app.py",
    picture=f"stopwatch.counted('{STAGE}')",
    rows=f"Number(stopwatch.find('{STAGE}').dataset.rows)",
    layer=".st-key-walk select",
    head=".st-key-walk button[aria-label='head {}']",
    settings=True,
    takes_links=True,
)


def is_native(box: str) -> bool:
    """Say whether a selector means the browser's own select box, which no script opens: it begins with `input`."""
    return box.endswith("select")


def plain(script: Path = PLAIN_SCRIPT) -> App:
    """Return the app to compare with: Plotly, a text area, and select boxes named Layer and Head."""
    return App(
        script=script,
        picture=f"stopwatch.plotly('{PLOT}')",
        rows=f"document.querySelector('{PLOT}')._fullData[0].z.length",
        layer='input[role=combobox][aria-label="Layer"]',
        head='input[role=combobox][aria-label="Head"]',
        settings=False,
        takes_links=False,
    )
