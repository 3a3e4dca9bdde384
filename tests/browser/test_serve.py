"""`python -m attnviz serve`, as whoever hosts the app starts it."""

from __future__ import annotations

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
from contextlib import contextmanager

import pytest
from playwright.sync_api import expect

from tests.browser.contexts import Contexts
from tests.browser.server import ROOT, Server, free_port, launch
from tests.safety.client import Visitor

STAGE = ".st-key-picture .attnviz-stage"
PATIENCE = 30_000
"""ms for a first picture, on a machine that has other things to do"""
MODEL = "/?source=pretrained&model=gpt2&step=weights"


CROWD = 12
"""Visitors whose long texts come first: some seconds of reading, one after another"""


@contextmanager
def serving(**settings: str) -> Iterator[Server]:
    """Start the server with settings, and wait until its model is loaded."""
    port = free_port()
    server = launch(["attnviz", "serve", "--port", str(port)], port, env=settings)
    try:
        server.wait()
        began = time.monotonic()
        while answer(f"{server.url}/readyz")[0] != 200:
            assert time.monotonic() - began < 120, server.said()
            time.sleep(0.1)
        yield server
    finally:
        server.stop()
        server.log.unlink()


def answer(url: str, accept: str = "*/*") -> tuple[int, str]:
    """Return the status and the text of an answer."""
    try:
        with urllib.request.urlopen(urllib.request.Request(url, headers={"Accept": accept}), timeout=30) as found:
            return found.status, found.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()


@pytest.fixture
def served() -> Iterator[Server]:
    with serving(ATTNVIZ_SESSIONS="2") as server:
        yield server


def test_a_public_server_says_how_it_is_keeps_to_its_models_and_turns_away_who_is_too_many(
    served: Server, new_context: Contexts
) -> None:
    assert answer(f"{served.url}/healthz") == (200, "ok\n")

    first, second = new_context().new_page(), new_context().new_page()
    first.goto(served.url + MODEL)
    refusal = first.get_by_text("“gpt2” is not offered on this server, which has minilm. Showing minilm.")
    expect(refusal).to_be_visible(timeout=PATIENCE)
    expect(first.locator(STAGE)).to_have_attribute("data-rows", re.compile(r"\d+"), timeout=PATIENCE)
    second.goto(served.url)
    expect(second.locator(STAGE)).to_be_visible(timeout=PATIENCE)
    figures = answer(f"{served.url}/metrics")[1]
    assert "\nattnviz_sessions 2\n" in figures
    assert '\nattnviz_cache_entries{cache="traces"} 1\n' in figures
    assert answer(f"{served.url}/readyz") == (503, "full\n")

    third = new_context().new_page()
    refused = third.goto(served.url + MODEL)
    assert refused is not None
    assert (refused.status, refused.headers["retry-after"]) == (503, "20")
    expect(third.get_by_role("heading", name="Busy just now")).to_be_visible(timeout=PATIENCE)
    second.close()
    expect(first.locator(STAGE)).to_be_visible(timeout=PATIENCE)
    began = time.monotonic()
    while answer(f"{served.url}/readyz")[0] != 200:
        assert time.monotonic() - began < 30
        time.sleep(0.1)
    third.reload()
    expect(third.locator(STAGE)).to_be_visible(timeout=PATIENCE)

    served.process.send_signal(signal.SIGTERM)  # with two browsers connected
    assert served.process.wait(15) in (0, -signal.SIGTERM)
    assert "Traceback" not in served.said()
    assert "animal" not in served.said()


def test_who_waits_for_others_texts_sees_how_many_and_then_the_picture(new_context: Contexts) -> None:
    with serving(ATTNVIZ_PASSES="1") as served:
        page = new_context().new_page()
        page.goto(f"{served.url}/?source=pretrained&step=weights&text=the+lamp+is+out")
        expect(page.locator(STAGE)).to_have_attribute("data-rows", "6", timeout=PATIENCE)
        crowd = [threading.Thread(target=read_a_long_text, args=(served.url, number)) for number in range(CROWD)]
        for visitor in crowd:
            visitor.start()
        time.sleep(0.3)
        text = page.get_by_label("Text", exact=True)
        text.fill("the cat sat")
        text.press("Control+Enter")
        expect(page.get_by_text(re.compile(r"^\d+ texts? (is|are) before yours …$"))).to_be_visible(timeout=PATIENCE)
        expect(page.locator(STAGE)).to_have_attribute("data-rows", "5", timeout=PATIENCE)
        expect(page.get_by_text("before yours")).to_have_count(0)
        for visitor in crowd:
            visitor.join(60)
        assert not any(visitor.is_alive() for visitor in crowd)


def read_a_long_text(url: str, number: int) -> None:
    """Have a text of 512 tokens read, that nobody else has asked for."""
    with Visitor(url) as visitor:
        shown = visitor.open("", f"source=pretrained&step=weights&text={'+'.join([str(number), *['lamp'] * 600])}")
        assert not shown.broke, shown.said


def test_a_wrong_setting_ends_the_start_with_one_line() -> None:
    started = subprocess.run(
        [sys.executable, "-m", "attnviz", "serve"], cwd=ROOT, env={**os.environ, "ATTNVIZ_SESSIONS": "many"},
        capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert started.returncode == 2
    assert started.stderr == "attnviz: ATTNVIZ_SESSIONS=many: this is a whole number from 0 to 100000.\n"
