"""Long work, such as embedding a whole text: in slices, between which the worker pool does other work.

A result is computed once for all visitors who wait for it. A page either waits for it in one run (`LongWork.get`) or
looks again in the next one (`LongWork.request`). Work that no visitor waits for pauses, and goes on where it stopped if
one comes back soon.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Hashable, Iterator
from concurrent.futures import Future, wait
from dataclasses import dataclass, field
from functools import cache, partial
from itertools import count
from threading import Lock, Timer
from typing import Any, Generic, TypeVar

from attnviz.runtime.cache import POLL, SingleFlightCache, Sized
from attnviz.runtime.lock import page_lock
from attnviz.runtime.pool import Task, WorkerPool, limit_threads, worker_pool

V = TypeVar("V", bound=Sized)

CAPACITY = 128 * 2**20
"""Bytes that all work which has begun may need together; more begins when some is done"""
SLICE = 0.05
"""Seconds after which a slice ends, when its current step is done"""
STUCK = 60.0
"""Seconds after which a slice no longer holds up other long work"""
LEASE = 10.0
"""Seconds without a request after which a visitor is considered gone: a waiting page asks twice a second"""
KEPT = 120.0
"""Seconds that paused work is kept"""


class LongWorkError(Exception):
    """Long work has failed; the message is a sentence for the user."""


@dataclass(frozen=True, slots=True)
class Work(Generic[V]):
    """A result, and how to compute it."""

    cache: SingleFlightCache[V]
    """Keeps the result"""
    key: Hashable
    """All that determines the result"""
    begin: Callable[[], Iterator[int | V]]
    """Returns an iterator that yields how much is done after each step, and finally the result, which is not an int"""
    failure: str
    """A sentence for the user in case that the memory does not suffice"""
    nbytes: int = 0
    """An estimate of the memory that the work needs before it is done"""


@dataclass(slots=True, eq=False)
class Job(Generic[V]):
    """Work that is queued, in progress, paused, or done."""

    work: Work[V]
    order: int
    """Of all that may go on, the job with the smallest number is next"""
    done: int = 0
    """How much is done"""
    result: Future[V] = field(default_factory=Future)
    watchers: dict[str, float] = field(default_factory=dict)
    """When each visitor last asked"""
    asked: float = 0.0
    """When any visitor last asked"""
    steps: Iterator[int | V] | None = None
    """None before it begins, and once it is done"""
    task: Task[None] | None = None
    """The slice that is queued or running in the pool"""
    task_since: float = 0.0
    told: set[str] = field(default_factory=set)
    """The visitors who know that it has failed"""

    @property
    def has_failed(self) -> bool:
        """Whether it has ended without a result."""
        return self.result.done() and self.result.exception() is not None

    @property
    def has_begun(self) -> bool:
        """Whether it has begun or is about to, and is not done."""
        return self.steps is not None or self.task is not None

    def is_wanted(self, now: float, lease: float) -> bool:
        """Whether a visitor has asked within the lease."""
        return any(now - asked < lease for asked in self.watchers.values())


class LongWork:
    """Runs long work, a slice of each in turn. Half of the pool's threads, but at least one, are used for it."""

    def __init__(self, pool: WorkerPool, capacity: int = CAPACITY, *, lease: float = LEASE, kept: float = KEPT) -> None:
        self._pool, self._capacity, self._lease, self._kept = pool, capacity, lease, kept
        self._at_once = max(1, pool.size // 2)
        self._lock = Lock()
        self._order = count()
        self._jobs: dict[tuple[SingleFlightCache[Any], Hashable], Job[Any]] = {}
        self._sweep: Timer | None = None

    def request(self, visitor: str, work: Work[V], *, timeout: float = 0.0) -> V | Job[V]:
        """Return the result, or the job that computes it. This visitor no longer waits for any other work.

        Args:
            visitor: who asks. Unless a visitor asks again within `LEASE` seconds, the work pauses.
            work: computes the result.
            timeout: seconds to wait for the result.

        Raises:
            LongWorkError: there was too little memory. A call after `LEASE` seconds, or after another request of this
                visitor, begins anew.
            Exception: another error of `work.begin` or a step, in the same way.
        """
        job = self._watch(visitor, work)
        if not isinstance(job, Job):
            return job
        if timeout:
            with page_lock().released():
                wait([job.result], timeout)
        if not job.result.done():
            return job
        try:
            return job.result.result()
        except Exception as error:
            job.told.add(visitor)
            if _lacks_memory(error):
                raise LongWorkError(work.failure) from error
            raise

    def get(self, visitor: str, work: Work[V], on_wait: Callable[[Job[V]], object]) -> V:
        """Wait for the result and return it.

        Args:
            visitor: as in `request`.
            work: computes the result.
            on_wait: called from time to time with the job. If it raises, the visitor no longer waits.

        Raises:
            BaseException: what `on_wait` raises, and as in `request`.
        """
        if self._pool.is_worker():  # it would wait for a slice that no free thread may run
            return self._compute(work)
        try:
            while True:
                job = self.request(visitor, work, timeout=POLL)
                if not isinstance(job, Job):
                    return job
                on_wait(job)
        finally:
            with self._lock:
                self._leave(visitor)
                self._dispatch()

    def is_waiting(self, visitor: str, cache: SingleFlightCache[Any], key: Hashable) -> bool:
        """Whether a visitor waits for work that is in progress, or has failed unseen. Asking renews the lease."""
        with self._lock:
            job = self._jobs.get((cache, key))
            if job is None or visitor not in job.watchers or visitor in job.told:
                return False
            job.watchers[visitor] = job.asked = time.monotonic()
            self._dispatch()
            return True

    def ahead_of(self, job: Job[V]) -> int:
        """Return how many computations are ahead of a job; 0 once it has begun."""
        with self._lock:
            if job.steps is not None or job.result.done():
                return 0
            if job.task is not None:
                return self._pool.ahead_of(job.task)
            others = [other for other in self._wanted(time.monotonic()) if other is not job]
            return sum(other.order < job.order or other.has_begun for other in others)

    def _watch(self, visitor: str, work: Work[V]) -> V | Job[V]:
        with self._lock:
            key, now = (work.cache, work.key), time.monotonic()
            self._leave(visitor, keep=key)
            result = work.cache.peek(work.key)
            if result is not None:
                return result
            job = self._jobs.get(key)
            if job is not None and job.has_failed:
                if now - job.watchers.get(visitor, -self._lease) < self._lease:
                    return job  # until the lease ends, which is not renewed
                job = None
            if job is None:
                job = self._jobs[key] = Job(work, next(self._order))
            job.watchers[visitor] = job.asked = now
            self._dispatch()
            return job

    def _leave(self, visitor: str, keep: tuple[SingleFlightCache[Any], Hashable] | None = None) -> None:
        """Note that a visitor waits for no work other than that of the key `keep`."""
        for key, job in self._jobs.items():
            if key != keep:
                job.watchers.pop(visitor, None)

    def _compute(self, work: Work[V]) -> V:
        result = work.cache.peek(work.key)
        if result is None:
            result = next(step for step in work.begin() if not isinstance(step, int))
            work.cache.put(work.key, result)
        return result

    def _dispatch(self) -> None:
        """Queue the next slices, as many as may run at once. The caller holds the lock."""
        now = time.monotonic()
        for job in list(self._jobs.values()):
            is_idle = job.task is None and not job.is_wanted(now, self._lease)
            if is_idle and (job.steps is None or now - job.asked > self._kept):
                self._forget(job)
        running = sum(job.task is not None and now - job.task_since < STUCK for job in self._jobs.values())
        waiting = sorted((job for job in self._wanted(now) if job.task is None), key=lambda job: job.order)
        has_room = True  # for work that has not begun: none that needs room begins before one that waits for it
        for job in waiting:
            if running >= self._at_once:
                break
            needs_room = job.steps is None and job.work.nbytes > 0
            if needs_room:
                has_room = has_room and self._make_room(job, now)
            if has_room or not needs_room:
                running += 1
                job.task, job.task_since = Task(), now
                self._pool.queue(job.task, partial(self._run, job))
        if self._jobs and self._sweep is None:  # nobody may ask again
            self._sweep = Timer(self._kept, self._sweep_up)
            self._sweep.daemon = True
            self._sweep.start()

    def _sweep_up(self) -> None:
        """Drop what has been kept for long enough."""
        with self._lock:
            self._sweep = None
            self._dispatch()

    def _wanted(self, now: float) -> list[Job[Any]]:
        jobs = self._jobs.values()
        return [job for job in jobs if job.is_wanted(now, self._lease) and not job.result.done()]

    def _make_room(self, job: Job[V], now: float) -> bool:
        """Return whether a job may begin: it fits, perhaps once paused work is dropped, or no other has begun."""
        begun = [other for other in self._jobs.values() if other.has_begun]
        paused = [other for other in begun if other.task is None and not other.is_wanted(now, self._lease)]
        needed = sum(other.work.nbytes for other in begun) + job.work.nbytes
        if needed - sum(other.work.nbytes for other in paused) > self._capacity and len(begun) > len(paused):
            return False
        for other in sorted(paused, key=lambda other: other.asked):
            if needed > self._capacity:
                needed -= other.work.nbytes
                self._forget(other)
        return True

    def _forget(self, job: Job[V]) -> None:
        key = job.work.cache, job.work.key
        if self._jobs.get(key) is job:  # not a newer job
            del self._jobs[key]

    def _run(self, job: Job[V]) -> None:
        """Run a slice of a job in the pool."""
        ends = time.monotonic() + SLICE
        result, failure = None, None
        try:
            limit_threads()
            if job.steps is None:
                job.steps = job.work.begin()
            while result is None:
                step = next(job.steps)
                if not isinstance(step, int):
                    result = step
                else:
                    job.done = step
                    if time.monotonic() > ends:
                        break
        except BaseException as error:  # any kind: those who wait must receive it
            failure = error
        with self._lock:  # who is told the result then finds the job as it will stay
            job.task, job.order = None, next(self._order)
            if result is not None or failure is not None:
                job.steps = None
            if failure is not None:
                job.result.set_exception(failure)
            elif result is not None:
                job.result.set_result(result)
                if job.work.cache.put(job.work.key, result):
                    self._forget(job)  # otherwise it is kept until those who wait have seen how it ended
            self._dispatch()


def _lacks_memory(error: Exception) -> bool:
    """Whether memory was short: torch raises a RuntimeError, which says that it can't allocate."""
    return isinstance(error, MemoryError) or (isinstance(error, RuntimeError) and "alloc" in str(error))


@cache
def long_work() -> LongWork:
    """Return the long work of this process."""
    return LongWork(worker_pool())
