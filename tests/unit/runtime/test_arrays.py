"""Arrays under digests: made when they are requested, once for all who ask, and again when they were evicted."""

from __future__ import annotations

import gzip
import re
import threading
from collections.abc import Callable

import numpy as np
import pytest
from safetensors.numpy import save

from attnviz.runtime.arrays import ArrayStore, NotOfferedError
from attnviz.runtime.cache import SingleFlightCache, cache_usage
from attnviz.runtime.pool import Task, WorkerPool
from tests.unit.runtime.test_work import Result
from tests.waiting import until


class Making:
    """Something to offer: counts how often it is made."""

    def __init__(self, made: bytes = b"made") -> None:
        self.made = made
        self.calls = 0

    def __call__(self) -> bytes:
        self.calls += 1
        return self.made


def store(**bounds: int) -> ArrayStore:
    return ArrayStore(WorkerPool(2), **bounds)


def read(of: ArrayStore, digest: str) -> bytes:
    return of.request(digest).result(30).decompressed()


def test_nothing_is_made_before_it_is_requested_and_then_once() -> None:
    arrays, make = store(), Making()
    digest = arrays.offer(("minilm", "text", 3), make)
    assert make.calls == 0
    assert [read(arrays, digest) for _ in range(3)] == [b"made"] * 3
    assert make.calls == 1


def test_equal_keys_have_equal_digests_that_nobody_can_guess() -> None:
    arrays, make = store(), Making()
    keys = [("a", 1), ("a", "1"), ("a1",), ("a", 1, None), ("a", ("1",)), ("\ud800",), ("<b>/../\0",)]
    digests = [arrays.offer(key, make) for key in keys]
    assert digests == [arrays.offer(key, make) for key in keys]
    assert len(set(digests)) == len(keys)
    assert all(re.fullmatch(r"[\w-]{20}", digest, re.ASCII) for digest in digests)
    assert not set(digests) & {store().offer(key, make) for key in keys}, "another process has another secret"


def test_a_part_is_made_when_it_is_requested_and_without_the_whole() -> None:
    def part(name: str) -> bytes:
        if name not in ("W-5", ""):
            raise NotOfferedError
        return f"part {name}".encode()

    arrays, whole = store(), Making()
    digest = arrays.offer(("key",), whole, part=part, compress=True)
    assert arrays.digest(("key",)) == digest
    assert [read(arrays, f"{digest}~{name}") for name in ("W-5", "")] == [b"part W-5", b"part "]
    assert whole.calls == 0
    for name in ("W-6", "W-5~", "../../etc/passwd", "x" * 100_000):
        with pytest.raises(NotOfferedError):
            read(arrays, f"{digest}~{name}")
    assert read(arrays, f"{digest}~W-5") == b"part W-5"
    assert (read(arrays, digest), whole.calls) == (b"made", 1)


def test_what_has_no_parts_gives_none() -> None:
    arrays = store()
    digest = arrays.offer(("key",), Making())
    for address in (f"{digest}~", f"{digest}~name"):
        with pytest.raises(NotOfferedError):
            arrays.request(address)


@pytest.mark.parametrize("digest", ["", "x" * 20, "x" * 100_000, "../../etc/passwd", "\0", "🙂" * 20, "\ud800"])
def test_what_nobody_offered_is_not_there(digest: str) -> None:
    arrays = store()
    arrays.offer(("key",), Making())
    with pytest.raises(NotOfferedError):
        arrays.request(digest)


def test_offers_are_bounded_and_those_that_are_used_stay() -> None:
    arrays, make = store(offers=3), Making()
    first, second, third = (arrays.offer((number,), make) for number in range(3))
    read(arrays, first)
    arrays.offer((1,), make)  # offered again
    arrays.offer((3,), make)
    assert arrays.offers() == 3
    with pytest.raises(NotOfferedError):
        arrays.request(third)
    assert read(arrays, first) == read(arrays, second) == b"made"
    assert arrays.offer((2,), make) == third
    assert read(arrays, third) == b"made"


