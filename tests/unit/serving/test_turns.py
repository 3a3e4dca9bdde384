"""Pages take turns: one at a time, in order, and nobody waits long for one that takes long."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

import pytest

from attnviz.serving.work.lock import Turns

AGES = 30.0
"""Seconds: a lease that no test waits for"""


def until(true: Callable[[], bool]) -> None:
    """Wait until it is true, for as long as a busy machine may take."""
    since = time.monotonic()
    while not true():
        assert time.monotonic() - since < AGES, "it never came true"
        time.sleep(0.001)


def asked(turns: Turns) -> int:
    """Return how many threads have a turn or wait for one."""
    with turns._lock:
        return len(turns._waiting) + (turns._going is not None)


def together(*works: Callable[[], None]) -> None:
    """Start each work on its own thread, and wait for all."""
    threads = [threading.Thread(target=work, daemon=True) for work in works]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(AGES)
    assert not any(thread.is_alive() for thread in threads)


def test_one_goes_at_a_time_in_the_order_of_asking() -> None:
    turns, said = Turns(AGES), []

    def page(name: str, before: int) -> Callable[[], None]:
        def work() -> None:
            until(lambda: asked(turns) == before)
            with turns.turn():
                said.append(f"{name} begins")
                until(lambda: name != "a" or asked(turns) == 3)
                time.sleep(0.02)
                said.append(f"{name} ends")

        return work

    together(page("a", 0), page("b", 1), page("c", 2))
    assert said == [f"{name} {what}" for name in "abc" for what in ("begins", "ends")]


def test_a_turn_within_a_turn_is_the_same_one() -> None:
    turns = Turns(AGES)
    with turns.turn(), turns.turn():
        pass
    ended = threading.Event()

    def other() -> None:
        with turns.turn():
            ended.set()

    together(other)
    assert ended.is_set()


def test_who_waits_for_something_else_lets_others_go_and_is_next_then() -> None:
    turns, said, aside, came = Turns(AGES), [], threading.Event(), threading.Event()

    def reader() -> None:
        with turns.turn():
            with turns.aside():
                aside.set()
                came.wait(AGES)
            said.append("reader")

    def first() -> None:
        assert aside.wait(AGES)
        with turns.turn():
            said.append("first")
            until(lambda: asked(turns) == 2)  # the second has asked before the reader is back
            came.set()
            until(lambda: asked(turns) == 3)

    def second() -> None:
        until(lambda: said == ["first"])
        with turns.turn():
            said.append("second")

    together(reader, first, second)
    assert said == ["first", "reader", "second"]


def test_a_turn_that_takes_long_is_overtaken_and_ends_in_peace() -> None:
    turns, said, gone = Turns(0.1), [], threading.Event()

    def slow() -> None:
        with turns.turn():
            gone.wait(AGES)
        said.append("slow")

    def quick() -> None:
        until(lambda: asked(turns) == 1)
        with turns.turn():
            said.append("quick")
        gone.set()

    together(slow, quick)
    assert said == ["quick", "slow"]
    with turns.turn():  # what was overtaken has left nothing behind
        pass


def test_a_page_that_breaks_ends_its_turn() -> None:
    turns = Turns(AGES)
    with pytest.raises(RuntimeError, match="broken"), turns.turn():
        raise RuntimeError("broken")
    together(lambda: turns.turn().__enter__())


def test_aside_without_a_turn_waits_for_nobody_and_takes_no_turn() -> None:
    turns, said, passed = Turns(AGES), [], threading.Event()

    def holder() -> None:
        with turns.turn():
            passed.wait(AGES)
            said.append("holder")

    def passer_by() -> None:
        until(lambda: asked(turns) == 1)
        with turns.aside():
            said.append("passer-by")
        passed.set()

    together(holder, passer_by)
    assert said == ["passer-by", "holder"]
