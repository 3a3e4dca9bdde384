"""A cache that all sessions share: computes each result once, and holds a limited number of bytes."""

from __future__ import annotations

import copy
import threading
from collections.abc import Callable, Hashable
from concurrent.futures import Future, wait
from functools import partial
from typing import Any, Generic, Protocol, TypeVar
from weakref import WeakSet

from cachetools import LRUCache

from attnviz.runtime.lock import page_lock
from attnviz.runtime.pool import Task, WorkerPool

POLL = 0.4
"""Seconds between two calls of `on_wait`."""

OnWait = Callable[[int], object]
"""Called while a result is computed, with the number of computations ahead of it in the queue."""


class Sized(Protocol):
    """A result that knows its size."""

    @property
    def nbytes(self) -> int:
        """Bytes in memory."""


V = TypeVar("V", bound=Sized)


class SingleFlightCache(Generic[V]):
    """Results by key. Concurrent requests for a key share one computation in the worker pool.

    The cache holds at most `capacity` bytes and evicts the least recently used result first.
    """

    def __init__(self, name: str, capacity: int, pool: WorkerPool) -> None:
        self.name = name
        self.capacity = capacity
        self._pool = pool
        self._lock = threading.Lock()
        self._results: LRUCache[Hashable, V] = LRUCache(capacity, getsizeof=lambda value: int(value.nbytes))
        self._in_flight: dict[Hashable, Task[V]] = {}
        _caches.add(self)

    def get(self, key: Hashable, compute: Callable[[], V], on_wait: OnWait | None = None) -> V:
        """Return the result for a key; compute it if it is not cached.

        Raises:
            Exception: what `compute` raises. Failures are not cached. If a computation that another thread started
                fails, this call tries once more.
        """
        retried = False
        while True:
            task, is_mine = self._begin(key, compute)
            if not isinstance(task, Task):
                return task
            try:
                return self._wait(task, on_wait)
            except Exception as error:
                if is_mine:
                    raise
                if retried:  # each thread raises its own copy, with its own traceback
                    raise copy.copy(error) from None
                retried = True

    def request(self, key: Hashable, compute: Callable[[], V]) -> Future[V]:
        """Return a future of the result without waiting, for an event loop.

        If a computation fails, it fails for all callers that have requested it.
        """
        task, _ = self._begin(key, compute)
        if isinstance(task, Task):
            return task.result
        done: Future[V] = Future()
        done.set_result(task)
        return done

    def peek(self, key: Hashable) -> V | None:
        """Return the result for a key if it is cached."""
        with self._lock:
            result: V | None = self._results.get(key)
            return result

    def put(self, key: Hashable, value: V) -> bool:
        """Cache a result that was computed elsewhere (`LongWork`). Return False if it is too large to be cached."""
        with self._lock:
            fits = value.nbytes <= self.capacity
            if fits:
                self._results[key] = value
            return fits

    def ahead_of(self, key: Hashable) -> int:
        """Return how many computations are ahead of this key's in the queue; 0 once it has started or is done."""
        with self._lock:
            task = self._in_flight.get(key)
        return self._pool.ahead_of(task) if task else 0

    def usage(self) -> tuple[int, int]:
        """Return how many results are cached, and their bytes."""
        with self._lock:
            return len(self._results), int(self._results.currsize)

    def _begin(self, key: Hashable, compute: Callable[[], V]) -> tuple[V | Task[V], bool]:
        """Return the result, or the task that computes it and whether this call has submitted it."""
        with self._lock:
            result = self._results.get(key)
            if result is not None:
                return result, False
            task = self._in_flight.get(key)
            if task is not None:
                return task, False
            self._in_flight[key] = task = Task()
        self._pool.submit(task, partial(self._compute, key, compute))
        return task, True

    def _compute(self, key: Hashable, compute: Callable[[], V]) -> V:
        try:
            value = compute()
        except BaseException:
            with self._lock:
                del self._in_flight[key]
            raise
        self.put(key, value)
        with self._lock:
            del self._in_flight[key]
        return value

    def _wait(self, task: Task[V], on_wait: OnWait | None) -> V:
        while not task.result.done():
            self._pool.run_now(task)  # each time: another thread may have begun the task and not queued it yet
            with page_lock().released():
                wait([task.result], POLL)
            if on_wait is not None and not task.result.done():
                on_wait(self._pool.ahead_of(task))
        return task.result.result()


_caches: WeakSet[SingleFlightCache[Any]] = WeakSet()


def cache_usage() -> dict[str, tuple[int, int]]:
    """Return how many results the caches of each name in this process hold, and their bytes."""
    usage: dict[str, tuple[int, int]] = {}
    for cache in list(_caches):
        count, size = cache.usage()
        counts, sizes = usage.get(cache.name, (0, 0))
        usage[cache.name] = counts + count, sizes + size
    return usage
