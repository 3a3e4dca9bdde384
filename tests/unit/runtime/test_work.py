"""Many at once: what is computed for all, and who waits."""

from __future__ import annotations

import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import pytest

from attnviz.runtime import cache as cache_module
from attnviz.runtime.cache import SingleFlightCache, cache_usage
from attnviz.runtime.lock import FairLock
from attnviz.runtime.pool import Task, WorkerPool, place_in_queue
from tests.waiting import until


@dataclass(frozen=True)
class Result:
    nbytes: int = 1


class Work:
    """Something to compute: counts, waits until it is let go, and may fail."""

    def __init__(self, failures: int = 0) -> None:
        self.calls = self.at_work = self.most = 0
        self.failures = failures
        self.let_go = threading.Event()
        self._lock = threading.Lock()

    def __call__(self) -> Result:
        with self._lock:
            self.calls += 1
            number = self.calls
            self.at_work += 1
            self.most = max(self.most, self.at_work)
        assert self.let_go.wait(30)
        with self._lock:
            self.at_work -= 1
        if number <= self.failures:
            raise OSError(f"failure {number}")
        return Result()


def test_what_many_ask_for_at_once_is_computed_once() -> None:
    cache, work = SingleFlightCache[Result]("once", 10, WorkerPool(2)), Work()
    with ThreadPoolExecutor(16) as threads:
        asked = [threads.submit(cache.get, "key", work) for _ in range(16)]
        until(lambda: work.calls)
        work.let_go.set()
        results = [one.result(30) for one in asked]
    assert work.calls == 1
    assert all(result is results[0] for result in results)
    assert cache.get("key", work) is results[0]
    assert cache_usage()["once"] == (1, 1)


def test_who_does_not_have_to_wait_is_not_told_to() -> None:
    places: list[int] = []
    SingleFlightCache[Result]("test", 10, WorkerPool(1)).get("key", Result, places.append)
    assert not places


def test_who_waits_does_not_hold_up_other_pages(monkeypatch: pytest.MonkeyPatch) -> None:
    lock, work = FairLock(60), Work()
    monkeypatch.setattr(cache_module, "page_lock", lambda: lock)

    def page() -> None:
        with lock.held():
            work.let_go.set()

    with lock.held():
        other = threading.Thread(target=page)
        other.start()
        until(lambda: lock.waiting() == 1)
        assert SingleFlightCache[Result]("test", 10, WorkerPool(1)).get("key", work) == Result()
    other.join(30)


