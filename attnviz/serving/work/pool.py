"""A few threads that do all heavy computing for everybody, first come, first served."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import cache
from typing import Generic, TypeVar

from attnviz.settings import settings

V = TypeVar("V")


@dataclass(slots=True, eq=False)
class Task(Generic[V]):
    """Something that is computed, or waits to be."""

    result: Future[V] = field(default_factory=Future)
    ticket: int = 0
    """Its place in the queue; 0 where it was never in it"""


class Hands:
    """At most as many computations run at once as there are hands; the others wait in a queue.

    The threads last. Torch keeps memory for every thread that it ever ran in, and Streamlit makes a new one for each
    run of a page.
    """

    def __init__(self, count: int) -> None:
        self._pool = ThreadPoolExecutor(count, "compute")
        self._here = threading.local()
        self._lock = threading.Lock()
        self._tickets = 0
        self._waiting: set[int] = set()
        self._running = 0
        self._done = 0

    def begin(self, task: Task[V], work: Callable[[], V]) -> None:
        """Have a task computed. Within another it is done at once, as no other hand may be free."""
        if getattr(self._here, "busy", False):
            _settle(task, work)
            return
        with self._lock:
            self._tickets += 1
            task.ticket = self._tickets
            self._waiting.add(task.ticket)
            # Under the lock, or somebody with a later ticket could come into the queue before.
            self._pool.submit(self._run, task, work)

    def before(self, task: Task[V]) -> int:
        """Return how many tasks run or wait before this one; 0 where it has begun."""
        with self._lock:
            if task.ticket not in self._waiting:
                return 0
            return self._running + sum(ticket < task.ticket for ticket in self._waiting)

    def counts(self) -> tuple[int, int, int]:
        """Return how many tasks run, wait, and have been done."""
        with self._lock:
            return self._running, len(self._waiting), self._done

    def _run(self, task: Task[V], work: Callable[[], V]) -> None:
        with self._lock:
            self._waiting.discard(task.ticket)
            self._running += 1
        self._here.busy = True
        try:
            _settle(task, work)
        finally:
            self._here.busy = False
            with self._lock:
                self._running -= 1
                self._done += 1


def _settle(task: Task[V], work: Callable[[], V]) -> None:
    try:
        value = work()
    except BaseException as error:  # whoever waits has to hear of it, whatever it is
        task.result.set_exception(error)
    else:
        task.result.set_result(value)


@cache
def hands() -> Hands:
    """Return the threads that do all heavy computing of this process, as many as the settings say."""
    return Hands(settings().passes_at_once)


@cache
def limit_threads() -> None:
    """Give all of torch's work one thread: with two, sessions that share the cores wait for each other's.

    Call it before anything imports torch. `set_num_threads` holds for one thread, and Streamlit makes a new one for
    each run of a page: there a product of matrices would start helpers of its own, that spin while they wait. These
    read the variable, once, when torch is imported.
    """
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    import torch

    torch.set_num_threads(1)
