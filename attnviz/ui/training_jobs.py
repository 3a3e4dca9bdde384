"""The training jobs of this process, within the limits of its settings, and whether their visitors are connected."""

from __future__ import annotations

import threading
from functools import cache

from cachetools import LRUCache
from streamlit import runtime
from streamlit.runtime.scriptrunner import get_script_run_ctx

from attnviz.settings import settings
from attnviz.training.jobs.jobs import Jobs
from attnviz.training.plan import Limits

VISITORS, SESSIONS = 4096, 4
"""Maximum visitors known, and maximum sessions of each: the latest ones"""
_sessions: LRUCache[str, tuple[str, ...]] = LRUCache(VISITORS)
"""The sessions in which each visitor was seen"""
_lock = threading.Lock()


@cache
def training_jobs() -> Jobs:
    """Return the jobs of this process."""
    allowed = settings()
    limits = Limits(
        running=allowed.trainings,
        steps=allowed.training_steps,
        parameters=allowed.training_parameters,
        block=allowed.training_block,
        batch=allowed.training_batch,
    )
    return Jobs(limits, is_here=_is_here)


def keep(visitor: str) -> None:
    """Keep a visitor's trainings while a browser is connected to the current session, on any page.

    After that they are kept for `LEASE` more seconds, so that they survive a reload, which starts another session.
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