def test_a_failure_is_the_first_ones_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Who has only waited has it tried once more; and nothing of a failure is kept."""
    monkeypatch.setattr(cache_module, "POLL", 0.01)
    cache, work = SingleFlightCache[Result]("test", 10, WorkerPool(2)), Work(failures=1)
    positions: list[list[int]] = [[] for _ in range(8)]
    with ThreadPoolExecutor(8) as threads:
        asked = [threads.submit(cache.get, "key", work, own.append) for own in positions]
        until(lambda: all(positions))  # all wait
        work.let_go.set()
        failures = [one.exception(30) for one in asked]
    assert [str(error) for error in failures if error] == ["failure 1"]
    assert work.calls == 2

    always = Work(failures=100)
    always.let_go.set()
    with ThreadPoolExecutor(8) as threads:
        errors = [one.exception(30) for one in [threads.submit(cache.get, "other", always) for _ in range(8)]]
    assert all(isinstance(error, OSError) for error in errors)
    assert len({id(error) for error in errors}) == 8  # a traceback belongs to one thread


def test_no_more_run_at_once_than_there_are_threads_and_the_others_know_their_place_in_the_queue(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(cache_module, "POLL", 0.01)
    pool, work = WorkerPool(2), Work()
    cache = SingleFlightCache[Result]("test", 100, pool)
    positions: dict[int, list[int]] = {number: [] for number in range(6)}
    with ThreadPoolExecutor(6) as threads:
        asked = []
        for number in range(6):
            asked.append(threads.submit(cache.get, number, work, positions[number].append))
            until(lambda expected=number + 1: sum(pool.counts()[:2]) == expected)
        until(lambda: pool.counts() == (2, 4, 0))
        until(lambda: [places[-1:] for places in positions.values()] == [[0], [0], [2], [3], [4], [5]])
        work.let_go.set()
        for one in asked:
            one.result(30)
    assert work.most == 2
    until(lambda: pool.counts() == (0, 0, 6))


def test_the_queue_is_first_in_first_out_however_threads_interleave() -> None:
    pause = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        for _ in range(60):
            assert _served(WorkerPool(1), 12) == list(range(1, 13))
    finally:
        sys.setswitchinterval(pause)


def _served(pool: WorkerPool, count: int) -> list[int]:
    """Return the tickets of `count` tasks that threads begin at the same time, in the order of their computing."""
    served: list[int] = []
    tasks = [Task[None]() for _ in range(count)]
    with ThreadPoolExecutor(count) as threads:
        for task in tasks:
            threads.submit(pool.submit, task, lambda task=task: served.append(task.ticket))
    for task in tasks:
        task.result.result(30)
    return served


def test_a_computation_may_ask_for_another_in_a_pool_of_one_thread() -> None:
    pool = WorkerPool(1)
    inner, outer = SingleFlightCache[Result]("inner", 10, pool), SingleFlightCache[Result]("outer", 10, pool)
    assert outer.get(1, lambda: inner.get(1, lambda: Result(3))) == Result(3)


def test_a_computation_runs_a_queued_one_that_it_needs_and_both_count_once() -> None:
    pool, began, queued = WorkerPool(1), threading.Event(), threading.Event()
    inner, outer = SingleFlightCache[Result]("inner", 10, pool), SingleFlightCache[Result]("outer", 10, pool)

    def compute() -> Result:
        began.set()
        assert queued.wait(30)
        return inner.get("key", Result)

    with ThreadPoolExecutor(1) as threads:
        asked = threads.submit(outer.get, "key", compute)
        assert began.wait(30)
        waiting = inner.request("key", Result)
        assert pool.counts() == (1, 1, 0) and inner.ahead_of("key") == 1
        queued.set()
        assert asked.result(30) is waiting.result(30)
    until(lambda: pool.counts()[0] == 0)
    assert pool.run(pool.counts) == (1, 0, 2)  # the task that would have run the inner one ran nothing


def test_a_computation_runs_one_that_it_needs_and_that_another_thread_queues_later() -> None:
    """The only thread would wait forever: for what stands in the queue behind it."""
    pool = WorkerPool(1)
    cache, needs, begun, needed = SingleFlightCache[Result]("late", 10, pool), Work(), threading.Event(), Task[Result]()
    needs.let_go.set()
    submit = pool.submit

    def submit_late(task: Task[Any], work: Any) -> None:
        begun.set()
        until(lambda: pool.counts()[0])  # the pool's thread is at work, and needs this task
        time.sleep(0.1)
        submit(task, work)

    with ThreadPoolExecutor(2) as threads:
        pool.submit = submit_late  # type: ignore[method-assign]
        page = threads.submit(cache.get, "key", needs)
        assert begun.wait(30)
        pool.submit = submit  # type: ignore[method-assign]
        submit(needed, lambda: cache.get("key", needs))
        assert needed.result.result(10) == page.result(10) == Result()
    assert needs.calls == 1


def test_what_is_kept_is_bounded_and_too_large_a_result_is_handed_out_all_the_same() -> None:
    cache = SingleFlightCache[Result]("test", 10, WorkerPool(1))
    for number in range(9):
        cache.get(number, lambda: Result(3))
    assert cache.usage() == (3, 9)
    assert cache.get("large", lambda: Result(11)) == Result(11)
    assert cache.usage() == (3, 9)
    cache.get("as large as the cache", lambda: Result(10))
    assert cache.usage() == (1, 10)


def test_a_pool_runs_work_and_gives_its_result_or_its_failure_also_from_within() -> None:
    pool = WorkerPool(1)
    assert pool.run(lambda: pool.run(lambda: 3)) == 3
    with pytest.raises(ZeroDivisionError):
        pool.run(lambda: 1 / 0)


def test_a_result_that_just_fits_is_kept_and_a_failure_is_not() -> None:
    cache, seen = SingleFlightCache[Result]("just", 10, WorkerPool(1)), []

    def compute(key: str, size: int, *, fails: bool = False) -> Result:
        seen.append(key)
        if fails:
            raise OSError(key)
        return Result(size)

    for key, size in (("ten", 10), ("ten", 10), ("eleven", 11), ("eleven", 11), ("ten", 10)):
        assert cache.get(key, lambda key=key, size=size: compute(key, size)).nbytes == size
    assert seen == ["ten", "eleven", "eleven"]
    assert cache.usage() == (1, 10)
    for _ in range(2):
        with pytest.raises(OSError, match="broken"):
            cache.get("broken", lambda: compute("broken", 0, fails=True))
    assert seen[3:] == ["broken", "broken"]
    assert cache.get("broken", lambda: compute("broken", 3)).nbytes == 3, "it is computed again, and takes a place"
    assert cache.usage() == (1, 3)
    # Several caches of a name are counted together.
    others = [SingleFlightCache[Result]("just", 10, WorkerPool(1)) for _ in range(2)]
    for size, other in enumerate(others, 4):
        other.get("key", lambda size=size: Result(size))
    assert cache_usage()["just"] == (3, 3 + 4 + 5)


def test_who_waits_is_told_how_many_are_ahead() -> None:
    pool, work = WorkerPool(2), Work()
    tasks = [Task[Result]() for _ in range(5)]
    for task in tasks:
        pool.submit(task, work)
    until(lambda: pool.counts() == (2, 3, 0))
    assert [pool.ahead_of(task) for task in tasks] == [0, 0, 2, 3, 4]
    assert pool.ahead_of(Task()) == 0
    work.let_go.set()
    for task in tasks:
        task.result.result(30)
    until(lambda: pool.counts() == (0, 0, 5))
    assert [pool.ahead_of(task) for task in tasks] == [0] * 5
    assert [place_in_queue(ahead) for ahead in (0, 1, 2)] == [
        "Your text is being read …", "1 text is before yours …", "2 texts are before yours …"
    ]  # fmt: skip
