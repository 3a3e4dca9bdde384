"""What is read of a selection in a plot, whatever a client sends."""

from __future__ import annotations

import pytest
import streamlit as st

from attnviz.ui.widgets import clicked
from tests.app.pages import BAD_SELECTIONS


def read(monkeypatch: pytest.MonkeyPatch, value: object) -> object:
    monkeypatch.setattr(st, "session_state", {"plot": value})
    return clicked("plot")


@pytest.mark.parametrize("sent", [None, 5, "ab", [], {"selection": 5}, *BAD_SELECTIONS[:10]], ids=repr)
def test_a_message_of_another_shape_selects_nothing(monkeypatch: pytest.MonkeyPatch, sent: object) -> None:
    assert read(monkeypatch, sent) is None


def test_the_first_point_says_what_it_stands_for(monkeypatch: pytest.MonkeyPatch) -> None:
    points = [{"customdata": [2, 3], "x": 3}, {"customdata": [4, 5]}]
    assert read(monkeypatch, {"selection": {"points": points}}) == [2, 3]


def test_a_plot_that_is_gone_has_no_selection(monkeypatch: pytest.MonkeyPatch) -> None:
    read(monkeypatch, None)
    assert clicked("another") is None
