"""Long work runs in slices, once for all who wait for it, in turn with other work, and not for those who have left."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial

import pytest

from attnviz.runtime import long_work as module
from attnviz.runtime.cache import SingleFlightCache, cache_usage
from attnviz.runtime.lock import FairLock
from attnviz.runtime.long_work import Job, LongWork, LongWorkError, Work
from attnviz.runtime.pool import Task, WorkerPool
from tests.waiting import until

SECONDS = 20
FAILED = "There is too little memory."


@dataclass(frozen=True)
class Result:
    name: str
    nbytes: int = 1


class Clock:
    """Stands in for the module `time`."""

    now = 0.0

    def monotonic(self) -> float:
        return self.now


class GoneError(BaseException):
    """Stands in for what Streamlit raises in a page whose session has gone."""


class Steps:
    """Work of some steps; each waits until the test allows it."""

    def __init__(self) -> None:
        self.allowed = threading.Semaphore(0)
        self.begun: list[str] = []
        self.done: list[str] = []
        self.error: BaseException | None = None
        self.cache: SingleFlightCache[Result] = SingleFlightCache("steps", 100, WorkerPool(1))

    def work(self, name: str, count: int = 3, *, nbytes: int = 0, size: int = 1) -> Work[Result]:
        def begin() -> Iterator[int | Result]:
            self.begun.append(name)
            for number in range(1, count + 1):
                assert self.allowed.acquire(timeout=SECONDS)
                if self.error is not None:
                    raise self.error
                self.done.append(name)
                yield number
            yield Result(name, size)

        return Work(self.cache, name, begin, FAILED, nbytes)

    def allow(self, count: int = 1) -> None:
        for _ in range(count):
            self.allowed.release()


@pytest.fixture
def steps(monkeypatch: pytest.MonkeyPatch) -> Steps:
    monkeypatch.setattr(module, "SLICE", 0.0)
    monkeypatch.setattr(module, "POLL", 0.01)
    monkeypatch.setattr(module, "limit_threads", lambda: None)
    return Steps()


@pytest.fixture
def long_work() -> LongWork:
    return LongWork(WorkerPool(1), lease=SECONDS)


@pytest.fixture
def clock(steps: Steps, monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(module, "SLICE", -1.0)  # a slice is one step, though no time passes
    monkeypatch.setattr(module, "time", clock)
    return clock


def never(_: Job[Result]) -> None:
    pytest.fail("nothing is waited for")


def note(counts: list[int], job: Job[Result]) -> None:
    counts.append(job.done)


def job_of(answer: Result | Job[Result]) -> Job[Result]:
    assert isinstance(answer, Job)
    return answer


def waits(long_work: LongWork, visitor: str, work: Work[Result]) -> bool:
    return long_work.is_waiting(visitor, work.cache, work.key)


def test_it_is_done_once_for_all_who_ask(steps: Steps, long_work: LongWork) -> None:
    work = steps.work("one")
    job = job_of(long_work.request("a", work))
    assert long_work.request("b", steps.work("one")) is job
    assert waits(long_work, "a", work) and waits(long_work, "b", work) and not waits(long_work, "c", work)
    steps.allow(2)
    until(lambda: job.done == 2)
    assert work.cache.peek("one") is None
    steps.allow()
    result = long_work.request("a", work, timeout=SECONDS)
    assert result == Result("one")
    assert long_work.request("c", work) is result is work.cache.peek("one")
    until(lambda: not waits(long_work, "a", work))
    assert steps.begun == ["one"] and cache_usage()["steps"] == (1, 1)


def test_a_run_that_waits_sees_the_progress_and_shares_the_work(steps: Steps, long_work: LongWork) -> None:
    seen: list[list[int]] = [[], []]
    with ThreadPoolExecutor(2) as threads:
        answers = [
            threads.submit(long_work.get, visitor, steps.work("one"), partial(note, counts))
            for visitor, counts in zip("ab", seen, strict=True)
        ]
        for done in range(3):
            until(lambda done=done: all(counts[-1:] == [done] for counts in seen))
            steps.allow()
        assert answers[0].result(SECONDS) is answers[1].result(SECONDS)
    assert all(set(counts) >= {0, 1, 2} for counts in seen)
    assert steps.begun == ["one"]
    assert long_work.get("c", steps.work("one"), never) == Result("one")


def test_what_nobody_wants_any_more_pauses(steps: Steps, long_work: LongWork) -> None:
    first, second = steps.work("first"), steps.work("second", 1)
    job = job_of(long_work.request("a", first))
    until(lambda: steps.begun == ["first"])
    long_work.request("a", second)  # instead of the first
    assert not waits(long_work, "a", first)
    steps.allow(2)
    assert long_work.request("a", second, timeout=SECONDS) == Result("second")
    assert steps.done == ["first", "second"] and first.cache.peek("first") is None and not job.result.done()


def test_what_another_visitor_wants_goes_on(steps: Steps, long_work: LongWork) -> None:
    first, second = steps.work("first", 2), steps.work("second", 1)
    long_work.request("a", first)
    long_work.request("b", first)
    long_work.request("a", second)
    steps.allow(3)
    assert long_work.request("b", first, timeout=SECONDS) == Result("first")


def test_who_asks_no_more_has_left_and_who_comes_back_goes_on(steps: Steps) -> None:
    long_work, work = LongWork(WorkerPool(1), lease=0.05), steps.work("one")
    job = job_of(long_work.request("a", work))
    until(lambda: bool(steps.begun))
    time.sleep(0.1)
    steps.allow(3)
    until(lambda: job.task is None)
    assert steps.done == ["one"] and job.done == 1
    assert long_work.request("b", work, timeout=SECONDS) == Result("one")
    assert steps.begun == ["one"]


def test_a_page_that_only_asks_whether_it_waits_has_not_left(steps: Steps, clock: Clock) -> None:
    long_work, work = LongWork(WorkerPool(1), lease=10, kept=1000), steps.work("one")
    job = job_of(long_work.request("a", work))
    for clock.now in (9.5, 19):
        assert waits(long_work, "a", work)
    clock.now = 28.5
    steps.allow()
    until(lambda: steps.done == ["one"] and job.task is not None)
    clock.now = 29
    steps.allow()
    until(lambda: job.task is None)  # it pauses: the visitor was last seen ten seconds ago
    assert waits(long_work, "a", work)
    steps.allow()
    assert job.result.result(SECONDS) == Result("one")


def test_a_run_that_ends_pauses_it_and_the_next_run_goes_on(steps: Steps, long_work: LongWork) -> None:
    work = steps.work("one", 4)

    def leave(job: Job[Result]) -> None:
        if job.done == 2:
            raise GoneError

    steps.allow(2)
    with pytest.raises(GoneError):
        long_work.get("a", work, leave)
    assert not waits(long_work, "a", work)
    steps.allow()  # the slice that has begun
    until(lambda: steps.done == ["one"] * 3)
    steps.allow()
    time.sleep(0.05)
    assert steps.done == ["one"] * 3
    assert long_work.get("a", work, lambda _: None) == Result("one")
    assert steps.done == ["one"] * 4 and steps.begun == ["one"]


def test_paused_work_is_dropped_after_a_while(steps: Steps) -> None:
    long_work, work, other = LongWork(WorkerPool(1), lease=0.02, kept=0.05), steps.work("one"), steps.work("other", 1)
    job = job_of(long_work.request("a", work))
    until(lambda: bool(steps.begun))
    time.sleep(0.1)
    steps.allow()
    until(lambda: job.task is None)
    steps.allow()
    assert long_work.request("b", other, timeout=SECONDS) == Result("other")
    assert job_of(long_work.request("a", work)) is not job


def test_what_is_kept_goes_though_nobody_asks_again(steps: Steps) -> None:
    long_work = LongWork(WorkerPool(1), lease=0.02, kept=0.05)
    long_work.request("a", steps.work("one"))
    until(lambda: bool(steps.begun))
    large = steps.work("large", 1, size=101)  # than its cache
    job = job_of(long_work.request("b", large))
    steps.allow(4)
    until(lambda: not long_work._jobs)
    assert not job.result.done() or job.result.result() == Result("large", 101)


def test_large_work_begins_before_later_small_one(steps: Steps) -> None:
    long_work = LongWork(WorkerPool(4), 100, lease=SECONDS)
    first, large, later = steps.work("first", nbytes=60), steps.work("large", nbytes=90), steps.work("later", nbytes=30)
    jobs = [job_of(long_work.request(name, work)) for name, work in (("a", first), ("b", large), ("c", later))]
    until(lambda: steps.begun == ["first"])
    steps.allow(9)
    assert [job.result.result(SECONDS).name for job in jobs] == ["first", "large", "later"]
    assert steps.begun == ["first", "large", "later"]


def test_other_work_is_done_between_two_slices(steps: Steps) -> None:
    pool = WorkerPool(1)
    long_work, work = LongWork(pool, lease=SECONDS), steps.work("one")
    long_work.request("a", work)
    until(lambda: bool(steps.begun))
    task: Task[int] = Task()
    pool.submit(task, lambda: len(steps.done))
    steps.allow()
    assert task.result.result(SECONDS) == 1  # after the slice that ran, before the next ones
    steps.allow(2)
    assert long_work.request("a", work, timeout=SECONDS) == Result("one")


def test_a_slice_ends_with_the_first_step_after_its_time(
    steps: Steps, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "SLICE", 5.0)
    pool, counts = WorkerPool(1), []
    long_work, let_go = LongWork(pool, lease=1000), threading.Event()

    def begin() -> Iterator[int | Result]:
        assert let_go.wait(SECONDS)
        for number in range(1, 8):
            clock.now += 2.5
            yield number
            counts.append(number)
        yield Result("one")

    job = job_of(long_work.request("a", Work(steps.cache, "one", begin, FAILED)))
    others = [Task[int](), Task[int]()]
    for task in others:
        pool.submit(task, lambda: len(counts))
    assert [long_work.ahead_of(job), pool.ahead_of(others[1])] == [0, 2]
    let_go.set()
    assert [task.result.result(SECONDS) for task in others] == [2, 2]  # the third step is done, and not resumed
    assert job.result.result(SECONDS) == Result("one")


def test_its_place_is_behind_what_the_pool_was_asked_for_before(steps: Steps) -> None:
    pool, let_go = WorkerPool(1), threading.Event()
    long_work = LongWork(pool, lease=SECONDS)
    for _ in range(3):
        pool.submit(Task[bool](), lambda: let_go.wait(SECONDS))
    until(lambda: pool.counts() == (1, 2, 0))
    job = job_of(long_work.request("a", steps.work("one")))
    assert long_work.ahead_of(job) == 3
    let_go.set()
    steps.allow(3)
    assert job.result.result(SECONDS) == Result("one")


def test_each_slice_limits_the_threads_of_torch(steps: Steps, monkeypatch: pytest.MonkeyPatch) -> None:
    limited: list[str] = []
    monkeypatch.setattr(module, "limit_threads", lambda: limited.append(threading.current_thread().name))
    steps.allow(2)
    assert LongWork(WorkerPool(1)).request("a", steps.work("one", 2), timeout=SECONDS) == Result("one")
    assert len(limited) == 3 and {name.split("_")[0] for name in limited} == {"compute"}


def test_who_waits_does_not_hold_up_other_pages(steps: Steps, monkeypatch: pytest.MonkeyPatch) -> None:
    lock = FairLock(2 * SECONDS)
    monkeypatch.setattr(module, "page_lock", lambda: lock)

    def page() -> None:
        with lock.held():
            steps.allow(3)

    with lock.held():
        other = threading.Thread(target=page)
        other.start()
        until(lambda: lock.waiting() == 1)
        assert LongWork(WorkerPool(1)).get("a", steps.work("one"), lambda _: None) == Result("one")
    other.join(SECONDS)


def test_a_server_that_stops_does_not_wait_until_what_is_kept_goes() -> None:
    script = """
