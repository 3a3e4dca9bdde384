"""The counters and limits of a server: what is taken, owed, counted and forgotten, to the exact boundary."""

from __future__ import annotations

import pytest
from starlette.datastructures import Headers

from attnviz.runtime import traffic as module
from attnviz.runtime.traffic import (
    ARRAY_TOKEN_BYTES,
    CONNECT_TIME,
    NOTICE_TIME,
    TOKEN_BYTES,
    Buckets,
    Traffic,
    content_length,
)
from attnviz.settings import Settings
from tests.threads import Clock


def test_a_bucket_holds_a_quarter_of_a_minute_and_refills_evenly() -> None:
    clock = Clock()
    buckets = Buckets(120, clock)  # 30 tokens, 2 a second
    assert buckets.take("a", 30) == 0, "the last token counts too"
    assert buckets.take("a", 1) == 0.5
    assert buckets.take("a", 3) == 1.5, "what was refused took nothing"
    clock.now = 2
    assert buckets.take("a", 4) == 0
    clock.now = 1000
    assert buckets.take("a", 31) == 0.5, "it never holds more"
    assert Buckets(60, clock).take("a", 20) == 0  # at least 20 tokens
    assert Buckets(60, clock).take("a", 21) == 1


def test_who_may_owe_is_served_and_waits_until_nothing_is_owed() -> None:
    clock = Clock()
    buckets = Buckets(120, clock)
    assert buckets.take("a", 32, may_owe=True) == 1
    assert buckets.take("a", 4, may_owe=True) == 3
    clock.now = 3
    assert buckets.take("a", 2) == 1
    clock.now = 4
    assert buckets.take("a", 2) == 0


def test_the_address_that_was_seen_last_is_kept_longest(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "ADDRESSES", 2)
    buckets = Buckets(60, Clock())
    for address in ("a", "b", "a"):
        buckets.take(address, 20)
    assert buckets.take("b", 1)
    assert buckets.take("a", 1), "two are in memory"
    buckets.take("c", 1)
    assert buckets.take("a", 1)
    assert not buckets.take("b", 1), "it was dropped, and begins anew"


def test_whoever_has_the_page_takes_a_place_for_ten_seconds() -> None:
    clock = Clock()
    traffic = Traffic(Settings(sessions=2), clock)
    traffic.expect()
    assert traffic.enter()
    assert not traffic.full()
    traffic.expect()
    assert traffic.full()
    clock.now = CONNECT_TIME
    assert traffic.full()
    clock.now += 0.001
    assert not traffic.full()
    assert traffic.enter()
    assert traffic.full()
    assert not traffic.enter()
    assert (traffic.visitors, traffic.refused["full"]) == (2, 1)
    traffic.leave()
    assert traffic.enter()
    unlimited = Traffic(Settings(sessions=0), clock)
    assert all(unlimited.enter() for _ in range(9))
    assert not unlimited.full()


def test_a_message_takes_a_token_and_one_for_each_32_kb_of_the_stricter_bucket() -> None:
    clock = Clock()
    traffic = Traffic(Settings(requests=60, changes=120), clock)  # 20 tokens an address, 30 a visitor
    visitor = traffic.visitor()
    assert traffic.change("a", visitor, 19 * TOKEN_BYTES + TOKEN_BYTES - 1) == 0
    assert traffic.change("a", visitor, 0) == 1, "of the address"
    assert traffic.change("a", visitor, 2 * TOKEN_BYTES) == 4, "what is late is owed"
    assert traffic.change("b", traffic.visitor(), 19 * TOKEN_BYTES) == 0
    assert (traffic.changes, traffic.refused["slowed"]) == (4, 2)
    assert [traffic.slowed(address) for address in ("a", "b", "", None)] == [True, False, False, False]
    many = Traffic(Settings(requests=6000, changes=120), clock)  # an address of many visitors
    visitors = [many.visitor() for _ in range(3)]
    assert [many.change("a", one, 29 * TOKEN_BYTES) for one in visitors] == [0, 0, 0]
    assert many.change("a", visitors[1], 9 * TOKEN_BYTES) == 5, "of this visitor alone"
    assert many.change("a", visitors[1], 0) == 5.5
    assert many.change("a", many.visitor(), 0) == 0
    clock.now = NOTICE_TIME - 0.001
    assert traffic.slowed("a")
    clock.now = NOTICE_TIME
    assert not traffic.slowed("a")


def test_arrays_that_were_sent_make_further_requests_wait_and_refusals_do_not() -> None:
    traffic = Traffic(Settings(requests=60), Clock())
    traffic.sent_arrays("a", 404, 99 * ARRAY_TOKEN_BYTES)
    assert traffic.buckets.take("a", 20) == 0
    traffic.sent_arrays("b", 200, 22 * ARRAY_TOKEN_BYTES + 5)
    assert traffic.buckets.take("b", 1) == 3
    assert (traffic.array_bytes, dict(traffic.arrays)) == (22 * ARRAY_TOKEN_BYTES + 5, {404: 1, 200: 1})


@pytest.mark.parametrize(
    ("sent", "length"),
    [("0", 0), ("999999999999", 999_999_999_999), ("0000000000001", None), ("1" * 13, None), ("-1", None),
     ("1.5", None), ("", None), ("²", None)],
)  # fmt: skip
def test_a_length_is_a_number_of_up_to_twelve_digits(sent: str, length: int | None) -> None:
    assert content_length(Headers({"content-length": sent})) == length
    assert content_length(Headers({})) is None
