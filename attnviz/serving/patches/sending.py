"""How what a page sends comes to its browser, while a server runs: many messages at a time.

A run of a page sends some fifteen messages. In Streamlit 1.67 each of them wakes the event loop several times, and is
written by itself. Each time the thread that makes the page and the loop take the interpreter from each other; where
many pages are made, both wait for it, up to 5 ms a time.

Here a run's messages are handed to the loop together, and written together. What is sent, and in which order, is the
same. Where a later version of Streamlit works otherwise, nothing is changed.
"""

from __future__ import annotations

import asyncio
from collections import deque
from dataclasses import dataclass, field
from typing import Any

from streamlit.runtime.app_session import AppSession
from streamlit.runtime.runtime import Runtime
from streamlit.runtime.scriptrunner import ScriptRunner, ScriptRunnerEvent
from streamlit.runtime.session_manager import SessionClientDisconnectedError

TOGETHER = 0.02
"""Seconds that a message waits at most for those that follow it. The end of a run sends all of them off."""
NEEDED = {
    AppSession: ("_on_scriptrunner_event", "_handle_scriptrunner_event_on_event_loop", "_call_soon_on_event_loop",
                 "_create_scriptrunner"),
    Runtime: ("_enqueued_some_message", "_get_async_objs", "_send_message"),
}  # fmt: skip
"""What is replaced, or called by what replaces it."""


@dataclass(slots=True)
class Said:
    """What a session's runs have said and nobody has taken in."""

    events: deque[tuple[ScriptRunner | None, ScriptRunnerEvent, dict[str, Any]]] = field(default_factory=deque)
    due: bool = False
    """Whether the loop will look. Set after an event was added and cleared before they are taken in: none is missed."""


def send_together() -> None:
    """Have what runs of pages send handed over and written together, from now on in this process."""
    there = all(hasattr(owner, name) for owner, names in NEEDED.items() for name in names)
    if not there or AppSession._on_scriptrunner_event is _hand_over:
        return
    create = AppSession._create_scriptrunner

    def take_in_and_create(self: AppSession, *more: Any) -> None:
        _take_in(self)  # while the run that said it is still the session's: others are not listened to
        create(self, *more)

    AppSession._create_scriptrunner = take_in_and_create  # type: ignore[method-assign, assignment]
    AppSession._on_scriptrunner_event = _hand_over  # type: ignore[method-assign, assignment]
    Runtime._enqueued_some_message = _deliver_soon  # type: ignore[method-assign]


def _hand_over(self: AppSession, sender: ScriptRunner | None, event: ScriptRunnerEvent, **more: Any) -> None:
    """Hand over what a run says. Usually in the thread of the run."""
    said = _said(self)
    said.events.append((sender, event, more))
    if event is ScriptRunnerEvent.SHUTDOWN or asyncio._get_running_loop() is self._event_loop:
        self._call_soon_on_event_loop(lambda: _take_in(self))
    elif not said.due:
        said.due = True
        self._call_soon_on_event_loop(lambda: _take_in_later(self))


def _said(session: AppSession) -> Said:
    said: Said = session.__dict__.setdefault("_attnviz_said", Said())
    return said


def _take_in_later(session: AppSession) -> None:
    session._event_loop.call_later(TOGETHER, _take_in, session)


def _take_in(session: AppSession) -> None:
    """Take in what a session's runs have said, in order. On the event loop."""
    said = _said(session)
    said.due = False
    while said.events:
        sender, event, more = said.events.popleft()
        session._handle_scriptrunner_event_on_event_loop(sender, event, **more)


def _deliver_soon(self: Runtime) -> None:
    """Have every browser sent what is there for it, once for all that comes in this turn of the event loop."""
    if self.__dict__.get("_attnviz_delivers"):
        return
    self.__dict__["_attnviz_delivers"] = True
    loop = self._get_async_objs().eventloop
    call = loop.call_soon if asyncio._get_running_loop() is loop else loop.call_soon_threadsafe
    call(_deliver, self)


def _deliver(runtime: Runtime) -> None:
    runtime.__dict__["_attnviz_delivers"] = False
    for active in runtime._session_mgr.list_active_sessions():
        try:
            for message in active.session.flush_browser_queue():
                runtime._send_message(active, message)
        except SessionClientDisconnectedError:
            runtime.disconnect_session(active.session.id, client=active.client)
        active.session.on_flushed_messages_sent()