from attnviz.runtime import cache, long_work, pool
long_work.limit_threads = lambda: None
one_thread = pool.WorkerPool(1)
work = long_work.Work(cache.SingleFlightCache("one", 1, one_thread), "one", lambda: iter(range(3)), "")
long_work.LongWork(one_thread).request("a", work)
"""
    assert subprocess.run([sys.executable, "-c", script], timeout=SECONDS, check=True).returncode == 0


def test_two_take_turns_and_leave_a_thread_to_others(steps: Steps) -> None:
    pool = WorkerPool(2)
    long_work, works = LongWork(pool, lease=SECONDS), [steps.work("first"), steps.work("second")]
    jobs = [job_of(long_work.request(visitor, work)) for visitor, work in zip("ab", works, strict=True)]
    until(lambda: steps.begun == ["first"])
    assert pool.run(lambda: 7) == 7  # though a slice waits
    assert [long_work.ahead_of(job) for job in jobs] == [0, 1]
    steps.allow(6)
    assert [job.result.result(SECONDS).name for job in jobs] == ["first", "second"]
    assert steps.done == ["first", "second"] * 3
    assert [long_work.ahead_of(job) for job in jobs] == [0, 0]


def test_half_of_many_threads_run_it(steps: Steps) -> None:
    pool = WorkerPool(5)
    long_work = LongWork(pool, lease=SECONDS)
    jobs = [job_of(long_work.request(name, steps.work(name))) for name in "abcd"]
    until(lambda: sorted(steps.begun) == ["a", "b"])
    assert pool.counts()[:2] == (2, 0)
    steps.allow(12)
    assert [job.result.result(SECONDS).name for job in jobs] == list("abcd")


def test_a_slice_that_is_stuck_does_not_hold_up_others(steps: Steps, monkeypatch: pytest.MonkeyPatch) -> None:
    long_work, freed = LongWork(WorkerPool(2), lease=SECONDS), threading.Event()

    def stuck() -> Iterator[int | Result]:
        assert freed.wait(SECONDS)
        yield Result("stuck")

    job = job_of(long_work.request("a", Work(steps.cache, "stuck", stuck, FAILED)))
    monkeypatch.setattr(module, "STUCK", 0.0)
    steps.allow(3)
    assert long_work.request("b", steps.work("one"), timeout=SECONDS) == Result("one")
    freed.set()
    assert job.result.result(SECONDS) == Result("stuck")


@pytest.mark.parametrize("error", [MemoryError("too little of it"), RuntimeError("can't allocate memory")])
def test_who_waits_is_told_in_a_sentence_what_went_wrong_and_may_try_again(
    steps: Steps, long_work: LongWork, error: Exception
) -> None:
    work, steps.error = steps.work("one", 1), error
    job = job_of(long_work.request("a", work))
    steps.allow()
    until(job.result.done)
    assert waits(long_work, "a", work)
    for _ in range(2):  # as long as the page shows it
        with pytest.raises(LongWorkError, match=FAILED) as raised:
            long_work.request("a", work)
        assert raised.value.__cause__ is error
        assert not waits(long_work, "a", work)
    assert steps.begun == ["one"]
    steps.error = None
    steps.allow()
    assert long_work.request("b", work, timeout=SECONDS) == Result("one")  # who did not wait is told nothing
    assert long_work.request("a", work) == Result("one")


def test_a_run_that_waited_in_vain_begins_anew_the_next_time(steps: Steps, long_work: LongWork) -> None:
    work, steps.error = steps.work("one", 1), MemoryError()

    def fail_slowly(job: Job[Result]) -> None:
        job.result.add_done_callback(lambda _: time.sleep(0.05))  # after the waiting run is woken
        steps.allow(2)

    with pytest.raises(LongWorkError, match=FAILED):
        long_work.get("a", work, fail_slowly)
    assert not long_work._jobs
    steps.error = None
    assert long_work.get("a", work, lambda _: None) == Result("one")


def test_a_failure_is_told_until_the_lease_ends(steps: Steps) -> None:
    long_work, work = LongWork(WorkerPool(1), lease=0.2), steps.work("one", 1)
    steps.error = MemoryError()
    job_of(long_work.request("a", work))
    steps.allow(2)
    with pytest.raises(LongWorkError, match=FAILED):
        long_work.request("a", work, timeout=SECONDS)
    steps.error = None
    time.sleep(0.3)
    assert long_work.request("a", work, timeout=SECONDS) == Result("one")


@pytest.mark.parametrize("error", [ValueError("no sentence"), RuntimeError("shapes do not match")])
def test_another_error_is_raised_as_it_is(steps: Steps, long_work: LongWork, error: Exception) -> None:
    steps.error = error
    steps.allow()
    with pytest.raises(type(error), match=str(error)):
        long_work.get("a", steps.work("one"), lambda _: None)


def test_results_are_kept_within_bounds_and_a_larger_one_is_handed_out_all_the_same(
    steps: Steps, long_work: LongWork
) -> None:
    steps.allow(7)
    for name in "abcde":
        assert long_work.request("v", steps.work(name, 1, size=40), timeout=SECONDS) == Result(name, 40)
    assert [steps.cache.peek(name) is not None for name in "abcde"] == [False, False, False, True, True]
    large = steps.work("large", 1, size=101)
    job = job_of(long_work.request("v", large))
    assert job.result.result(SECONDS) == Result("large", 101)
    until(lambda: long_work.request("v", large) == Result("large", 101))
    assert steps.cache.peek("large") is None and steps.begun.count("large") == 1
    assert long_work.get("v", large, never).nbytes == 101


def test_more_begins_only_if_the_memory_suffices_and_paused_work_makes_room(steps: Steps) -> None:
    long_work = LongWork(WorkerPool(2), 100, lease=SECONDS)
    large, medium, small = steps.work("large", nbytes=90), steps.work("medium", nbytes=60), steps.work("small", 1)
    jobs = [job_of(long_work.request(visitor, work)) for visitor, work in (("a", large), ("b", medium), ("c", small))]
    steps.allow(3)
    until(lambda: jobs[2].result.done() and steps.done.count("large") == 2)
    assert steps.begun == ["large", "small"]
    assert long_work.ahead_of(jobs[1]) == 1
    long_work.request("a", small)  # leaves the large one
    steps.allow(4)
    assert jobs[1].result.result(SECONDS) == Result("medium")
    assert job_of(long_work.request("a", large)) is not jobs[0] and not jobs[0].result.done()
    larger = steps.work("larger", nbytes=150)  # than all that there is: it runs alone
    job = job_of(long_work.request("d", larger))
    assert long_work.ahead_of(job) == 1
    steps.allow(6)
    assert long_work.request("a", large, timeout=SECONDS) == Result("large")
    assert job.result.result(SECONDS) == Result("larger")
    assert steps.done[-3:] == ["larger"] * 3


@pytest.mark.parametrize(("nbytes", "begun"), [(60, ["first", "second"]), (61, ["first"])])
def test_two_begin_at_once_if_both_just_fit(steps: Steps, nbytes: int, begun: list[str]) -> None:
    long_work = LongWork(WorkerPool(4), 100, lease=SECONDS)
    works = [steps.work("first", 1, nbytes=40), steps.work("second", 1, nbytes=nbytes)]
    jobs = [job_of(long_work.request(visitor, work)) for visitor, work in zip("ab", works, strict=True)]
    until(lambda: "first" in steps.begun)  # of two threads, either may come first
    assert [job.has_begun for job in jobs] == [True, len(begun) == 2]
    steps.allow(2)
    assert [job.result.result(SECONDS).name for job in jobs] == ["first", "second"]


def test_of_paused_work_what_was_asked_for_longest_ago_makes_room_and_no_more_than_is_needed(steps: Steps) -> None:
    long_work = LongWork(WorkerPool(1), 100, lease=SECONDS)
    works = [steps.work(name, nbytes=nbytes) for name, nbytes in (("x", 40), ("y", 30), ("z", 70))]
    jobs = []
    for number, work in enumerate(works, 1):
        jobs.append(job_of(long_work.request("a", work)))  # and leaves the one before
        until(lambda number=number: len(steps.begun) == number)
        steps.allow()
    assert job_of(long_work.request("b", works[1])) is jobs[1]
    assert job_of(long_work.request("c", works[0])) is not jobs[0]
    steps.allow(9)


def test_within_a_task_of_the_pool_it_is_done_at_once(steps: Steps) -> None:
    pool = WorkerPool(1)
    long_work = LongWork(pool)
    steps.allow(3)
    assert pool.run(lambda: long_work.get("a", steps.work("one"), never)) == Result("one")
    assert pool.run(lambda: long_work.get("a", steps.work("one"), never)) is steps.cache.peek("one")
    assert steps.begun == ["one"]
