"""What runs of pages say comes to the browsers whole and in order, however it is bundled on the way."""

from __future__ import annotations

import asyncio
import sys
import threading
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest
from streamlit.runtime.app_session import AppSession
from streamlit.runtime.runtime import Runtime
from streamlit.runtime.scriptrunner import ScriptRunnerEvent
from streamlit.runtime.session_manager import SessionClientDisconnectedError

from attnviz.serving.patches import sending
from tests.aside import run as run_aside

MESSAGE, STARTED, END = (
    ScriptRunnerEvent.ENQUEUE_FORWARD_MSG, ScriptRunnerEvent.SCRIPT_STARTED, ScriptRunnerEvent.SHUTDOWN
)  # fmt: skip
PATCHED = [(AppSession, "_create_scriptrunner"), (AppSession, "_on_scriptrunner_event"),
           (Runtime, "_enqueued_some_message")]  # fmt: skip


@pytest.fixture(autouse=True)
def as_it_was() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        for owner, name in PATCHED:
            patch.setattr(owner, name, getattr(owner, name))
        yield


@pytest.fixture
def loop() -> Iterator[asyncio.AbstractEventLoop]:
    running = asyncio.new_event_loop()
    thread = threading.Thread(target=running.run_forever)
    thread.start()
    yield running
    running.call_soon_threadsafe(running.stop)
    thread.join()
    running.close()


