"""What the server does in the background when it starts, and in which order."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from attnviz import ready
from attnviz.serving import app as server
from attnviz.settings import PUBLIC, Settings
from attnviz.ui import caches
from tests.aside import run as run_aside


class Wanted(threading.Event):
    """Stands in for the event that ends the wait; waits for no time at all, and notes how long it was to be."""

    def __init__(self, done: list[Any]) -> None:
        super().__init__()
        self.done = done

    def wait(self, timeout: float | None = None) -> bool:
        self.done.append(timeout)
        return self.is_set()


@pytest.mark.parametrize(
    ("limits", "expected"),
    [
        (Settings(), [server.FIRST_PICTURE, "minilm"]),
        (PUBLIC, ["minilm", "checks"]),
    ],
    ids=["one's own", "public"],
)
def test_a_server_of_ones_own_leaves_the_first_seconds_to_the_first_page(
    monkeypatch: pytest.MonkeyPatch, limits: Settings, expected: list[Any]
) -> None:
    done: list[Any] = []
    loaded = threading.Event()
    monkeypatch.setattr(server, "settings", lambda: limits)
    monkeypatch.setattr(server, "_loaded", loaded)
    monkeypatch.setattr(server, "_wanted", Wanted(done))
    monkeypatch.setattr(caches, "model", done.append)
    monkeypatch.setattr(server, "limit_threads", lambda: None)
    monkeypatch.setattr(ready, "checks", lambda **_: [])
    monkeypatch.setattr(ready, "print_checks", lambda *_: done.append("checks"))
    server._import_and_load()
    assert done == expected
    assert loaded.is_set()


@pytest.mark.parametrize(
    ("path", "query", "ends"),
    [
        ("/", "", False),
        ("/", "source=toy&text=heads", False),
        ("/tokens", "", False),
        ("/compare", "b_source=pretrained", True),
        ("/", "step=weights&source=pretrained", True),
        ("/heads", "", True),
        ("/demo/heads", "layer=2", True),
    ],
)
def test_who_asks_for_a_page_of_the_model_ends_the_wait(
    monkeypatch: pytest.MonkeyPatch, path: str, query: str, ends: bool
) -> None:
    wanted, served = threading.Event(), []
    monkeypatch.setattr(server, "_wanted", wanted)

    async def app(*request: Any) -> None:
        served.append(request)

    request: tuple[Any, Any, Any] = ({"type": "http", "path": path, "query_string": query.encode()}, None, None)
    run_aside(server.PreloadTrigger(app)(*request))
    assert served == [request]
    assert wanted.is_set() == ends
