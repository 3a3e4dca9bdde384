"""A fair lock: the server builds pages one at a time, in the order of the requests.

Python runs one thread at a time. Threads that build pages concurrently interrupt each other, and the event loop that
sends the pages, thousands of times a second, so all of them are late. One after another, most are on time.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache

LEASE = 0.25
"""Maximum seconds that a thread holds the lock while others wait: a slow page delays nobody for longer."""


class FairLock:
    """A first-in, first-out lock with a lease: a thread that exceeds it runs on, and the next one starts alongside."""

    def __init__(self, lease: float = LEASE) -> None:
        self._lease = lease
        self._guard = threading.Lock()
        self._queue: deque[threading.Lock] = deque()
        """A closed gate for each waiting thread"""
        self._holder: threading.Lock | None = None
        """The gate of the thread that holds the lock"""
        self._since = 0.0
        self._thread = threading.local()

    @contextmanager
    def held(self) -> Iterator[None]:
        """Hold the lock. A thread that already holds it just continues. Also a decorator: `@lock.held()`."""
        if self._gate() is not None:
            yield
            return
        self._acquire(first=False)
        try:
            yield
        finally:
            self._release()

    @contextmanager
    def released(self) -> Iterator[None]:
        """Release the lock while this thread waits for something, and get it back before all waiting threads."""
        if self._gate() is None:
            yield
            return
        self._release()
        try:
            yield
        finally:
            self._acquire(first=True)

    def waiting(self) -> int:
        """Return how many threads wait for the lock."""
        with self._guard:
            return len(self._queue)

    def _gate(self) -> threading.Lock | None:
        gate: threading.Lock | None = getattr(self._thread, "gate", None)
        return gate

    def _acquire(self, *, first: bool) -> None:
        gate = threading.Lock()
        gate.acquire()  # `_pass_on` opens it
        with self._guard:
            (self._queue.appendleft if first else self._queue.append)(gate)
            if self._holder is None:
                self._pass_on()
        while not gate.acquire(timeout=self._lease):
            with self._guard:
                if time.monotonic() - self._since > self._lease:
                    self._pass_on()
        self._thread.gate = gate

    def _release(self) -> None:
        with self._guard:
            if self._holder is self._gate():  # otherwise the lease has ended, and another thread holds the lock
                self._pass_on()
        self._thread.gate = None

    def _pass_on(self) -> None:
        """Give the lock to the next thread. The caller holds the guard."""
        self._holder = self._queue.popleft() if self._queue else None
        self._since = time.monotonic()
        if self._holder is not None:
            self._holder.release()


@cache
def page_lock() -> FairLock:
    """Return the lock under which this process builds pages."""
    return FairLock()
