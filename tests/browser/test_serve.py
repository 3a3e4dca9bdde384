"""`python -m attnviz serve`, as whoever hosts the app starts it."""

from __future__ import annotations

import itertools
import os
import re
import signal
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import pytest
from playwright.sync_api import Page, expect

from tests.browser.contexts import Contexts
from tests.browser.server import ROOT, Server, free_port, launch
from tests.browser.settle import TIMEOUT_S, in_the_end
from tests.safety.client import Visitor

STAGE = ".attnviz-stage"
HEADS = ".st-key-explorer .explorer"
MODEL = "/?source=pretrained&model=gpt2&step=weights"


CROWD = 8
"""Visitors who have long texts read, one after another, for as long as it takes"""
NOTE = """() => {
  const note = /(^|\\n)\\d+ texts? (is|are) before yours …($|\\n)/;
  new MutationObserver(() => { window.noted ||= note.test(document.body.innerText); })
    .observe(document.body, { childList: true, subtree: true, characterData: true });
}"""
"""Notices how many texts are before one's own, however briefly the page mentions them."""


@contextmanager
def serving(**settings: str) -> Iterator[Server]:
    """Start the server with settings, and wait until its model is loaded. What is tested here needs no process more."""
    port = free_port()
    server = launch(["attnviz", "serve", "--port", str(port)], port, env={**settings})
    try:
        server.wait()
        began = time.monotonic()
        while answer(f"{server.url}/readyz")[0] != 200:
            assert time.monotonic() - began < TIMEOUT_S, server.log_text()
            time.sleep(0.1)
        yield server
    finally:
        server.stop()
        server.log.unlink()


def answer(url: str, accept: str = "*/*") -> tuple[int, str]:
    """Return the status and the text of an answer."""
    try:
        with urllib.request.urlopen(urllib.request.Request(url, headers={"Accept": accept}), timeout=60) as found:
            return found.status, found.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()


@pytest.fixture
def served() -> Iterator[Server]:
    with serving(ATTNVIZ_SESSIONS="2") as server:
        yield server


def test_a_public_server_has_health_checks_and_limits_models_and_visitors(
    served: Server, new_context: Contexts
) -> None:
    assert answer(f"{served.url}/healthz") == (200, "ok\n")

    first, second = new_context().new_page(), new_context().new_page()
    first.goto(served.url + MODEL)
    refusal = first.get_by_text("“gpt2” is not offered on this server, which has minilm. Showing minilm.")
    expect(refusal).to_be_visible()
    expect(first.locator(STAGE)).to_have_attribute("data-rows", re.compile(r"\d+"))
    second.goto(served.url)
    expect(second.locator(STAGE)).to_be_visible()
    figures = answer(f"{served.url}/metrics")[1]
    assert "\nattnviz_sessions 2.0\n" in figures
    assert '\nattnviz_cache_entries{cache="traces"} 1.0\n' in figures
    assert answer(f"{served.url}/readyz") == (503, "full\n")

    third = new_context().new_page()
    refused = third.goto(served.url + MODEL)
    assert refused is not None
    assert (refused.status, refused.headers["retry-after"]) == (503, "20")
    expect(third.get_by_role("heading", name="Busy just now")).to_be_visible()
    second.close()
    expect(first.locator(STAGE)).to_be_visible()
    began = time.monotonic()
    while answer(f"{served.url}/readyz")[0] != 200:
        assert time.monotonic() - began < TIMEOUT_S
        time.sleep(0.1)
    third.reload()
    expect(third.locator(STAGE)).to_be_visible()

    served.process.send_signal(signal.SIGTERM)  # with two browsers connected
    assert served.process.wait(60) in (0, -signal.SIGTERM)
    assert "Traceback" not in served.log_text()
    assert "animal" not in served.log_text()


def test_a_waiting_visitor_sees_the_place_in_the_queue_and_then_the_picture(new_context: Contexts) -> None:
    seen, numbers = threading.Event(), itertools.count()
    with serving(ATTNVIZ_PASSES="1", ATTNVIZ_REQUESTS="0") as served, ThreadPoolExecutor(CROWD) as threads:
        page = new_context().new_page()
        page.goto(f"{served.url}/heads?text=the+lamp+is+out")
        expect(page.locator(HEADS)).to_have_attribute("data-rows", "6")
        page.evaluate(NOTE)
        crowd = [threads.submit(read_long_texts, served.url, numbers, seen) for _ in range(CROWD)]
        try:
            in_the_end(page, lambda: waiting(served), lambda count: count > 0)
            assert in_the_end(page, lambda: notes(page, f"the cat sat on mat {next(numbers)}"), bool)
        finally:
            seen.set()
        notes(page, "the cat sat")
        expect(page.locator(HEADS)).to_have_attribute("data-rows", "5")
        expect(page.get_by_text("before yours")).to_have_count(0)
        for visitor in crowd:
            visitor.result(120)


def notes(page: Page, sentence: str) -> bool:
    """Type a sentence, wait until it is shown, and return whether the page mentioned others' texts."""
    heads, text = page.locator(HEADS), page.get_by_label("Text", exact=True)
    painted = heads.get_attribute("data-painted") or ""
    text.fill(sentence)
    text.press("Control+Enter")
    expect(heads).not_to_have_attribute("data-painted", painted)
    return bool(page.evaluate("() => window.noted"))


def waiting(server: Server) -> float:
    """Return how many texts wait to be read."""
    figures = answer(f"{server.url}/metrics")[1]
    return float(re.findall(r"^attnviz_passes_waiting (\S+)", figures, re.MULTILINE)[0])


def read_long_texts(url: str, numbers: Iterator[int], enough: threading.Event) -> None:
    """Have texts of 512 tokens read that nobody else asks for, until it is enough."""
    with Visitor(url) as visitor:
        while not enough.is_set():
            text = "+".join([str(next(numbers)), *["lamp"] * 600])
            shown = visitor.open("heads", f"text={text}")
            assert not shown.broke, shown.messages


def test_a_wrong_setting_ends_the_start_with_one_line() -> None:
    started = subprocess.run(
        [sys.executable, "-m", "attnviz", "serve"], cwd=ROOT, env={**os.environ, "ATTNVIZ_SESSIONS": "many"},
        capture_output=True, text=True, timeout=TIMEOUT_S, check=False,
    )  # fmt: skip
    assert started.returncode == 2
    assert started.stderr == "attnviz: ATTNVIZ_SESSIONS=many: expected a whole number from 0 to 100000.\n"
