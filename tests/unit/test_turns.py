"""Pages take turns: one at a time, in order, and nobody waits long for one that takes long."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

import pytest

from attnviz.serving.turns import Turns

AGES = 30.0
"""Seconds: a lease that no test waits for"""


def together(*works: Callable[[], None], apart: float = 0.05) -> None:
    """Start each work on its own thread, one a moment after the other, and wait for all."""
    threads = [threading.Thread(target=work, daemon=True) for work in works]
    for thread in threads:
        thread.start()
        time.sleep(apart)
    for thread in threads:
        thread.join(10)
    assert not any(thread.is_alive() for thread in threads)


def test_one_goes_at_a_time_in_the_order_of_asking() -> None:
    turns, said = Turns(AGES), []

    def page(name: str) -> Callable[[], None]:
        def work() -> None:
            with turns.turn():
                said.append(f"{name} begins")
                time.sleep(0.2)
                said.append(f"{name} ends")

        return work

    together(page("a"), page("b"), page("c"))
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
    turns, said, came = Turns(AGES), [], threading.Event()

    def reader() -> None:
        with turns.turn():
            with turns.aside():
                came.wait(10)
            said.append("reader")

    def first() -> None:
        with turns.turn():
            said.append("first")
            came.set()
            time.sleep(0.2)

    def second() -> None:
        with turns.turn():
            said.append("second")

    together(reader, first, second)
    assert said == ["first", "reader", "second"]


def test_a_turn_that_takes_long_is_overtaken_and_ends_in_peace() -> None:
    turns, said, gone = Turns(0.1), [], threading.Event()

    def slow() -> None:
        with turns.turn():
            gone.wait(10)
        said.append("slow")

    def quick() -> None:
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
            passed.wait(10)
            said.append("holder")

    def passer_by() -> None:
        with turns.aside():
            said.append("passer-by")
        passed.set()

    together(holder, passer_by)
    assert said == ["passer-by", "holder"]
