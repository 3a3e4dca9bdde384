"""`python -m attnviz serve`, as whoever hosts the app starts it."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import pytest
from playwright.sync_api import Page, expect

from attnviz.links.pages import OPENING
from tests.browser.board import matrix
from tests.browser.contexts import Contexts
from tests.browser.server import ROOT, Server, free_port, launch, running
from tests.browser.settle import TIMEOUT_S, settled, settled_at
from tests.loaded import built_in_model
from tests.waiting import until

STAGE = ".attnviz-stage"
HEADS = ".st-key-explorer .explorer"
MODEL = "/?source=pretrained&model=gpt2&step=weights"


@contextmanager
def serving(**settings: str) -> Iterator[Server]:
    """Start the server with settings, and wait until its model is loaded. What is tested here needs no process more."""
    port = free_port()
    server = launch(["attnviz", "serve", "--port", str(port)], port, env={**settings})
    try:
        server.wait()
        until(lambda: answer(f"{server.url}/readyz")[0] == 200, TIMEOUT_S, why=server.log_text)
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

    context = new_context()  # each page of it is a session of its own
    first, second, third = (context.new_page() for _ in range(3))
    first.goto(served.url + MODEL)
    refusal = first.get_by_text(
        "“gpt2” is not offered on this server, which has MiniLM (a small BERT). Showing MiniLM (a small BERT)."
    )
    expect(refusal).to_be_visible()
    expect(first.locator(STAGE)).to_have_attribute("data-rows", re.compile(r"\d+"))
    second.goto(served.url)
    expect(second.get_by_role("region", name="Sentence")).to_contain_text("“it” gives 97 %")
    figures = answer(f"{served.url}/metrics")[1]
    assert "\nattnviz_sessions 2.0\n" in figures
    assert '\nattnviz_cache_entries{cache="traces"} 2.0\n' in figures
    assert answer(f"{served.url}/readyz") == (503, "full\n")

    refused = third.goto(served.url + MODEL)
    assert refused is not None
    assert (refused.status, refused.headers["retry-after"]) == (503, "20")
    expect(third.get_by_role("heading", name="Busy just now")).to_be_visible()
    second.close()
    expect(first.locator(STAGE)).to_be_visible()
    until(lambda: answer(f"{served.url}/readyz")[0] == 200, TIMEOUT_S)
    third.reload()
    expect(third.locator(STAGE)).to_be_visible()

    served.process.send_signal(signal.SIGTERM)  # with two browsers connected
    assert served.process.wait(60) in (0, -signal.SIGTERM)
    assert "Traceback" not in served.log_text()
    assert "animal" not in served.log_text()


def test_a_slow_machine_shows_a_picture_before_the_model_and_a_waiting_visitor_the_place_in_the_queue(
    one_page: Page,
) -> None:
    """All of it below a path, as behind a proxy, where nothing is asked for that is not there."""
    page, missing = one_page, list[str]()
    page.on("response", lambda response: missing.append(response.url) if response.status == 404 else None)
    settings = {"ATTNVIZ_PASSES": "1", "PYTHONPATH": str(ROOT)}
    with running("tests/browser/apps/slow_app.py", env=settings, below="/some/where") as url:
        settled_at(page, url)
        routes = url.removesuffix("/some/where")
        the_picture_is_there_before_the_model(page, routes)
        a_visitor_waits(page, url, routes)
    assert missing == []


def the_picture_is_there_before_the_model(page: Page, routes: str) -> None:
    """Explore the first view, and then what needs the model."""
    sentence = page.get_by_role("region", name="Sentence")
    expect(sentence).to_contain_text("“it” gives 97 %")
    expect(page.get_by_role("group", name="What this is")).to_be_visible()
    page.get_by_role("button", name="head 8").click()
    page.get_by_role("radio", name="Weights", exact=True).click()
    settled(page)
    model = built_in_model().trace(OPENING["text"])
    np.testing.assert_allclose(matrix(page, "weights"), model.attentions(3)[8].numpy(), atol=1e-5)
    assert answer(f"{routes}/healthz")[0] == 503
    page.get_by_role("combobox", name="Layer").select_option("2")
    expect(page.locator(".walk[aria-busy=true]")).to_be_visible()
    assert answer(f"{routes}/test/load") == (200, "loading")
    settled(page)
    np.testing.assert_allclose(matrix(page, "weights"), model.attentions(2)[8].numpy(), atol=1e-5)
    page.get_by_role("radio", name="Q, K, V").click()
    settled(page)
    assert matrix(page, "query").shape == (16, 32)


def a_visitor_waits(page: Page, url: str, routes: str) -> None:
    """Ask for a text, on the page of the heads and in the walk, while another takes the only place."""
    page.goto("about:blank")  # the server then has to answer for an address below the path
    page.goto(f"{url}/heads?text=the+lamp+is+out")
    expect(page.locator(HEADS)).to_have_attribute("data-rows", "6")
    assert answer(f"{routes}/test/occupy") == (200, "occupied")
    text = page.get_by_label("Text", exact=True)
    text.fill("the cat sat")
    text.press("Control+Enter")
    expect(page.get_by_text("1 text is before yours …")).to_be_visible()
    assert answer(f"{routes}/test/free") == (200, "free")
    expect(page.locator(HEADS)).to_have_attribute("data-rows", "5")
    expect(page.get_by_text("before yours")).to_have_count(0)

    page.goto(f"{url}/?source=pretrained&step=weights&text=the+lamp")
    expect(page.locator(STAGE)).to_have_attribute("data-rows", "4")
    assert answer(f"{routes}/test/occupy") == (200, "occupied")
    text.fill("the cat sat")
    text.press("Control+Enter")
    note = page.locator(".walk .note")
    # Or more, if the browser has just requested the layers beside the one on the screen.
    expect(note).to_have_text(re.compile(r"^\d+ texts? (is|are) before yours …$"))
    assert answer(f"{routes}/test/free") == (200, "free")
    expect(note).to_have_text("")
    expect(page.locator(STAGE)).to_have_attribute("data-rows", "5")


def test_a_wrong_setting_ends_the_start_with_one_line() -> None:
    started = subprocess.run(
        [sys.executable, "-m", "attnviz", "serve"], cwd=ROOT, env={**os.environ, "ATTNVIZ_SESSIONS": "many"},
        capture_output=True, text=True, timeout=TIMEOUT_S, check=False,
    )  # fmt: skip
    assert started.returncode == 2
    assert started.stderr == "attnviz: ATTNVIZ_SESSIONS=many: expected a whole number from 0 to 100000.\n"
