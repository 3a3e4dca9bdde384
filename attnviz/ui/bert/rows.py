"""What several parts do alike: the choice of a row of the text, and results that all sessions share."""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Sequence
from functools import cache
from typing import Any, TypeVar

import streamlit as st

from attnviz.serving.work.cache import SingleFlightCache, Sized
from attnviz.serving.work.pool import limit_threads, worker_pool
from attnviz.tokens import Tokens
from attnviz.ui import state
from attnviz.ui.waiting import queue_note

V = TypeVar("V", bound=Sized)


def numbered(labels: Sequence[str]) -> list[str]:
    """Return labels that differ, though tokens may be the same."""
    return [f"{place} {label}" for place, label in enumerate(labels)]


def chosen_row(tokens: Tokens) -> int:
    """Return the row that the view chooses, or the one of the text's last word."""
    row = state.get("q")
    return last_of_text(tokens) if row is None or row >= len(tokens) else int(row)


def choose_row(tokens: Tokens, label: str) -> int:
    """Show the choice of a row, and return it."""
    if state.get("q") is None:
        state.put("q", chosen_row(tokens))
    rows, names = list(range(len(tokens))), numbered(tokens.labels)
    return int(state.choice("q", st.selectbox, label, rows, format_func=names.__getitem__))


def last_of_text(tokens: Tokens) -> int:
    """Return the position of the last token with a letter or a digit; without one, of the text's last token, or 0."""
    own = [place for place, is_added in enumerate(tokens.special) if not is_added]
    words = [place for place in own if re.search(r"\w", tokens.source(place))]
    return (words or own or [0])[-1]


def computed(name: str, capacity: int, key: Hashable, make: Callable[[], V]) -> V:
    """Return a result from the cache of this name, which holds `capacity` bytes, or compute it in the worker pool."""
    limit_threads()
    with queue_note() as on_wait:
        value: V = _cache(name, capacity).get(key, make, on_wait)
        return value


@cache
def _cache(name: str, capacity: int) -> SingleFlightCache[Any]:
    return SingleFlightCache(name, capacity, worker_pool())
