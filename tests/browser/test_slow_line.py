"""Far from the server: what one does before its answers have come counts, and the address says what is shown."""

from __future__ import annotations

import re
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Page, WebSocketRoute, expect
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg

from tests.browser.settle import frames, in_the_end, settled

OVER = {ForwardMsg.FINISHED_SUCCESSFULLY, ForwardMsg.FINISHED_FRAGMENT_RUN_SUCCESSFULLY}


class Line:
    """A connection to the server on which the answers can be held up."""

    def __init__(self, page: Page) -> None:
        """Open nothing yet: the page is to be opened after this."""
        self.page = page
        self.held: list[str | bytes] | None = None
        page.route_web_socket(re.compile("_stcore/stream"), self._connect)

    def _connect(self, browser: WebSocketRoute) -> None:
        self._browser, server = browser, browser.connect_to_server()
        browser.on_message(server.send)
        server.on_message(self._answer)

    def _answer(self, message: str | bytes) -> None:
        if self.held is None:
            self._browser.send(message)
        else:
            self.held.append(message)

    def runs(self) -> int:
        """Return how many runs are over whose answers are held up."""
        messages = [ForwardMsg.FromString(one) for one in self.held or [] if isinstance(one, bytes)]
        return sum(one.WhichOneof("type") == "script_finished" and one.script_finished in OVER for one in messages)

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
            received = ForwardMsg.FromString(message) if isinstance(message, bytes) else ForwardMsg()
            runs -= received.WhichOneof("type") == "script_finished" and received.script_finished in OVER
        self.page.wait_for_timeout(1000)
        return frames(self.page)

    def release(self) -> Page:
        """Let through what was held up, and all that comes; return the page as it is then."""
        held, self.held = self.held or [], None
        for message in held:
            self._browser.send(message)
        return settled(self.page)


def held_line(page: Page, url: str) -> Line:
    """Open a page, and hold up all answers once it is shown."""
    line = Line(page)
    page.goto(url)
    settled(page)
    line.hold()
    return line


def press_before_the_answers(page: Page, url: str, *keys: str) -> None:
    """Open a page and press keys, each after the server has worked for the last and before the browser hears of it."""
    line = held_line(page, url)
    for runs, key in enumerate(keys, 1):
        page.keyboard.press(key)
        line.wait(runs)
    line.release()


@pytest.mark.parametrize(
    ("link", "keys", "query"),
    [
        ("heads?layer=2", ("m", "m", "s"), "layer=2&show=heatmap&stretch=1"),
        ("averages", ("ArrowRight", "PageDown", "d"), "way=softmax&drawing=chart"),
    ],
)
def test_every_key_press_before_the_response_counts(
    page: Page, app_url: str, link: str, keys: tuple[str, ...], query: str
) -> None:
    press_before_the_answers(page, f"{app_url}/{link}", *keys)
    assert urlsplit(page.url).query == query


def test_a_step_forward_and_back_before_the_response_ends_at_the_start(page: Page, app_url: str) -> None:
    press_before_the_answers(page, f"{app_url}/averages?way=matrix", "PageDown", "PageUp")
    assert urlsplit(page.url).query == "way=matrix"
    page.keyboard.press("d")
    settled(page)
    assert urlsplit(page.url).query == "way=matrix&drawing=chart"


def test_a_late_response_undoes_no_step(page: Page, app_url: str) -> None:
    line = held_line(page, f"{app_url}/?step=scores&head=1")
    for runs in (1, 2):
        page.keyboard.press("PageDown")
        line.wait(runs)
    page.wait_for_timeout(3500)
    chosen = page.get_by_role("radiogroup", name="Step").get_by_role("radio", checked=True)
    for runs in (0, 1):
        line.let_through(runs)
        expect(chosen).to_have_text("Masked")
    line.release()
    expect(chosen).to_have_text("Masked")
    assert urlsplit(page.url).query == "step=masked&head=1"


def test_a_response_after_a_change_of_page_keeps_the_address(page: Page, app_url: str) -> None:
    line = held_line(page, f"{app_url}/heads?text=two+words")
    page.keyboard.press("s")
    line.wait(1)
    link = page.get_by_role("link", name="Layer 0 · head 0, step by step")
    address = link.get_attribute("href")
    link.click()
    line.wait(2)
    line.release()
    assert address
    assert "step=weights" in address
    assert page.url.endswith(f"/{address}")
