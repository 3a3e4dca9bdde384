"""Who a visitor is to the training jobs of this server, on whatever page the training is."""

from __future__ import annotations

import re
import secrets

import streamlit as st

from attnviz.runtime.training import training_jobs

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
