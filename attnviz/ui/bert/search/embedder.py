"""Embeds whole texts without blocking anyone: in slices, between which the worker pool does other work.

A text is embedded once for all visitors who view it. The work stops when the last of them leaves.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import cache, partial

from cachetools import LRUCache

from attnviz.bert.search import Index, Sentences, build
from attnviz.pretrained.built_in import BuiltInModel
from attnviz.runtime.lock import FairLock, page_lock
from attnviz.runtime.pool import Task, WorkerPool, limit_threads, worker_pool

CAPACITY = 128 * 2**20
"""Bytes of all kept indexes: some seventy of 1,000 sentences, or at least three of a megabyte of text"""
AT_ONCE = 4
"""Texts embedded concurrently, one slice of each in turn, so that all use one thread of the pool; others wait"""
SLICE = 0.05
"""Seconds after which a slice ends, when its last batch is done"""
TURN = 60.0
"""Seconds after which a slice is considered stuck"""
LEASE = 10.0
"""Seconds without a request after which a visitor is considered gone: a waiting page asks twice a second"""


@dataclass(slots=True, eq=False)
class Job:
    """A text that is being embedded or is queued."""

    text: Sentences
    model: BuiltInModel
    watchers: dict[str, float] = field(default_factory=dict)
    """When each visitor last asked"""
    done: int = 0
    """Sentences embedded so far"""
    finished: threading.Event = field(default_factory=threading.Event)
    error: Exception | None = None


class Embedder:
    """Runs the jobs that embed texts, and keeps the indexes they return."""

    def __init__(self, pool: WorkerPool, capacity: int = CAPACITY, *, lease: float = LEASE) -> None:
        self._pool, self._lease = pool, lease
        self._drivers = ThreadPoolExecutor(AT_ONCE, "embedding")
        """Threads that only wait: the pool computes"""
        self._turn = FairLock(TURN)
        self._lock = threading.Lock()
        self._indexes: LRUCache[str, Index] = LRUCache(capacity, getsizeof=lambda index: index.nbytes)
        self._jobs: dict[str, Job] = {}

    def request(self, visitor: str, text: Sentences, model: BuiltInModel, *, patience: float = 0.0) -> Index | Job:
        """Return the index of a text, or the job that embeds it; this visitor's other requests are dropped.

        Args:
            visitor: who asks.
            text: at least one sentence.
            model: embeds it.
            patience: seconds to wait for a job.

        Raises:
            Exception: the error that ended the job. It is raised once, so that the next call tries again.
        """
        with self._lock:
            job = self._find(visitor, text, model)
        if isinstance(job, Index):
            return job
        if patience:
            with page_lock().released():
                job.finished.wait(patience)
        if job.finished.is_set() and job.error is not None:
            with self._lock:
                self._forget(job)
            raise job.error
        return self.peek(text) or job

    def peek(self, text: Sentences) -> Index | None:
        """Return the index of a text if it is kept."""
        with self._lock:
            return self._indexes.get(text.digest)

    def is_working(self, visitor: str, text: Sentences) -> bool:
        """Whether this visitor's text is being embedded. Asking renews the visitor's lease."""
        with self._lock:
            job = self._jobs.get(text.digest)
            if job is None or visitor not in job.watchers:
                return False
            job.watchers[visitor] = time.monotonic()
            return True

    def _find(self, visitor: str, text: Sentences, model: BuiltInModel) -> Index | Job:
        for other in list(self._jobs.values()):
            if other.text.digest != text.digest:
                other.watchers.pop(visitor, None)
            if other.error is not None and not self._has_watchers(other):
                self._forget(other)
        index = self._indexes.get(text.digest)
        if index is not None:
            return index
        job = self._jobs.get(text.digest)
        if job is None:
            job = self._jobs[text.digest] = Job(text, model)
            job.watchers[visitor] = time.monotonic()
            self._drivers.submit(self._drive, job)
        job.watchers[visitor] = time.monotonic()
        return job

    def _drive(self, job: Job) -> None:
        """Run the slices of a job one after another, until it is done or no visitor wants it."""
        steps, index = build(job.model, job.text), None
        try:
            while index is None and self._is_wanted(job):
                task: Task[int | Index] = Task()
                with self._turn.held():
                    self._pool.submit(task, partial(_slice, steps))
                    progress = task.result.result()
                if isinstance(progress, Index):
                    index = progress
                else:
                    job.done = progress
        except Exception as error:  # any kind: whoever waits must receive it
            job.error = error
        with self._lock:
            if index is not None:
                self._indexes[job.text.digest] = index
            if job.error is None:  # otherwise it is kept until whoever waits has seen the error
                self._forget(job)
        job.finished.set()

    def _forget(self, job: Job) -> None:
        if self._jobs.get(job.text.digest) is job:  # not a newer job for the same text
            del self._jobs[job.text.digest]

    def _is_wanted(self, job: Job) -> bool:
        """Whether a visitor still wants a job; if not, it is removed, so that the next request starts a new one."""
        with self._lock:
            is_wanted = self._has_watchers(job)
            if not is_wanted:
                self._forget(job)
            return is_wanted

    def _has_watchers(self, job: Job) -> bool:
        now = time.monotonic()
        return any(now - asked < self._lease for asked in job.watchers.values())


def _slice(steps: Iterator[int | Index]) -> int | Index:
    """Work for `SLICE` seconds; return how many sentences are done, or the index."""
    limit_threads()
    deadline = time.monotonic() + SLICE
    while True:
        progress = next(steps)
        if isinstance(progress, Index) or time.monotonic() > deadline:
            return progress


@cache
def embedder() -> Embedder:
    """Return this server's embedder."""
    return Embedder(worker_pool())
