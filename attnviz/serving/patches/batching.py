"""Hand a run's messages to the event loop together, and send them together.

A run of a page sends some fifteen messages. Streamlit wakes the event loop several times for each of them, and sends
each by itself. Each time the run's thread and the loop take the interpreter from each other; where many pages are
built, both wait for it, up to 5 ms a time. The messages and their order stay the same.
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

DELAY = 0.02
"""Seconds that a message waits for others at most. The end of a run sends all of them at once."""


@dataclass(slots=True)
class Buffer:
    """A session's events that its event loop has not handled yet."""

    events: deque[tuple[ScriptRunner | None, ScriptRunnerEvent, dict[str, Any]]] = field(default_factory=deque)
    is_scheduled: bool = False
    """Whether the loop will look. Set after an event was added and cleared before they are handled: none is missed."""


def apply() -> None:
    """Replace the methods of AppSession and Runtime that pass a run's events and messages on."""
    create = AppSession._create_scriptrunner

    def flush_and_create(self: AppSession, *more: Any) -> None:
        _flush(self)  # while the run that sent the events is the session's: Streamlit ignores those of others
        create(self, *more)

    AppSession._create_scriptrunner = flush_and_create  # type: ignore[method-assign, assignment]
    AppSession._on_scriptrunner_event = _on_event  # type: ignore[method-assign, assignment]
    Runtime._enqueued_some_message = _schedule_delivery  # type: ignore[method-assign]


def _on_event(self: AppSession, sender: ScriptRunner | None, event: ScriptRunnerEvent, **more: Any) -> None:
    """Buffer an event of a run. Usually called in the thread of the run."""
    buffer = _buffer(self)
    buffer.events.append((sender, event, more))
    if event is ScriptRunnerEvent.SHUTDOWN or asyncio._get_running_loop() is self._event_loop:
        self._call_soon_on_event_loop(lambda: _flush(self))
    elif not buffer.is_scheduled:
        buffer.is_scheduled = True
        self._call_soon_on_event_loop(lambda: _flush_later(self))


def _buffer(session: AppSession) -> Buffer:
    buffer: Buffer = session.__dict__.setdefault("_attnviz_buffer", Buffer())
    return buffer


def _flush_later(session: AppSession) -> None:
    session._event_loop.call_later(DELAY, _flush, session)


def _flush(session: AppSession) -> None:
    """Handle a session's buffered events, in order. On the event loop."""
    buffer = _buffer(session)
    buffer.is_scheduled = False
    while buffer.events:
        sender, event, more = buffer.events.popleft()
        session._handle_scriptrunner_event_on_event_loop(sender, event, **more)


def _schedule_delivery(self: Runtime) -> None:
    """Send all browsers their messages, once for all that arrive in this iteration of the event loop."""
    if self.__dict__.get("_attnviz_scheduled"):
        return
    self.__dict__["_attnviz_scheduled"] = True
    loop = self._get_async_objs().eventloop
    call = loop.call_soon if asyncio._get_running_loop() is loop else loop.call_soon_threadsafe
    call(_deliver, self)


def _deliver(runtime: Runtime) -> None:
    runtime.__dict__["_attnviz_scheduled"] = False
    for active in runtime._session_mgr.list_active_sessions():
        try:
            for message in active.session.flush_browser_queue():
                runtime._send_message(active, message)
        except SessionClientDisconnectedError:
            runtime.disconnect_session(active.session.id, client=active.client)
        active.session.on_flushed_messages_sent()
