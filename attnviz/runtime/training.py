"""The training jobs of this process, within its settings, and whether their visitors are still here."""

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
"""The most visitors that are known, and the most sessions of each: the last ones"""
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
    """Keep a visitor's trainings as long as a browser is connected to the session that runs now, on whatever page.

    After that they are kept for `LEASE` more seconds, so that they survive a reload, which is another session.
    """
    training_jobs().touch(visitor)
    context = get_script_run_ctx()
    if context is not None:
        own = context.session_id
        with _lock:
            others = [one for one in _sessions.get(visitor, ()) if one != own]
            _sessions[visitor] = (*others[1 - SESSIONS :], own)


def _is_here(visitor: str) -> bool:
    """Whether a browser is connected to a session in which this visitor was seen."""
    with _lock:
        sessions = _sessions.get(visitor, ())
    return runtime.exists() and any(runtime.get_instance().is_active_session(one) for one in sessions)
