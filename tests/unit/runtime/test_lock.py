"""The lock under which pages are built: one holder at a time, in order, and a slow one delays nobody for long."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

import pytest

from attnviz.runtime.lock import FairLock
from tests.waiting import until

LONG = 30.0
"""Seconds: a lease that never ends during a test"""


def run_together(*works: Callable[[], None]) -> None:
    """Run each function on its own thread, and wait for all."""
    threads = [threading.Thread(target=work, daemon=True) for work in works]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(LONG)
    assert not any(thread.is_alive() for thread in threads)


def test_one_thread_holds_it_at_a_time_in_the_order_of_asking() -> None:
    lock, log = FairLock(LONG), []

    def page(name: str, may_ask: Callable[[], bool], may_end: Callable[[], bool]) -> Callable[[], None]:
        def work() -> None:
            until(may_ask)
            with lock.held():
                log.append(f"{name} begins")
                until(may_end)
                time.sleep(0.02)
                log.append(f"{name} ends")

        return work

    run_together(
        page("a", lambda: True, lambda: lock.waiting() == 2),
        page("b", lambda: "a begins" in log, lambda: True),
        page("c", lambda: lock.waiting() == 1, lambda: True),
    )
    assert log == [f"{name} {event}" for name in "abc" for event in ("begins", "ends")]


def test_a_thread_may_take_it_twice_and_the_last_exit_frees_it() -> None:
    lock, log = FairLock(LONG), []

    def other() -> None:
        with lock.held():
            log.append("other")

    thread = threading.Thread(target=other, daemon=True)
    with lock.held():
        with lock.held():
            thread.start()
            until(lambda: lock.waiting() == 1)
        log.append("inner exit")
        time.sleep(0.02)
        log.append("outer exit")
    thread.join(LONG)
    assert log == ["inner exit", "outer exit", "other"]


def test_a_thread_that_waits_lets_others_in_and_is_first_in_the_queue_afterwards() -> None:
    lock, log, released, resume = FairLock(LONG), [], threading.Event(), threading.Event()

    def reader() -> None:
        with lock.held():
            with lock.released():
                released.set()
                assert resume.wait(LONG)
            log.append("reader")

    def first() -> None:
        assert released.wait(LONG)
        with lock.held():
            log.append("first")
            until(lambda: lock.waiting() == 1)  # the second asks before the reader comes back
            resume.set()
            until(lambda: lock.waiting() == 2)

    def second() -> None:
        until(lambda: log == ["first"])
        with lock.held():
            log.append("second")

    run_together(reader, first, second)
    assert log == ["first", "reader", "second"]


def test_after_its_lease_a_slow_holder_is_overtaken_and_leaves_nothing_behind() -> None:
    lock, log, overtaken = FairLock(0.1), [], threading.Event()

    def slow() -> None:
        with lock.held():
            log.append("slow begins")
            assert overtaken.wait(LONG)
        log.append("slow ends")

    def quick() -> None:
        until(lambda: bool(log))
        with lock.held():
            log.append("quick")
        overtaken.set()

    run_together(slow, quick)
    assert log == ["slow begins", "quick", "slow ends"]
    run_together(lambda: lock.held().__enter__())


def test_an_overtaken_holder_that_ends_does_not_end_the_turn_of_another() -> None:
    lock, log, overtaken, ended = FairLock(0.5), [], threading.Event(), threading.Event()

    def slow() -> None:
        with lock.held():
            log.append("slow")
            assert overtaken.wait(LONG)
            until(lambda: lock.waiting() == 1)  # the third
        ended.set()

    def second() -> None:
        until(lambda: bool(log))
        with lock.held():
            overtaken.set()
            assert ended.wait(LONG)
            time.sleep(0.05)
            log.append("second ends")

    def third() -> None:
        assert overtaken.wait(LONG)
        with lock.held():
            log.append("third")

    run_together(slow, second, third)
    assert log == ["slow", "second ends", "third"]


def test_an_exception_frees_it() -> None:
    lock = FairLock(LONG)
    with pytest.raises(RuntimeError, match="broken"), lock.held():
        raise RuntimeError("broken")
    run_together(lambda: lock.held().__enter__())


def test_released_by_a_thread_that_does_not_hold_it_neither_waits_nor_takes_it() -> None:
    lock, log, passed = FairLock(LONG), [], threading.Event()

    def holder() -> None:
        with lock.held():
            log.append("holder begins")
            assert passed.wait(LONG)
            log.append("holder ends")

    def passer_by() -> None:
        until(lambda: bool(log))
        with lock.released():
            log.append("passer-by")
        passed.set()

    run_together(holder, passer_by)
    assert log == ["holder begins", "passer-by", "holder ends"]
