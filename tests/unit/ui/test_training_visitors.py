"""The trainings of a server: within its settings, and kept while their visitor's browser is connected."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from types import SimpleNamespace

import pytest

from attnviz.settings import PUBLIC
from attnviz.training.plan import Plan, TooLargeError
from attnviz.training.tasks import TASKS
from attnviz.ui import training_jobs

TASK = TASKS["induction"]


@pytest.fixture(autouse=True)
def _public(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(training_jobs, "settings", lambda: PUBLIC)
    training_jobs.training_jobs.cache_clear()
    yield
    training_jobs.training_jobs().close()
    training_jobs.training_jobs.cache_clear()


def test_a_public_server_has_limits_that_fit_every_task() -> None:
    limits = training_jobs.training_jobs().limits
    assert limits.running == 2
    for task in TASKS.values():
        limits.check(Plan(task.name, task.model, task.training))
        limits.check(Plan(task.name, task.control_model, task.training))
    with pytest.raises(TooLargeError, match="6,000 steps"):
        limits.check(Plan(TASK.name, TASK.model, replace(TASK.training, steps=6001)))


def test_a_visitor_is_here_while_one_of_the_sessions_is_connected(monkeypatch: pytest.MonkeyPatch) -> None:
    connected = {"s2"}
    monkeypatch.setattr(training_jobs.runtime, "exists", lambda: True)
    monkeypatch.setattr(
        training_jobs.runtime, "get_instance", lambda: SimpleNamespace(is_active_session=connected.__contains__)
    )
    assert not training_jobs._is_here("a")
    for session in ("s1", "s2", "s2"):
        monkeypatch.setattr(training_jobs, "get_script_run_ctx", lambda one=session: SimpleNamespace(session_id=one))
        training_jobs.keep("a")
    assert training_jobs._is_here("a")
    connected.clear()
    assert not training_jobs._is_here("a")
    connected.add("s1")
    assert training_jobs._is_here("a")
    for number in range(9):
        monkeypatch.setattr(
            training_jobs, "get_script_run_ctx", lambda one=f"t{number}": SimpleNamespace(session_id=one)
        )
        training_jobs.keep("a")
    assert not training_jobs._is_here("a")
    assert len(training_jobs._sessions["a"]) == training_jobs.SESSIONS
