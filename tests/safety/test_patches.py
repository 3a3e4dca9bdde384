"""Streamlit with our patches sends what it sends without them: the same messages in the same order, and as soon."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import metadata
from typing import Any

import pytest
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from streamlit.runtime.scriptrunner import ScriptRunner

from attnviz.serving import patches
from tests.browser.server import free_port, launch
from tests.safety.client import Visitor

PAUSE = 2
"""Seconds for which the page waits in the middle"""


@contextmanager
def serving(*arguments: str) -> Iterator[str]:
    port = free_port()
    server = launch(["tests.safety.patched", str(port), *arguments], port)
    try:
        server.wait()
        yield server.url
    finally:
        server.stop()
        server.log.unlink()


@pytest.fixture(scope="module")
def plain() -> Iterator[str]:
    with serving() as url:
        yield url


@pytest.fixture(scope="module")
def patched() -> Iterator[str]:
    with serving("patched") as url:
        yield url


def run(visitor: Visitor, query: str = "", events: list[Any] | None = None, component: str = "") -> list[ForwardMsg]:
    """Ask for a run, and return all messages up to its end."""
    message = BackMsg()
    message.rerun_script.query_string = query
    if component:
        message.rerun_script.widget_states.widgets.add(
            id=f"$$STREAMLIT_INTERNAL_KEY_{component}__events", json_trigger_value=json.dumps(events)
        )
    visitor.send_raw(message.SerializeToString())
    received = [visitor.receive()]
    while received[-1].WhichOneof("type") != "script_finished":
        received.append(visitor.receive())
    return received


def content(messages: list[ForwardMsg]) -> list[Any]:
    """Return what messages say, without what differs between any two sessions."""
    found: list[Any] = []
    for message in messages:
        kind = message.WhichOneof("type")
        if kind == "new_session":
            found.append((kind, message.new_session.custom_theme, message.new_session.config))
        elif kind == "delta":
            found.append((kind, list(message.metadata.delta_path), message.delta))
        elif kind != "session_status_changed":  # sent beside the run, whenever it starts and ends
            found.append((kind, message.script_finished))
    return found


def component_of(messages: list[ForwardMsg]) -> str:
    (found,) = [
        m.delta.new_element.bidi_component.id for m in messages if m.delta.new_element.HasField("bidi_component")
    ]
    return str(found)


def conversation(url: str) -> list[list[Any]]:
    """Open the page, send events of every shape, and have it fail."""
    with Visitor(url) as visitor:
        first = run(visitor)
        echo = component_of(first)
        shapes: list[Any] = [
            [{"event": "sent", "value": 3}, {"event": "other", "value": {"a": [1]}}],
            {"event": "sent", "value": None},
            [{"event": "held", "value": 2}],
            [3, {"event": 4}, {"event": "sent"}],
            [],
        ]
        answers = [run(visitor, "", events, echo) for events in shapes]
        return [content(each) for each in (first, *answers, run(visitor, "error=1"), run(visitor))]


def test_the_messages_are_the_same_in_the_same_order(plain: str, patched: str) -> None:
    expected, found = conversation(plain), conversation(patched)
    assert any("('sent', 3)" in each[2].new_element.text.body for each in expected[1] if each[0] == "delta")
    assert found == expected


def test_what_comes_before_a_pause_is_sent_in_the_pause(patched: str) -> None:
    with Visitor(patched) as visitor:
        run(visitor)
        began = time.monotonic()
        message = BackMsg()
        message.rerun_script.query_string = f"pause={PAUSE}"
        visitor.send_raw(message.SerializeToString())
        texts: list[str] = []
        while "line 14" not in texts:
            texts.append(visitor.receive().delta.new_element.text.body)
        assert time.monotonic() - began < PAUSE
        while visitor.receive().WhichOneof("type") != "script_finished":
            pass
        assert time.monotonic() - began > PAUSE


def test_a_visitor_who_leaves_during_a_run_disturbs_no_other(patched: str) -> None:
    with Visitor(patched) as one:
        first = content(run(one))
        with Visitor(patched) as other:
            message = BackMsg()
            message.rerun_script.query_string = "pause=0.5"
            other.send_raw(message.SerializeToString())
            assert other.receive()
        assert content(run(one)) == first


def test_another_version_of_streamlit_is_not_patched_and_one_line_says_so(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    start = ScriptRunner.start
    monkeypatch.setattr(metadata, "version", lambda _: "1.67.1")
    patches.apply_patches()
    assert ScriptRunner.start is start
    assert capsys.readouterr().err.splitlines() == [
        "attnviz: Streamlit is 1.67.1, not 1.67.0: it runs unpatched, and slower."
    ]
