"""The trainings of all visitors: their limits, whether a visitor is connected, and commands for a visitor's latest."""

from __future__ import annotations

import re
import secrets
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache

from cachetools import LRUCache
from streamlit import runtime
from streamlit.runtime.scriptrunner import get_script_run_ctx

from attnviz.runtime.long_work import LongWorkError
from attnviz.settings import settings
from attnviz.training.jobs.jobs import Job, Jobs
from attnviz.training.jobs.view import View
from attnviz.training.plan import Limits, TooLargeError
from attnviz.ui import state

VISITORS, SESSIONS = 4096, 4
"""The most visitors remembered, and the most sessions of each; the latest are kept"""
_sessions: LRUCache[str, tuple[str, ...]] = LRUCache(VISITORS)
"""The sessions in which each visitor was seen"""
_lock = threading.Lock()
_NAME = re.compile(r"[\w-]{22}", re.ASCII)
IsOfPage = Callable[[Job], bool]
"""Whether a training belongs to a page; a page leaves all others alone"""


@dataclass(slots=True)
class VisitorRecord:
    """Who a session's visitor is."""

    visitor: str = field(default_factory=lambda: secrets.token_urlsafe(16))
    """The secret name under which the visitor's trainings run"""


@cache
def training_jobs() -> Jobs:
    """Return the jobs of this process."""
    configured = settings()
    limits = Limits(
        running=configured.trainings,
        steps=configured.training_steps,
        parameters=configured.training_parameters,
        block=configured.training_block,
        batch=configured.training_batch,
    )
    return Jobs(limits, is_here=_is_here)


def keep(visitor: str) -> None:
    """Keep a visitor's trainings while a browser is connected to the current session, on any page.

    After that they are kept for another `LEASE` seconds, so that they survive a reload, which starts a new session.
    """
    training_jobs().touch(visitor)
    context = get_script_run_ctx()
    if context is not None:
        session = context.session_id
        with _lock:
            others = [other for other in _sessions.get(visitor, ()) if other != session]
            _sessions[visitor] = (*others[1 - SESSIONS :], session)


def _is_here(visitor: str) -> bool:
    """Whether a browser is connected to a session in which this visitor was seen."""
    with _lock:
        sessions = _sessions.get(visitor, ())
    return runtime.exists() and any(runtime.get_instance().is_active_session(session) for session in sessions)


def visitor() -> str:
    """Return the name of this visitor's trainings. It is secret: anyone who knows it can see and stop them."""
    return state.record(VisitorRecord).visitor


def take_visitor(name: object) -> bool:
    """After a reload, adopt the name that the tab has stored for its trainings; return whether there are any."""
    if not isinstance(name, str) or not _NAME.fullmatch(name) or not training_jobs().jobs(name):
        return False
    state.record(VisitorRecord).visitor = name
    return True


def latest(is_of_page: IsOfPage) -> Job | None:
    """Return the visitor's latest training, if it belongs to the page."""
    job = training_jobs().job(visitor())
    return job if job is not None and is_of_page(job) else None


def is_training(is_of_page: IsOfPage = lambda _: True) -> bool:
    """Whether the visitor's latest training is running or waiting, and belongs to the page."""
    job = latest(is_of_page)
    return job is not None and job.view.is_live


def stop(is_of_page: IsOfPage) -> None:
    """Stop the visitor's training, if it belongs to the page; `go_on` continues it."""
    if latest(is_of_page):
        training_jobs().stop(visitor())


def go_on(is_of_page: IsOfPage) -> None:
    """Continue the visitor's stopped training, if it belongs to the page."""
    if latest(is_of_page):
        training_jobs().go_on(visitor())


@contextmanager
def refusing(keep: Callable[[str], None]) -> Iterator[None]:
    """Catch the errors of a training that can't be started, and keep the reason as a sentence."""
    try:
        yield
    except (TooLargeError, LongWorkError) as error:
        keep(str(error))
    except ValueError as error:
        keep(f"This can't be trained: {str(error).removesuffix('.')}.")


def queued(view: View) -> str:
    """Describe a queued training's place in line."""
    if view.place <= 1:
        return "Next in line: it starts as soon as another training on this server ends."
    return f"Waiting: number {view.place} in line for a processor of this server."
