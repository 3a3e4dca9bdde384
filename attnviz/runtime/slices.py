"""Runs one session's long work in the worker pool: a task for each slice, between which the pool does other work."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import wait
from typing import Generic, TypeVar

from attnviz.runtime.cache import POLL
from attnviz.runtime.lock import page_lock
from attnviz.runtime.pool import Task, WorkerPool

V = TypeVar("V")

OnSlice = Callable[[int, int], object]
"""Called after each slice and while waiting for one: how much is done, and how many tasks are ahead in the queue"""


class Slices(Generic[V]):
    """Work that runs only while a caller waits for it; the next call continues where it stopped."""

    def __init__(self, pool: WorkerPool, steps: Iterator[int | V]) -> None:
        """Prepare the work without starting it.

        Args:
            pool: runs the slices.
            steps: yields how much is done after each slice, and finally the result, which is not an int.
        """
        self.done = 0
        self._pool, self._steps = pool, steps
        self._lock = threading.Lock()
        self._task: Task[int | V] | None = None
        """The slice that is queued or running, or the final one"""

    def result(self, on_slice: OnSlice) -> V:
        """Return the result, once all slices are done.

        Raises:
            BaseException: what `on_slice` raises, after which no further slice starts until this is called again.
            Exception: what a slice raises; further calls raise it too.
        """
        while True:
            task = self._current()
            while not task.result.done():
                with page_lock().released():
                    wait([task.result], POLL)
                if not task.result.done():
                    on_slice(self.done, self._pool.ahead_of(task))
            progress = task.result.result()
            if not isinstance(progress, int):
                return progress
            with self._lock:
                if self._task is task:
                    self._task, self.done = None, progress
            on_slice(self.done, 0)

    def _current(self) -> Task[int | V]:
        """Return the slice that is queued or running; if there is none, queue the next one."""
        with self._lock:
            if self._task is None:
                self._task = Task()
                self._pool.submit(self._task, self._next)
            return self._task

    def _next(self) -> int | V:
        return next(self._steps)