def test_bytes_are_bounded_and_made_again() -> None:
    arrays, makes = store(capacity=10), [Making(b"4444"), Making(b"5555"), Making(b"6666")]
    digests = [arrays.offer((number,), make) for number, make in enumerate(makes)]
    assert [read(arrays, digest) for digest in digests] == [b"4444", b"5555", b"6666"]
    entries, size = cache_usage()["arrays"]
    assert entries >= 2
    assert size >= 8
    assert read(arrays, digests[2]) == b"6666"
    assert read(arrays, digests[0]) == b"4444"
    assert [make.calls for make in makes] == [2, 1, 1]


def test_who_asks_at_the_same_time_shares_one_computation() -> None:
    arrays, let_go, calls = store(), threading.Event(), []

    def make() -> bytes:
        calls.append(threading.current_thread().name)
        assert let_go.wait(30)
        return b"made"

    digest = arrays.offer(("key",), make)
    requests = [arrays.request(digest) for _ in range(100)]
    until(lambda: calls)
    assert not any(request.done() for request in requests), "nobody has had to wait"
    let_go.set()
    assert {request.result(30).data for request in requests} == {b"made"}
    assert len(calls) == 1
    assert calls[0].startswith("compute"), "it ran in the worker pool"


def test_a_failure_is_not_kept() -> None:
    arrays, failures = store(), [OSError("no"), NotOfferedError()]

    def make() -> bytes:
        if failures:
            raise failures.pop(0)
        return b"made"

    digest = arrays.offer(("key",), make)
    for kind in (OSError, NotOfferedError):
        with pytest.raises(kind):
            read(arrays, digest)
    assert read(arrays, digest) == b"made"


def test_what_is_worth_it_is_compressed_once() -> None:
    arrays, make = store(), Making(b"text " * 1000)
    body = arrays.request(arrays.offer(("key",), make, compress=True)).result(30)
    assert body.compressed
    assert body.nbytes == len(body.data) < 100
    assert gzip.decompress(body.data) == body.decompressed() == make.made
    plain = arrays.request(arrays.offer(("plain",), make)).result(30)
    assert (plain.compressed, plain.data) == (False, make.made)


def test_a_long_header_is_compressed_alone() -> None:
    numbers = {"weights": np.random.default_rng(0).standard_normal(4000, np.float32)}
    arrays = store()
    for words, is_long in (("a notice " * 2000, True), ("short", False)):
        file = save(numbers, {"texts": words})
        body = arrays.request(arrays.offer((words,), Making(file))).result(30)
        assert body.compressed == is_long
        assert 16_000 < body.nbytes < 16_500
        assert body.decompressed() == file
        if is_long:
            assert gzip.decompress(body.data) == file


def test_what_was_made_stays_when_it_is_offered_again() -> None:
    arrays = store()
    digest = arrays.offer(("key",), Making(b"old"))
    assert read(arrays, digest) == b"old"
    assert arrays.offer(("key",), Making(b"new")) == digest
    assert read(arrays, digest) == b"old"


@pytest.mark.parametrize("threads", [1, 2])
def test_a_worker_that_needs_a_queued_result_computes_it_itself(threads: int) -> None:
    """All workers wait for results that are queued behind them: without this they would wait for ever."""
    pool, begun = WorkerPool(threads), threading.Barrier(threads + 1)
    traces = SingleFlightCache[Result]("traces of a test", 100, pool)
    arrays = ArrayStore(pool)

    def make(number: int) -> Callable[[], bytes]:
        def made() -> bytes:
            begun.wait(30)
            begun.wait(30)
            return bytes(traces.get(number, Result).nbytes)

        return made

    requests = [arrays.request(arrays.offer((number,), make(number))) for number in range(threads)]
    begun.wait(30)
    queued = [traces.request(number, Result) for number in range(threads)]
    begun.wait(30)
    assert [request.result(30).data for request in requests] == [b"\0"] * threads
    assert [one.result(30) for one in queued] == [Result()] * threads
    until(lambda: pool.counts() == (0, 0, 2 * threads))


def test_only_a_worker_runs_a_queued_task_itself() -> None:
    pool, let_go = WorkerPool(1), threading.Event()
    first, second = Task[bool](), Task[str]()
    pool.submit(first, lambda: let_go.wait(30))
    pool.submit(second, lambda: threading.current_thread().name)
    pool.run_now(second)
    assert not second.result.done()
    let_go.set()
    assert second.result.result(30).startswith("compute")
