"""Long work in the worker pool: a task for each slice, between which the pool does other work.

`SingleFlightCache.get_in_slices` shares it among sessions, and keeps its result.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import wait
from typing import Generic, TypeVar

from attnviz.runtime.lock import page_lock
from attnviz.runtime.pool import POLL, Task, WorkerPool

V = TypeVar("V")

OnSlice = Callable[[int, int], object]
"""Called after each slice, and while one is waited for: how much is done, and how many tasks are ahead in the queue"""
SLICE = 0.05
"""Seconds after which a slice ends; its last step takes some more"""


class Slices(Generic[V]):
    """Resumable work: runs only while a caller waits, from where it was. Callers at the same time share each slice."""

    def __init__(self, pool: WorkerPool, steps: Iterator[int | V], *, seconds: float = 0.0) -> None:
        """Begin nothing yet.

        Args:
            pool: computes the slices.
            steps: each yields how much is done, and the last one the result, which is no int.
            seconds: after which a slice ends; each takes at least one step.
        """
        self.done = 0
        self._pool, self._steps, self._seconds = pool, steps, seconds
        self._lock = threading.Lock()
        self._task: Task[int | V] | None = None
        """The slice that is queued or runs, or the last one of all"""

    @property
    def has_failed(self) -> bool:
        """Whether a slice has raised something, so that the work can't go on."""
        with self._lock:
            task = self._task
        return task is not None and task.result.done() and task.result.exception() is not None

    def result(self, on_slice: OnSlice) -> V:
        """Return the result, once all slices are done.

        Raises:
            BaseException: what `on_slice` raises. Without another caller, no further slice begins until this is called
                again.
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
                self._pool.submit_slice(self._task, self._next)
            return self._task

    def _next(self) -> int | V:
        """Go on until the slice ends; return how much is done, or the result."""
        ends = time.monotonic() + self._seconds
        while True:
            reached = next(self._steps)
            if not isinstance(reached, int) or time.monotonic() >= ends:
                return reached
