"""What one browser has been sent of the heads, and what it is to be sent next."""

from __future__ import annotations

from dataclasses import dataclass, field

import streamlit as st

from attnviz.components.explorer import MOST_ASKED
from attnviz.links.link import Head

UNCERTAIN = 0.1
"""Seconds. Streamlit keeps one message for each place on a page: where a run follows on the heels of another, the
second's may take the place of the first's before that is on its way. So what was sent last is then sent again."""
_KEY = "heads_delivery"


@dataclass(frozen=True, slots=True)
class Sent:
    """One message."""

    at: float
    """Seconds, on the clock that never goes back"""
    trace: str
    first: bool
    """Whether all that a browser starts with was in it"""
    heads: list[Head]


@dataclass(slots=True)
class Delivery:
    """One session's account. Nothing is struck off it before it was handed to Streamlit."""

    trace: str = ""
    """What the browser was last sent numbers of"""
    wanted: list[Head] = field(default_factory=list)
    recent: list[Sent] = field(default_factory=list)

    def want(self, heads: list[Head]) -> None:
        """Note which heads the browser asks for; [] asks for all that it starts with."""
        if not heads:
            self.trace = ""
        self.wanted = list(dict.fromkeys([*heads, *self.wanted]))[:MOST_ASKED]

    def due(self, trace: str, now: float) -> tuple[bool, list[Head]]:
        """Return whether the browser is to be sent all that it starts with, and the heads that it lacks otherwise."""
        uncertain = self._uncertain(trace, now)
        heads = dict.fromkeys([*self.wanted, *(head for one in uncertain for head in one.heads)])
        return trace != self.trace or any(one.first for one in uncertain), list(heads)

    def done(self, trace: str, heads: list[Head], now: float, *, first: bool) -> None:
        """Note what was handed over. What was sent again for safety is not noted again, or it would never end."""
        uncertain = self._uncertain(trace, now)
        again = {head for one in uncertain for head in one.heads}
        news = Sent(
            now,
            trace,
            first and not any(one.first for one in uncertain),
            [head for head in heads if head not in again],
        )
        self.trace, self.wanted, self.recent = trace, [], [*uncertain, news]

    def _uncertain(self, trace: str, now: float) -> list[Sent]:
        return [one for one in self.recent if one.trace == trace and now - one.at < UNCERTAIN]


def of_session() -> Delivery:
    """Return this session's account."""
    if _KEY not in st.session_state:
        start_over()
    delivery: Delivery = st.session_state[_KEY]
    return delivery


def start_over() -> None:
    """Open a new account: the whole page runs, so the explorer may be a new one in the browser."""
    st.session_state[_KEY] = Delivery()
