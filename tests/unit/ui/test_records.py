"""What a session keeps in typed records, and the last result in a field of one."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import pytest
import streamlit as st

from attnviz.ui import state


@dataclass(slots=True)
class Kept:
    count: int = 0
    last: state.Last[int] = field(default_factory=state.Last)


@pytest.fixture(autouse=True)
def session(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    kept: dict[str, Any] = {}
    monkeypatch.setattr(st, "session_state", kept)
    return kept


def test_a_record_is_made_once_for_each_kind_and_name() -> None:
    state.record(Kept).count = 1
    assert (state.record(Kept).count, state.record(Kept, "other").count) == (1, 0)


def test_a_result_is_made_again_only_for_another_key() -> None:
    last, made = state.record(Kept).last, list[int]()

    def result() -> int:
        made.append(len(made))
        return made[-1]

    assert last.of("a") is None
    assert [last.get(key, result) for key in ("a", "a", "b", "a")] == [0, 0, 1, 2]
    assert (last.of("a"), last.of("b"), state.record(Kept).last.of("a")) == (2, None, 2)


def test_a_failure_keeps_the_last_result() -> None:
    last = state.record(Kept).last
    last.get("a", lambda: 1)
    with pytest.raises(ZeroDivisionError):
        last.get("b", lambda: 1 // 0)
    assert last.of("a") == 1
