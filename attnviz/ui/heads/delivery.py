"""Tracks which heads a browser has received, and which it needs next."""

from __future__ import annotations

from dataclasses import dataclass, field

import streamlit as st

from attnviz.components.explorer import MAX_REQUESTED
from attnviz.links.link import Head

UNCERTAIN_SECONDS = 0.1
"""Streamlit keeps one message per element. If one run follows another within this time, its message may replace the
earlier one before it is sent. So the next run sends the contents of such an uncertain message again."""
_KEY = "heads_delivery"


@dataclass(frozen=True, slots=True)
class Sent:
    """One message to the browser."""

    at: float
    """Monotonic time in seconds"""
    trace: str
    first: bool
    """Whether it contained the initial data"""
    heads: list[Head]


@dataclass(slots=True)
class Delivery:
    """The state of one session's delivery. Requests stay in it until they are passed to Streamlit."""

    trace: str = ""
    """The name of the survey that the browser last received"""
    requested: list[Head] = field(default_factory=list)
    recent: list[Sent] = field(default_factory=list)

    def request(self, heads: list[Head]) -> None:
        """Add the heads that the browser requests; [] requests the initial data."""
        if not heads:
            self.trace = ""
        self.requested = list(dict.fromkeys([*heads, *self.requested]))[:MAX_REQUESTED]

    def pending(self, trace: str, now: float) -> tuple[bool, list[Head]]:
        """Return whether to send the initial data, and which other heads to send."""
        uncertain = self._uncertain(trace, now)
        heads = dict.fromkeys([*self.requested, *(head for sent in uncertain for head in sent.heads)])
        return trace != self.trace or any(sent.first for sent in uncertain), list(heads)

    def mark_sent(self, trace: str, heads: list[Head], now: float, *, first: bool) -> None:
        """Record a message. Contents that were sent a second time are not recorded again, so repetition ends."""
        uncertain = self._uncertain(trace, now)
        repeated = {head for sent in uncertain for head in sent.heads}
        new = Sent(
            now,
            trace,
            first and not any(sent.first for sent in uncertain),
            [head for head in heads if head not in repeated],
        )
        self.trace, self.requested, self.recent = trace, [], [*uncertain, new]

    def _uncertain(self, trace: str, now: float) -> list[Sent]:
        return [sent for sent in self.recent if sent.trace == trace and now - sent.at < UNCERTAIN_SECONDS]


def of_session() -> Delivery:
    """Return the delivery state of this session."""
    if _KEY not in st.session_state:
        start_over()
    delivery: Delivery = st.session_state[_KEY]
    return delivery


def start_over() -> None:
    """Reset the delivery state: in a full run of the page, the browser may have a new explorer."""
    st.session_state[_KEY] = Delivery()
