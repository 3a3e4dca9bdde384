"""What Streamlit does at every run of a page and need not, while a server runs.

Each function here replaces one of Streamlit 1.67. Where a later version does without it, nothing is changed.
"""

from __future__ import annotations

import logging
import threading
from queue import SimpleQueue
from typing import Any

from streamlit.components.v2.bidi_component import main as bidi_component
from streamlit.runtime import app_session
from streamlit.runtime.scriptrunner import ScriptRunner


def remember_theme() -> None:
    """Have the theme that Streamlit sends with every run written once.

    Streamlit goes through all of its options six times a run for it: a sixth of what a change costs.
    """
    write = getattr(app_session, "_populate_theme_msg", None)
    if write is None or getattr(write, "remembers", False):
        return
    written: dict[str, Any] = {}

    def copy(message: Any, section: str = "theme") -> None:
        if section not in written:
            blank = type(message)()
            write(blank, section)
            written[section] = blank
        message.MergeFrom(written[section])

    copy.remembers = True  # type: ignore[attr-defined]
    app_session._populate_theme_msg = copy  # type: ignore[assignment]


def start_runs_aside() -> None:
    """Have the threads that run pages started by a thread of their own.

    Whoever starts a thread waits until it goes. That was the event loop, once a change, and meanwhile it sent nobody
    anything: for milliseconds where the interpreter is busy.
    """
    start = ScriptRunner.start
    if getattr(start, "aside", False):
        return
    waiting: SimpleQueue[ScriptRunner] = SimpleQueue()

    def begin() -> None:
        while True:
            try:
                start(waiting.get())
            except Exception:  # no thread to be had: the others' runs must start all the same
                logging.getLogger(__name__).exception("A run could not be started")

    def put(self: ScriptRunner) -> None:
        waiting.put(self)

    put.aside = True  # type: ignore[attr-defined]
    threading.Thread(target=begin, name="starts-runs", daemon=True).start()
    ScriptRunner.start = put  # type: ignore[method-assign]


class Told(dict[str, object]):
    """What a component holds and has told, by name. A name that it has not told is None."""

    def __getattr__(self, name: str) -> object:
        return self.get(name)


def read_components_plainly() -> None:
    """Have what a component told read from a plain dictionary.

    Streamlit builds a class each time that anybody looks, some fifteen times a run, so that the page may also write to
    it, which attnviz never does: a twelfth of what a change costs.
    """
    make = getattr(bidi_component, "make_bidi_component_presenter", None)
    if make is None or getattr(make, "plain", False):
        return

    def make_plain(events_id: str, *_: object) -> Any:
        return lambda held, session: _told(held, session, events_id)

    make_plain.plain = True  # type: ignore[attr-defined]
    bidi_component.make_bidi_component_presenter = make_plain  # type: ignore[attr-defined, assignment]


def _told(held: object, session: Any, events_id: str) -> object:
    """Put what a component has told in this run beside what it holds, as Streamlit's own presenter does."""
    known = session._new_widget_state.widget_metadata.get(events_id)
    if not isinstance(held, dict) or known is None or known.value_type != "json_trigger_value":
        return held
    try:
        events = session._new_widget_state[events_id] or []
    except KeyError:
        events = []
    told = {event["event"]: event.get("value") for event in ([events] if isinstance(events, dict) else events)}
    return Told({**told, **held})
