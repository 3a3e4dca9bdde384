"""The preload in the background of a starting server: what it does, in which order, and what ends its delay."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from attnviz import ready
from attnviz.serving import preload
from attnviz.serving.preload import Preload, PreloadTrigger
from attnviz.settings import PUBLIC, Settings
from attnviz.ui import (
    caches,
    step_by_step,  # noqa: F401 — imported here, so that the preload's import takes no time
)
from tests.threads import run_in_thread

LONG = 60.0
PAUSE = 0.2
"""Seconds in which a preload without a delay would be done"""


@pytest.fixture
def actions(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Replace what takes seconds, and list it in the order in which the preload calls it."""
    done: list[str] = []
    monkeypatch.setattr(caches, "model", done.append)
    monkeypatch.setattr(preload, "limit_threads", lambda: None)
    monkeypatch.setattr(preload, "make_all", lambda: done.append("scripts"))
    monkeypatch.setattr(ready, "checks", lambda **_: [])
    monkeypatch.setattr(ready, "print_checks", lambda *_: done.append("checks"))
    return done


def start(started: Preload) -> threading.Thread:
    thread = threading.Thread(target=started.run, daemon=True)
    thread.start()
    return thread


@pytest.mark.parametrize(
    ("limits", "delay", "expected"),
    [
        (Settings(), PAUSE, ["minilm", "scripts"]),
        (PUBLIC, LONG, ["minilm", "scripts", "checks"]),
    ],
    ids=["local", "public"],
)
def test_only_a_local_server_delays_the_model(
    monkeypatch: pytest.MonkeyPatch, actions: list[str], limits: Settings, delay: float, expected: list[str]
) -> None:
    monkeypatch.setattr(preload, "settings", lambda: limits)
    started = Preload(delay)
    assert not started.is_done
    thread = start(started)
    thread.join(LONG / 2)
    assert not thread.is_alive()
    assert actions == expected
    assert started.is_done


@pytest.mark.parametrize(
    ("path", "query", "ends"),
    [
        ("/", "", False),
        ("/", "source=toy&text=heads", True),
        ("/tokens", "", True),
        ("/attnviz/modules/0/walk.js", "", False),
        ("/attnviz/arrays/abc", "", True),
        ("/compare", "head=1", True),
        ("/", "step=weights&source=pretrained", True),
        ("/heads", "", True),
        ("/demo/heads", "layer=2", True),
        ("/bert", "", False),
        ("/demo/bert", "bert_part=back", True),
    ],
)
def test_a_request_for_what_needs_torch_ends_the_delay_and_so_does_the_first_picture(
    monkeypatch: pytest.MonkeyPatch, actions: list[str], path: str, query: str, ends: bool
) -> None:
    monkeypatch.setattr(preload, "settings", Settings)
    served = []

    async def app(*request: Any) -> None:
        served.append(request)

    started = Preload(LONG)
    thread = start(started)
    thread.join(PAUSE)
    assert actions == []
    request: tuple[Any, Any, Any] = ({"type": "http", "path": path, "query_string": query.encode()}, None, None)
    run_in_thread(PreloadTrigger(app, started)(*request))
    assert served == [request]
    thread.join(LONG / 2 if ends else PAUSE)
    assert started.is_done == ends
    started.request()
    thread.join(LONG / 2)
    assert actions == ["minilm", "scripts"]
