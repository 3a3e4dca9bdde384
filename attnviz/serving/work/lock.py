"""One page at a time: visitors' pages are made one after another, in the order in which they were asked for.

Python runs one thread at a time whatever one asks of it. Pages that are made at once interrupt each other thousands of
times a second, and with them the loop that sends them: all of them are late. One after another, most are not.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache

LEASE = 0.25
"""Seconds that a turn lasts at most where others wait: a page that takes long holds nobody up for longer."""


class Turns:
    """Lets threads go ahead one after another."""

    def __init__(self, lease: float = LEASE) -> None:
        self._lease = lease
        self._lock = threading.Lock()
        self._waiting: deque[threading.Lock] = deque()
        self._going: threading.Lock | None = None
        """Whose turn it is"""
        self._since = 0.0
        self._here = threading.local()

    @contextmanager
    def turn(self) -> Iterator[None]:
        """Wait for this thread's turn, and end it afterwards. Within a turn of its own nothing happens."""
        if self._mine() is not None:
            yield
            return
        self._take(first=False)
        try:
            yield
        finally:
            self._give()

    @contextmanager
    def aside(self) -> Iterator[None]:
        """Let others go ahead while this thread waits for something; it goes on as the next of all."""
        if self._mine() is None:
            yield
            return
        self._give()
        try:
            yield
        finally:
            self._take(first=True)

    def _mine(self) -> threading.Lock | None:
        mine: threading.Lock | None = getattr(self._here, "mine", None)
        return mine

    def _take(self, *, first: bool) -> None:
        mine = threading.Lock()  # somebody else opens it when its turn has come
        mine.acquire()
        with self._lock:
            (self._waiting.appendleft if first else self._waiting.append)(mine)
            if self._going is None:
                self._next()
        while not mine.acquire(timeout=self._lease):
            with self._lock:
                if time.monotonic() - self._since > self._lease:
                    self._next()
        self._here.mine = mine

    def _give(self) -> None:
        with self._lock:
            if self._going is self._mine():  # else it took too long, and another goes already
                self._next()
        self._here.mine = None

    def _next(self) -> None:
        """Let the next go ahead. The lock is held."""
        self._going = self._waiting.popleft() if self._waiting else None
        self._since = time.monotonic()
        if self._going is not None:
            self._going.release()


@cache
def turns() -> Turns:
    """Return the turns that all pages of this process take."""
    return Turns()
