"""What sessions share: a result is computed once for all that ask for it, and kept within a number of bytes."""

from __future__ import annotations

import copy
import threading
from collections.abc import Callable, Hashable
from concurrent.futures import wait
from functools import partial
from typing import Any, Generic, Protocol, TypeVar
from weakref import WeakSet

from cachetools import LRUCache

from attnviz.serving.work.lock import turns
from attnviz.serving.work.pool import Hands, Task

ASK_AGAIN = 0.4
"""Seconds after which whoever waits is told, again and again, how many are before them."""

Tell = Callable[[int], object]
"""What is called while waiting, with the number of computations that are before the one that is waited for."""


class Sized(Protocol):
    """A result that knows its size."""

    @property
    def nbytes(self) -> int:
        """Bytes in memory."""


V = TypeVar("V", bound=Sized)


class Shared(Generic[V]):
    """Results by key, computed by `hands`: once for all that ask at the same time, and for all that ask later.

    What is kept is never more than `room` bytes; what was used least recently makes room.
    """

    def __init__(self, name: str, room: int, hands: Hands) -> None:
        self.name = name
        self.room = room
        self._hands = hands
        self._lock = threading.Lock()
        self._kept: LRUCache[Hashable, V] = LRUCache(room, getsizeof=lambda value: int(value.nbytes))
        self._begun: dict[Hashable, Task[V]] = {}
        _all.add(self)

    def get(self, key: Hashable, work: Callable[[], V], tell: Tell | None = None) -> V:
        """Return the result for a key, and compute it where nobody has.

        Raises:
            Exception: what `work` raises. Nothing of a failure is kept, and who has only waited for somebody else's
                computation that failed has it tried once more.
        """
        waited = False
        while True:
            task, mine = self._find(key)
            if not isinstance(task, Task):
                return task
            if mine:
                self._hands.begin(task, partial(self._compute, key, work))
            try:
                return self._wait(task, tell)
            except Exception as error:
                if mine:
                    raise
                if waited:  # an exception belongs to the thread that raises it
                    raise copy.copy(error) from None
                waited = True

    def figures(self) -> tuple[int, int]:
        """Return how many results are kept, and their bytes."""
        with self._lock:
            return len(self._kept), int(self._kept.currsize)

    def _find(self, key: Hashable) -> tuple[V | Task[V], bool]:
        """Return the result, or the task that computes it; and whether that is for the caller to begin."""
        with self._lock:
            found = self._kept.get(key)
            if found is not None:
                return found, False
            task = self._begun.get(key)
            if task is not None:
                return task, False
            self._begun[key] = task = Task()
            return task, True

    def _compute(self, key: Hashable, work: Callable[[], V]) -> V:
        try:
            value = work()
        except BaseException:
            with self._lock:
                del self._begun[key]
            raise
        with self._lock:
            if value.nbytes <= self.room:
                self._kept[key] = value
            del self._begun[key]
        return value

    def _wait(self, task: Task[V], tell: Tell | None) -> V:
        while not task.result.done():
            with turns().aside():
                wait([task.result], ASK_AGAIN)
            if tell is not None and not task.result.done():
                tell(self._hands.before(task))
        return task.result.result()


_all: WeakSet[Shared[Any]] = WeakSet()


def kept() -> dict[str, tuple[int, int]]:
    """Return what is kept in this process: for each name how many results, and their bytes."""
    found: dict[str, tuple[int, int]] = {}
    for shared in list(_all):
        count, size = shared.figures()
        counts, sizes = found.get(shared.name, (0, 0))
        found[shared.name] = counts + count, sizes + size
    return found
