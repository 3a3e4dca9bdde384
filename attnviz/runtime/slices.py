"""Long work of one session in the worker pool: a task for each slice, between which the pool does other work."""

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
"""Called after each slice, and while one is waited for: how much is done, and how many tasks are ahead in the queue"""


class Slices(Generic[V]):
    """Work that goes on only while someone waits for it, and then from where it was."""

    def __init__(self, pool: WorkerPool, steps: Iterator[int | V]) -> None:
        """Begin nothing yet.

        Args:
            pool: computes the slices.
            steps: each yields how much is done, and the last one the result, which is no int.
        """
        self.done = 0
        self._pool, self._steps = pool, steps
        self._lock = threading.Lock()
        self._task: Task[int | V] | None = None
        """The slice that is queued or runs, or the last one of all"""

    def result(self, on_slice: OnSlice) -> V:
        """Return the result, once all slices are done.

        Raises:
            BaseException: what `on_slice` raises, after which no further slice begins until this is called again.
            Exception: what a slice raises; each further call raises it too.
        """
        while True:
            task = self._current()
            while not task.result.done():
                with page_lock().released():
                    wait([task.result], POLL)
                if not task.result.done():
                    on_slice(self.done, self._pool.ahead_of(task))
            reached = task.result.result()
            if not isinstance(reached, int):
                return reached
            with self._lock:
                if self._task is task:
                    self._task, self.done = None, reached
            on_slice(self.done, 0)

    def _current(self) -> Task[int | V]:
        """Return the slice that is queued or runs; queue the next one if there is none."""
        with self._lock:
            if self._task is None:
                self._task = Task()
                self._pool.submit(self._task, self._next)
            return self._task

    def _next(self) -> int | V:
        return next(self._steps)
