"""A cache that all sessions share: computes each result once, and holds a limited number of bytes."""

from __future__ import annotations

import copy
import threading
from collections.abc import Callable, Hashable, Iterator
from concurrent.futures import Future, wait
from functools import partial
from typing import Any, Generic, Protocol, TypeVar
from weakref import WeakSet

from cachetools import LRUCache

from attnviz.runtime.lock import page_lock
from attnviz.runtime.pool import POLL, Task, WorkerPool
from attnviz.runtime.slices import SLICE, OnSlice, Slices

SUSPENDED = 8
"""The most computations in slices of a cache that can be gone on with"""

OnWait = Callable[[int], object]
"""Called while a result is computed, with the number of computations that are ahead of it in the queue."""


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
        self._slices: LRUCache[Hashable, Slices[V]] = LRUCache(SUSPENDED)
        _caches.add(self)

    def get(self, key: Hashable, compute: Callable[[], V], on_wait: OnWait | None = None) -> V:
        """Return the result for a key; compute it if it is not there.

        Raises:
            Exception: what `compute` raises. Failures are not cached. If a computation fails that another thread
                started, this call tries once more.
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
                if retried:  # each thread raises an exception of its own, with its own traceback
                    raise copy.copy(error) from None
                retried = True

    def get_in_slices(self, key: Hashable, steps: Callable[[], Iterator[int | V]], on_slice: OnSlice) -> V:
        """Return the result for a key; compute it in slices of some `SLICE` seconds, while at least one caller waits.

        Callers share one computation. If all of them leave, it stops after its slice, and the next caller goes on with
        it, unless `SUSPENDED` others have begun since.

        Args:
            key: of the result; not one of `get`.
            steps: each yields how much is done, and the last one the result, which is no int.
            on_slice: what it raises ends the wait of this caller.

        Raises:
            Exception: what a step raises, for all who wait. Failures are not cached.
        """
        with self._lock:
            found = self._results.get(key)
            if found is not None:
                return found
            slices = self._slices.get(key)
            is_mine = slices is None
            if slices is None:
                self._slices[key] = slices = Slices(self._pool, steps(), seconds=SLICE)
        try:
            value = slices.result(on_slice)
        except Exception as error:
            if not slices.has_failed:  # but `on_slice` has
                raise
            with self._lock:
                self._drop(key, slices)
            if is_mine:
                raise
            raise copy.copy(error) from None  # each thread raises an exception of its own, with its own traceback
        with self._lock:
            self._drop(key, slices)
            if value.nbytes <= self.capacity:
                self._results[key] = value
        return value

    def _drop(self, key: Hashable, slices: Slices[V]) -> None:
        """Forget a computation in slices, but not one that was begun anew. The caller holds the lock."""
        if self._slices.get(key) is slices:
            del self._slices[key]

    def peek(self, key: Hashable) -> V | None:
        """Return the result for a key if it is there."""
        with self._lock:
            return self._results.get(key)

    def request(self, key: Hashable, compute: Callable[[], V]) -> Future[V]:
        """Return the result, or what it will be, without waiting for it: for an event loop.

        If a computation fails, it fails for all who have requested it.
        """
        task, _ = self._begin(key, compute)
        if isinstance(task, Task):
            return task.result
        done: Future[V] = Future()
        done.set_result(task)
        return done

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
        task, is_mine = self._find(key)
        if is_mine and isinstance(task, Task):
            self._pool.submit(task, partial(self._compute, key, compute))
        return task, is_mine

    def _find(self, key: Hashable) -> tuple[V | Task[V], bool]:
        """Return the result, or the task that computes it and whether the caller has to submit it."""
        with self._lock:
            found = self._results.get(key)
            if found is not None:
                return found, False
            task = self._in_flight.get(key)
            if task is not None:
                return task, False
            self._in_flight[key] = task = Task()
            return task, True

    def _compute(self, key: Hashable, compute: Callable[[], V]) -> V:
        try:
            value = compute()
        except BaseException:
            with self._lock:
                del self._in_flight[key]
            raise
        with self._lock:
            if value.nbytes <= self.capacity:
                self._results[key] = value
            del self._in_flight[key]
        return value

    def _wait(self, task: Task[V], on_wait: OnWait | None) -> V:
        self._pool.run_now(task)
        while not task.result.done():
            with page_lock().released():
                wait([task.result], POLL)
            if on_wait is not None and not task.result.done():
                on_wait(self._pool.ahead_of(task))
        return task.result.result()


_caches: WeakSet[SingleFlightCache[Any]] = WeakSet()


def cache_usage() -> dict[str, tuple[int, int]]:
    """Return for each name of a cache in this process how many results it holds, and their bytes."""
    usage: dict[str, tuple[int, int]] = {}
    for each in list(_caches):
        count, size = each.usage()
        counts, sizes = usage.get(each.name, (0, 0))
        usage[each.name] = counts + count, sizes + size
    return usage
