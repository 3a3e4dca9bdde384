"""The training jobs of this process, and who a visitor is to them, on whatever page the training is.

The jobs are within the settings, and kept while a visitor is still here.
"""

from __future__ import annotations

import re
import secrets
import threading
from functools import cache

import streamlit as st
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


_VISITOR = "train_visitor"
_NAME = re.compile(r"[\w-]{22}", re.ASCII)


def visitor() -> str:
    """Return the name of this visitor's trainings. Nobody can guess it: who knows it sees and ends them."""
    if _VISITOR not in st.session_state:
        st.session_state[_VISITOR] = secrets.token_urlsafe(16)
    name: str = st.session_state[_VISITOR]
    return name


def take_visitor(name: object) -> bool:
    """Adopt the name under which a tab knows its trainings, after a reload; return whether there are any."""
    is_known = isinstance(name, str) and bool(_NAME.fullmatch(name)) and bool(training_jobs().jobs(name))
    if is_known:
        st.session_state[_VISITOR] = name
    return is_known


def is_training() -> bool:
    """Whether a training of the visitor goes on, or waits."""
    job = training_jobs().job(visitor())
    return job is not None and job.view.status in ("running", "queued")
