"""Long work on a page: what a run waits for, with a progress bar, or what is looked at again in the next run."""

from __future__ import annotations

from contextlib import contextmanager
from threading import get_ident
from typing import TYPE_CHECKING, Any, TypeVar

import streamlit as st
from streamlit.runtime.scriptrunner import get_script_run_ctx

from attnviz.runtime.cache import SingleFlightCache, Sized
from attnviz.runtime.long_work import Job, LongWorkError, Work, long_work
from attnviz.runtime.pool import limit_threads
from attnviz.ui.messages import progress, queue_note

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterator

V = TypeVar("V", bound=Sized)


def wait_for(work: Work[V], total: int, what: str) -> V:
    """Return the result of long work, and show meanwhile how much of it is done.

    Another action of the visitor ends the run, and so the waiting; the work goes on when the next run waits for it.

    Args:
        work: computes the result.
        total: how much there is to do.
        what: what is done, as in "texts are read".

    Raises:
        LongWorkError: there was too little memory; the message is for the user.
    """
    limit_threads()
    with queue_note() as in_queue, progress(total, what) as show:

        def on_wait(job: Job[V]) -> None:
            ahead = long_work().ahead_of(job)
            if ahead:
                in_queue(ahead)
            else:
                show(job.done)

        return long_work().get(_session(), work, on_wait)


def request(work: Work[V], *, timeout: float) -> V | Job[V]:
    """Return the result of long work if it is done within `timeout` seconds, else its job.

    Raises:
        LongWorkError: there was too little memory; the message is for the user.
    """
    return long_work().request(_session(), work, timeout=timeout)


def is_waiting(cache: SingleFlightCache[Any], key: Hashable) -> bool:
    """Whether the session waits for this long work, which is in progress."""
    return long_work().is_waiting(_session(), cache, key)


@contextmanager
def failures_shown() -> Iterator[None]:
    """Show why long work failed in place of what needs it."""
    try:
        yield
    except LongWorkError as error:
        st.error(str(error))


def _session() -> str:
    """Return an id of this session, or of the thread if it runs no page."""
    run = get_script_run_ctx(suppress_warning=True)
    return run.session_id if run is not None else f"thread {get_ident()}"
