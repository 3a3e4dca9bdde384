"""Long work that sessions share: computed once in slices, while somebody waits for it."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import pytest

from attnviz.runtime import cache as cache_module
from attnviz.runtime.cache import SingleFlightCache
from attnviz.runtime.pool import Task, WorkerPool
from attnviz.runtime.slices import Slices

SECONDS = 20


@dataclass(frozen=True)
class Result:
    text: str
    nbytes: int = 1


class GoneError(Exception):
    """Stands in for what Streamlit raises in a page whose session has gone."""


class Work:
    """Steps that say which of them were taken, each once it is let go."""

    def __init__(self, name: str = "a", count: int = 3, *, fails_at: int = 0) -> None:
        self.name, self.count, self.fails_at = name, count, fails_at
        self.begun: list[str] = []
        self.let_go = threading.Event()
        self.let_go.set()

    def __call__(self) -> Iterator[int | Result]:
        for number in range(1, self.count + 1):
            assert self.let_go.wait(SECONDS)
            self.begun.append(f"{self.name}{number}")
            if number == self.fails_at:
                self.fails_at = 0
                raise MemoryError(self.name)
            yield number
        yield Result(self.name)


@pytest.fixture(autouse=True)
def one_step_a_slice(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cache_module, "SLICE", 0.0)


def ignore(*_: int) -> None:
    pass


def cache(pool: WorkerPool | None = None, capacity: int = 10) -> SingleFlightCache[Result]:
    return SingleFlightCache("long", capacity, pool or WorkerPool(2))


def test_it_is_computed_once_for_all_who_wait_and_kept() -> None:
    results, work = cache(), Work()
    work.let_go.clear()
    arrived = threading.Semaphore(0)
    with ThreadPoolExecutor(8) as threads:
        asked = [threads.submit(results.get_in_slices, "key", work, lambda *_: arrived.release()) for _ in range(8)]
        for _ in asked:
            assert arrived.acquire(timeout=SECONDS)
        work.let_go.set()
        assert len({id(one.result(SECONDS)) for one in asked}) == 1
    assert work.begun == ["a1", "a2", "a3"]
    assert results.get_in_slices("key", work, ignore) is results.peek("key")
    assert work.begun == ["a1", "a2", "a3"]
    assert results.usage() == (1, 1)


def test_it_stops_when_all_have_left_and_the_next_caller_goes_on() -> None:
    pool = WorkerPool(1)
    results, work = cache(pool), Work()

    def leave(done: int, _: int) -> None:
        if done == 2:
            raise GoneError

    with pytest.raises(GoneError):
        results.get_in_slices("key", work, leave)
    pool.run(lambda: None)
    assert work.begun == ["a1", "a2"] and results.peek("key") is None
    assert results.get_in_slices("key", work, ignore) == Result("a")
    assert work.begun == ["a1", "a2", "a3"]


def test_who_stays_gets_it_when_another_leaves() -> None:
    results, work = cache(), Work(count=4)
    work.let_go.clear()
    both = threading.Barrier(2)

    def leave(*_: int) -> None:
        both.wait(SECONDS)
        raise GoneError

    def stay(done: int, _: int) -> None:
        if not done and not work.let_go.is_set():
            both.wait(SECONDS)
            work.let_go.set()

    with ThreadPoolExecutor(2) as threads:
        first, second = (threads.submit(results.get_in_slices, "key", work, one) for one in (leave, stay))
        with pytest.raises(GoneError):
            first.result(SECONDS)
        assert second.result(SECONDS) == Result("a")
    assert work.begun == ["a1", "a2", "a3", "a4"]


def test_a_failure_is_told_and_the_next_call_begins_anew() -> None:
    results, work = cache(), Work(fails_at=2)
    with pytest.raises(MemoryError):
        results.get_in_slices("key", work, ignore)
    assert results.get_in_slices("key", work, ignore) == Result("a")
    assert work.begun == ["a1", "a2", "a1", "a2", "a3"]


def test_a_failure_after_all_have_left_is_told_once() -> None:
    pool = WorkerPool(1)
    results, work = cache(pool), Work(fails_at=1)
    work.let_go.clear()

    def leave(*_: int) -> None:
        raise GoneError

    with pytest.raises(GoneError):
        results.get_in_slices("key", work, leave)
    work.let_go.set()
    pool.run(lambda: None)
    with pytest.raises(MemoryError):
        results.get_in_slices("key", work, ignore)
    assert results.get_in_slices("key", work, ignore) == Result("a")


def test_what_is_left_is_gone_on_with_unless_many_others_have_begun_since() -> None:
    results = cache()
    works = {name: Work(name) for name in "abcdefghi"}
    assert len(works) == cache_module.SUSPENDED + 1

    def leave(done: int, _: int) -> None:
        if done:
            raise GoneError

    for name, work in works.items():
        with pytest.raises(GoneError):
            results.get_in_slices(name, work, leave)
    for name in "ia":
        results.get_in_slices(name, works[name], ignore)
    assert works["i"].begun == ["i1", "i2", "i3"]
    assert works["a"].begun == ["a1", "a1", "a2", "a3"]


def test_a_result_that_does_not_fit_is_returned_and_not_kept() -> None:
    results = cache(capacity=0)
    assert results.get_in_slices("key", Work(), ignore) == Result("a")
    assert results.peek("key") is None


def test_long_works_take_turns_and_leave_the_other_threads_free() -> None:
    pool = WorkerPool(2)
    first, second = Task[int](), Task[int]()
    goes_on, begun = threading.Event(), threading.Event()

    def slow() -> int:
        begun.set()
        assert goes_on.wait(SECONDS)
        return 1

    pool.submit_slice(first, slow)
    pool.submit_slice(second, lambda: 2)
    assert begun.wait(SECONDS)
    assert pool.run(lambda: "other work") == "other work"
    assert not second.result.done()
    assert (pool.ahead_of(first), pool.ahead_of(second)) == (0, 1)
    goes_on.set()
    assert second.result.result(SECONDS) == 2


def test_within_a_task_a_slice_runs_at_once() -> None:
    pool = WorkerPool(1)
    assert pool.run(lambda: Slices(pool, iter([1, 2, "all"])).result(ignore)) == "all"


def test_a_slice_goes_on_until_its_time_is_over() -> None:
    seen: list[int] = []
    work = Slices(WorkerPool(1), iter([1, 2, 3, "all"]), seconds=SECONDS)
    assert work.result(lambda done, _: seen.append(done)) == "all"
    assert set(seen) <= {0}
