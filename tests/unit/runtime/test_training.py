"""The trainings of a server: within its settings, and kept while their visitor's browser is connected."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from types import SimpleNamespace

import pytest

from attnviz.runtime import training
from attnviz.settings import PUBLIC
from attnviz.training.plan import Plan, TooLargeError
from attnviz.training.tasks import TASKS

TASK = TASKS["induction"]


@pytest.fixture(autouse=True)
def _public(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(training, "settings", lambda: PUBLIC)
    training.training_jobs.cache_clear()
    yield
    training.training_jobs().close()
    training.training_jobs.cache_clear()


def test_a_public_server_has_limits_that_fit_every_task() -> None:
    limits = training.training_jobs().limits
    assert limits.running == 2
    for task in TASKS.values():
        limits.check(Plan(task.name, task.model, task.training))
        limits.check(Plan(task.name, task.control_model, task.training))
    with pytest.raises(TooLargeError, match="6,000 steps"):
        limits.check(Plan(TASK.name, TASK.model, replace(TASK.training, steps=6001)))


def test_a_visitor_is_here_while_one_of_the_sessions_is_connected(monkeypatch: pytest.MonkeyPatch) -> None:
    connected = {"s2"}
    monkeypatch.setattr(training.runtime, "exists", lambda: True)
    monkeypatch.setattr(
        training.runtime, "get_instance", lambda: SimpleNamespace(is_active_session=connected.__contains__)
    )
    assert not training._is_here("a")
    for session in ("s1", "s2", "s2"):
        monkeypatch.setattr(training, "get_script_run_ctx", lambda one=session: SimpleNamespace(session_id=one))
        training.keep("a")
    assert training._is_here("a")
    connected.clear()
    assert not training._is_here("a")
    connected.add("s1")
    assert training._is_here("a")
    for number in range(9):
        monkeypatch.setattr(training, "get_script_run_ctx", lambda one=f"t{number}": SimpleNamespace(session_id=one))
        training.keep("a")
    assert not training._is_here("a")
    assert len(training._sessions["a"]) == training.SESSIONS
