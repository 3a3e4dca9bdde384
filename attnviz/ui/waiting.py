"""What a page shows during a wait: for the first import, in the queue of the worker pool, or for long work.

A spinner takes no space in the layout, so nothing moves when it appears and disappears. It costs a thread and two
messages, so it appears only if there is a wait.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager

import streamlit as st
from streamlit.delta_generator import DeltaGenerator
from streamlit.runtime.scriptrunner import get_script_run_ctx

from attnviz.runtime.pool import place_in_queue
from attnviz.runtime.slices import OnSlice
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


@contextmanager
def progress_bar(count: int, doing: str) -> Iterator[OnSlice]:
    """Yield the `on_slice` of `SingleFlightCache.get_in_slices`: a bar, and at first the place in the queue.

    It ends the wait as soon as the session has gone, or its page runs anew. In a thread that runs no page it does
    nothing.

    Args:
        count: how much there is to do.
        doing: what happens to it, such as "texts are read".
    """
    if get_script_run_ctx(suppress_warning=True) is None:
        yield lambda *_: None
        return
    place: DeltaGenerator | None = None
    with ExitStack() as queue:
        in_queue = queue.enter_context(queue_note())

        def on_slice(done: int, ahead: int) -> None:
            nonlocal place
            if done:
                queue.close()
            elif ahead:
                in_queue(ahead)
            if place is None:
                place = st.empty()
            place.progress(min(done / count, 1.0), f"{done:,} of {count:,} {doing} …")

        try:
            yield on_slice
        finally:
            if place is not None:
                place.empty()


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