class Session:
    """The part of a session that is told what a run says."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._event_loop = loop
        self.heard: list[Any] = []
        self.wakes = 0
        self.ended = threading.Event()
        self.heard_one = threading.Event()

    def _call_soon_on_event_loop(self, callback: Any) -> None:
        self.wakes += 1
        self._event_loop.call_soon_threadsafe(callback)

    def _handle_scriptrunner_event_on_event_loop(self, _: Any, event: ScriptRunnerEvent, **more: Any) -> None:
        assert asyncio.get_running_loop() is self._event_loop
        self.heard.append((event, *more.values()))
        self.heard_one.set()
        if event is END:
            self.ended.set()

    def say(self, event: ScriptRunnerEvent, *message: Any) -> None:
        sending._hand_over(self, None, event, **dict(zip(["forward_msg"], message, strict=False)))  # type: ignore[arg-type]


def test_a_run_is_heard_whole_and_in_order_and_wakes_the_loop_twice(
    loop: asyncio.AbstractEventLoop, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sending, "TOGETHER", 60)  # nothing but the end may send them off
    session = Session(loop)
    session.say(STARTED)
    for number in range(15):
        session.say(MESSAGE, number)
    session.say(END)
    assert session.ended.wait(30)
    assert session.heard == [(STARTED,), *((MESSAGE, number) for number in range(15)), (END,)]
    assert session.wakes == 2


def test_what_is_said_before_a_long_pause_is_heard_in_the_pause(loop: asyncio.AbstractEventLoop) -> None:
    session = Session(loop)
    for number in range(3):
        session.heard_one.clear()
        session.say(MESSAGE, number)
        assert session.heard_one.wait(30)  # nothing comes after it
    assert session.heard == [(MESSAGE, 0), (MESSAGE, 1), (MESSAGE, 2)]


def test_nothing_is_lost_where_the_loop_takes_in_while_a_run_goes_on(
    loop: asyncio.AbstractEventLoop, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sending, "TOGETHER", 0)
    pause = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        for _ in range(20):
            session = Session(loop)
            for number in range(200):
                session.say(MESSAGE, number)
            session.say(END)
            assert session.ended.wait(30)
            assert session.heard == [*((MESSAGE, number) for number in range(200)), (END,)]
    finally:
        sys.setswitchinterval(pause)


def test_what_the_loop_itself_says_is_heard_before_what_it_calls_next(loop: asyncio.AbstractEventLoop) -> None:
    """Streamlit tells of an error in a message of the browser so: first the events, then the error in a callback."""
    session = Session(loop)

    async def fail() -> None:
        session.say(STARTED)
        loop.call_soon(session.heard.append, "the error")

    session.say(MESSAGE, "before")
    asyncio.run_coroutine_threadsafe(fail(), loop).result(30)
    asyncio.run_coroutine_threadsafe(asyncio.sleep(0), loop).result(30)
    assert session.heard == [(MESSAGE, "before"), (STARTED,), "the error"]


class Browsers:
    """The part of the runtime that sends: two sessions, the browser of the first of which has gone."""

    def __init__(self) -> None:
        self.flushed: list[str] = []
        self.sent: list[tuple[str, str]] = []
        self.gone: list[tuple[str, str]] = []
        sessions = [self._active(name) for name in ("a", "b")]
        self._session_mgr = SimpleNamespace(list_active_sessions=lambda: sessions)

    def _active(self, name: str) -> SimpleNamespace:
        waiting = [f"{name}1", f"{name}2"]
        session = SimpleNamespace(
            id=name,
            flush_browser_queue=lambda: [waiting.pop(0) for _ in tuple(waiting)],
            on_flushed_messages_sent=lambda: self.flushed.append(name),
        )
        return SimpleNamespace(session=session, client=f"browser of {name}")

    def _send_message(self, active: SimpleNamespace, message: str) -> None:
        if active.session.id == "a":
            raise SessionClientDisconnectedError
        self.sent.append((active.session.id, message))

    def disconnect_session(self, name: str, client: str) -> None:
        self.gone.append((name, client))

    def _get_async_objs(self) -> SimpleNamespace:
        return SimpleNamespace(eventloop=asyncio.get_running_loop())


def test_all_browsers_are_sent_theirs_in_one_turn_and_one_that_has_gone_holds_up_no_other() -> None:
    browsers: Any = Browsers()

    async def enqueue() -> None:
        for _ in range(5):
            sending._deliver_soon(browsers)
        assert not browsers.sent
        await asyncio.sleep(0)
        assert browsers.sent == [("b", "b1"), ("b", "b2")]
        sending._deliver_soon(browsers)  # again, as something new has come
        await asyncio.sleep(0)

    run_aside(enqueue())
    assert browsers.gone == [("a", "browser of a")]
    assert browsers.flushed == ["a", "b"] * 2


def test_who_asks_from_another_thread_is_delivered_for_too(loop: asyncio.AbstractEventLoop) -> None:
    browsers: Any = Browsers()
    browsers._get_async_objs = lambda: SimpleNamespace(eventloop=loop)
    sending._deliver_soon(browsers)
    asyncio.run_coroutine_threadsafe(asyncio.sleep(0), loop).result(30)
    assert browsers.sent == [("b", "b1"), ("b", "b2")]


def test_a_new_run_begins_when_all_that_the_old_one_said_was_heard(
    loop: asyncio.AbstractEventLoop, monkeypatch: pytest.MonkeyPatch
) -> None:
    order: list[Any] = []
    monkeypatch.setattr(AppSession, "_create_scriptrunner", lambda _, asked: order.append(asked))
    sending.send_together()
    session: Any = Session(loop)
    session._handle_scriptrunner_event_on_event_loop = lambda _, event, **__: order.append(event)
    session.say(STARTED)
    AppSession._create_scriptrunner(session, "the next")  # type: ignore[arg-type]
    assert order == [STARTED, "the next"]


def test_nothing_is_replaced_twice_and_nothing_where_streamlit_works_otherwise(monkeypatch: pytest.MonkeyPatch) -> None:
    def now() -> list[Any]:
        return [getattr(owner, name) for owner, name in PATCHED]

    before = now()
    with monkeypatch.context() as later:
        later.setattr(sending, "NEEDED", {AppSession: ("_what_streamlit_has_not",)})
        sending.send_together()
        assert now() == before
    sending.send_together()
    replaced = now()
    assert all(old is not new for old, new in zip(before, replaced, strict=True))
    sending.send_together()
    assert now() == replaced
