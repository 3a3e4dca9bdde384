"""The training jobs of this process, with the limits from the settings, and whether their visitors are connected."""

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
"""The most visitors remembered, and the most sessions of each; the latest are kept"""
_sessions: LRUCache[str, tuple[str, ...]] = LRUCache(VISITORS)
"""The sessions in which each visitor was seen"""
_lock = threading.Lock()


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
