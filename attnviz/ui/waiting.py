"""Spinners during a wait: for the first import, or in the queue of the worker pool.

A spinner takes no space in the layout, so nothing moves when it appears and disappears. It costs a thread and two
messages, so it appears only if there is a wait.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager

import streamlit as st
from streamlit.runtime.scriptrunner import get_script_run_ctx

from attnviz.runtime.pool import place_in_queue
from attnviz.runtime.traffic import traffic

_started: set[str] = set()


@contextmanager
def starting(what: str) -> Iterator[None]:
    """Show a spinner around the first import of a page's heavy part, `what`, in this process."""
    if what in _started:
        yield
        return
    with st.spinner("Starting torch …"):
        yield
    _started.add(what)


@contextmanager
def queue_note() -> Iterator[Callable[[int], None]]:
    """Yield the `on_wait` of `SingleFlightCache.get`: a spinner shows the visitor's place in the queue.

    In a thread that runs no page it does nothing.
    """
    if get_script_run_ctx(suppress_warning=True) is None:
        yield lambda _: None
        return
    shown = ""
    with ExitStack() as spinner:

        def on_wait(ahead: int) -> None:
            nonlocal shown
            if place_in_queue(ahead) != shown:
                shown = place_in_queue(ahead)
                spinner.close()
                spinner.enter_context(st.spinner(shown))

        yield on_wait


def busy_note() -> None:
    """Warn a visitor whose address exceeds the limit of requests."""
    if traffic().slowed(st.context.ip_address):
        st.warning(
            "Your address sends very many changes just now, so each of them waits a little.",
            icon=":material/hourglass_empty:",
        )


def has_changed(page: bool, shown: bool, now: bool) -> bool:
    """Whether the whole page has to run, which alone sets how often a part of it runs.

    Args:
        page: whether something was computed for the visitor when the whole page ran.
        shown: whether it was when the part began to run, so that it may show it as it was then.
        now: whether it is, after the part has run. What takes a moment begins and ends between two looks: the part
            would show its beginning for ever, if only the first and the last were compared.
    """
    return shown != page or now != page
