"""A connection to the server that a test can hold up."""

from __future__ import annotations

import json
import re
from functools import partial
from typing import Any
from weakref import WeakKeyDictionary

from playwright.sync_api import Page, WebSocketRoute
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg

from tests.browser.settle import frames, in_the_end, settled

OVER = {ForwardMsg.FINISHED_SUCCESSFULLY, ForwardMsg.FINISHED_FRAGMENT_RUN_SUCCESSFULLY}


class Line:
    """A connection to the server on which the answers can be held up."""

    def __init__(self, page: Page) -> None:
        """Open nothing yet: the page is to be opened after this."""
        self.page = page
        self.sent: list[bytes] = []
        self.held: list[str | bytes] | None = None
        self.over = 0
        """How many runs are over whose answers have gone through"""
        page.route_web_socket(re.compile("_stcore/stream"), self._connect)

    def _connect(self, browser: WebSocketRoute) -> None:
        self._browser, server = browser, browser.connect_to_server()
        browser.on_message(partial(self._send, server))
        server.on_message(self._answer)

    def _send(self, server: WebSocketRoute, message: str | bytes) -> None:
        if isinstance(message, bytes):
            self.sent.append(message)
        server.send(message)

    def updates(self) -> list[dict[str, Any]]:
        """Return the values of each update that the page has sent, in order."""
        runs = [BackMsg.FromString(message).rerun_script for message in self.sent]
        texts = [state.json_trigger_value for run in runs for state in run.widget_states.widgets]
        return [sent["value"]["values"] for text in texts if text for sent in json.loads(text)]

    def _answer(self, message: str | bytes) -> None:
        if self.held is None:
            self._browser.send(message)
            self.over += ends_a_run(message)
        else:
            self.held.append(message)

    def go(self, url: str) -> Page:
        """Open an address, and return the page once it is shown.

        That nothing is outstanding does not say so: what the page sends is here before it is on its way.
        """
        if self.page.locator("[data-testid=stApp]").count():
            settled(self.page)  # no run of the view before is counted as this one's
        over = self.over
        self.page.goto(url)
        assert in_the_end(self.page, lambda: self.over, lambda now: now > over) > over
        return settled(self.page)

    def runs(self) -> int:
        """Return how many runs are over whose answers are held up."""
        return sum(map(ends_a_run, self.held or []))

    def hold(self) -> None:
        """Let no answer through from now on."""
        self.held = []

    def wait(self, runs: int) -> None:
        """Wait until the server is done with so many runs."""
        assert in_the_end(self.page, self.runs, lambda count: count >= runs) == runs

    def let_through(self, runs: int) -> Page:
        """Let the answers of so many runs through, and hold up the rest; return the page once it has drawn them."""
        while self.held and runs:
            message = self.held.pop(0)
            self._browser.send(message)
            runs -= ends_a_run(message)
        self.page.wait_for_timeout(1000)
        return frames(self.page)

    def break_the_page(self) -> None:
        """Send an element for a place that the page does not have, as a run of another page may."""
        stray = ForwardMsg()
        stray.metadata.delta_path.extend([0, 99])
        stray.delta.new_element.text.body = "stray"
        self._browser.send(stray.SerializeToString())

    def release(self) -> Page:
        """Let through what was held up, and all that comes; return the page as it is then."""
        held, self.held = self.held or [], None
        for message in held:
            self._answer(message)
        return settled(self.page)

    def hold_at(self, url: str) -> Page:
        """Open an address, and hold up all answers once it is shown; return the page."""
        self.go(url)
        self.sent.clear()
        self.hold()
        return self.page


def ends_a_run(message: str | bytes) -> bool:
    """Return whether an answer of the server is the last one to a run that it has done."""
    received = ForwardMsg.FromString(message) if isinstance(message, bytes) else ForwardMsg()
    return received.WhichOneof("type") == "script_finished" and received.script_finished in OVER


LINES = WeakKeyDictionary[Page, Line]()


def line_of(page: Page) -> Line:
    """Return the line of a page that the tests of a file share, on which nothing counts as sent yet."""
    if page not in LINES:
        LINES[page] = Line(page)
    LINES[page].sent.clear()
    return LINES[page]
