"""A fixed thread pool for CPU-heavy work, first in, first out."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import cache, partial
from typing import Any, Generic, TypeVar

from attnviz.settings import settings

V = TypeVar("V")


@dataclass(slots=True, eq=False)
class Task(Generic[V]):
    """A computation that is queued, running or done."""

    result: Future[V] = field(default_factory=Future)
    ticket: int = 0
    """Its number in the queue; 0 if it was never queued"""


class WorkerPool:
    """Runs at most `size` computations at a time; the others wait in a queue.

    The threads are kept: torch allocates memory for every thread that it ever ran in, and Streamlit starts a new thread
    for each run of a page.
    """

    def __init__(self, size: int) -> None:
        self.size = size
        self._threads = ThreadPoolExecutor(size, "compute")
        self._worker = threading.local()
        self._lock = threading.Lock()
        self._tickets = 0
        self._queued: dict[int, Callable[[], None]] = {}
        """For each task that has not started, keyed by ticket, the function that runs it"""
        self._running = 0
        self._done = 0

    def submit(self, task: Task[V], work: Callable[[], V]) -> None:
        """Queue a task. Called from within another task, it runs at once, since no other thread may be free."""
        if self.is_worker():
            _settle(task, work)
        else:
            self.queue(task, work)

    def queue(self, task: Task[V], work: Callable[[], V]) -> None:
        """Queue a task, even from within another one, which must not wait for it."""
        with self._lock:
            self._tickets += 1
            task.ticket = self._tickets
            self._queued[task.ticket] = partial(_settle, task, work)
            # Under the lock; otherwise a task with a later ticket could enter the queue first.
            self._threads.submit(self._run, task.ticket)

    def run(self, work: Callable[[], V]) -> V:
        """Queue a task, wait for it, and return its result; raises what `work` raises."""
        task: Task[V] = Task()
        self.submit(task, work)
        return task.result.result()

    def run_now(self, task: Task[Any]) -> None:
        """In a worker that needs a queued task, run it at once: if all workers waited, none would be left to run it.

        In any other thread, or once the task has started, do nothing.
        """
        if self.is_worker():
            with self._lock:
                settle = self._queued.pop(task.ticket, None)
            if settle is not None:
                settle()
                with self._lock:
                    self._done += 1

    def is_worker(self) -> bool:
        """Whether this thread is computing a task of the pool."""
        return getattr(self._worker, "busy", False)

    def ahead_of(self, task: Task[V]) -> int:
        """Return how many tasks are running or queued ahead of this one; 0 once it has started."""
        with self._lock:
            if task.ticket not in self._queued:
                return 0
            return self._running + sum(ticket < task.ticket for ticket in self._queued)

    def counts(self) -> tuple[int, int, int]:
        """Return how many tasks are running, queued, and done."""
        with self._lock:
            return self._running, len(self._queued), self._done

    def _run(self, ticket: int) -> None:
        with self._lock:
            settle = self._queued.pop(ticket, None)
            if settle is None:  # `run_now` has run it
                return
            self._running += 1
        self._worker.busy = True
        try:
            settle()
        finally:
            self._worker.busy = False
            with self._lock:
                self._running -= 1
                self._done += 1


def place_in_queue(ahead: int) -> str:
    """Return the sentence for a waiting visitor, with the number of texts ahead."""
    if ahead == 0:
        return "Your text is being read …"
    return f"{ahead} {'text is' if ahead == 1 else 'texts are'} before yours …"


def _settle(task: Task[V], work: Callable[[], V]) -> None:
    try:
        value = work()
    except BaseException as error:  # any kind: the waiting thread must receive it
        task.result.set_exception(error)
    else:
        task.result.set_result(value)


@cache
def worker_pool() -> WorkerPool:
    """Return this process's pool, with the number of threads in the settings."""
    return WorkerPool(settings().parallel_passes)


@cache
def limit_openmp() -> None:
    """Limit OpenMP to one thread. Call it before anything imports torch: OpenMP reads the variable only then.

    `torch.set_num_threads` applies to one thread only, and Streamlit starts a new one for each run of a page: a matrix
    product there would start OpenMP threads, which spin while they wait.
    """
    os.environ.setdefault("OMP_NUM_THREADS", "1")


def limit_threads() -> None:
    """Limit torch to one thread: with two, sessions that share the cores wait for each other's threads."""
    limit_openmp()
    import torch

    torch.set_num_threads(1)
