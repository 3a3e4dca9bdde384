"""Long work goes through the pool in slices: other work comes between them, and nothing goes on for nobody."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest

from attnviz.runtime.pool import Task, WorkerPool
from attnviz.runtime.slices import Slices

SECONDS = 20


class GoneError(Exception):
    """Stands in for what Streamlit raises in a page whose session has gone."""


def steps(count: int, reached: list[int]) -> Iterator[int | str]:
    for number in range(1, count + 1):
        reached.append(number)
        yield number
    yield "all"


def test_the_result_is_that_of_the_last_step_and_each_one_is_reported() -> None:
    reached: list[int] = []
    seen: list[int] = []
    pool = WorkerPool(1)
    slices = Slices(pool, steps(3, reached))
    assert slices.done == 0
    assert slices.result(lambda done, _: seen.append(done)) == "all"
    assert list(dict.fromkeys(done for done in seen if done)) == [1, 2, 3]  # 0 while the first one is waited for
    assert slices.result(lambda *_: None) == "all"
    assert reached == [1, 2, 3]


def test_other_work_is_done_between_two_slices() -> None:
    pool, reached = WorkerPool(1), list[int]()
    other: Task[int] = Task()

    def submit_once(done: int, _: int) -> None:
        if done == 1 and not other.ticket:
            pool.submit(other, lambda: len(reached))

    assert Slices(pool, steps(3, reached)).result(submit_once) == "all"
    assert other.result.result(SECONDS) == 1


def test_who_leaves_ends_it_and_who_comes_back_goes_on() -> None:
    pool, reached = WorkerPool(1), list[int]()
    slices = Slices(pool, steps(4, reached))

    def leave(done: int, _: int) -> None:
        if done == 2:
            raise GoneError

    with pytest.raises(GoneError):
        slices.result(leave)
    pool.run(lambda: None)  # whatever was queued before is done
    assert reached == [1, 2]
    assert slices.result(lambda *_: None) == "all"
    assert reached == [1, 2, 3, 4]


def test_who_leaves_within_a_slice_finds_it_on_return() -> None:
    pool, goes_on = WorkerPool(1), threading.Event()

    def slow() -> Iterator[int | str]:
        assert goes_on.wait(SECONDS)
        yield 1
        yield "all"

    def leave(*_: int) -> None:
        raise GoneError

    slices = Slices(pool, slow())
    with pytest.raises(GoneError):
        slices.result(leave)
    goes_on.set()
    assert slices.result(lambda *_: None) == "all"


def test_what_fails_is_raised_each_time() -> None:
    def broken() -> Iterator[int | str]:
        yield 1
        raise MemoryError("too little of it")

    slices = Slices(WorkerPool(1), broken())
    for _ in range(2):
        with pytest.raises(MemoryError):
            slices.result(lambda *_: None)
