"""Rate limits (a token bucket per address and per visitor), and the number of connected visitors."""

from __future__ import annotations

import time
from collections import Counter, OrderedDict, deque
from collections.abc import Callable
from functools import cache
from http import HTTPStatus

from starlette.datastructures import Headers

from attnviz.settings import Settings, settings

ADDRESSES = 10_000
"""Maximum addresses in memory; the least recently used one is dropped."""
BURST = 0.25
"""The capacity of a bucket, as a fraction of the tokens per minute; at least `MIN_CAPACITY` tokens."""
MIN_CAPACITY = 20
TOKEN_BYTES = 2**15
"""A message takes one token, and one more for each `TOKEN_BYTES` bytes"""
ARRAY_TOKEN_BYTES = 2**18
"""A request for arrays takes one token, and one more for each `ARRAY_TOKEN_BYTES` bytes that are sent"""
CONNECT_TIME = 10.0
"""Seconds for which a visitor who has received the page is counted while its websocket has not connected."""
NOTICE_TIME = 10.0
"""Seconds for which a visitor is notified after a delay."""

Clock = Callable[[], float]


class Buckets:
    """A token bucket for each address: it fills at a constant rate, and requests and messages take tokens."""

    def __init__(self, per_minute: int, clock: Clock = time.monotonic) -> None:
        self._rate = per_minute / 60
        self._size = float(max(MIN_CAPACITY, per_minute * BURST))
        self._clock = clock
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def take(self, address: str, tokens: float = 1, *, may_owe: bool = False) -> float:
        """Take tokens and return 0; if there are too few, return the seconds until there are enough.

        `may_owe`: take them even then, so that the bucket becomes negative. After the returned seconds it is 0 again.
        """
        if not self._rate:
            return 0.0
        now = self._clock()
        held, seen = self._buckets.pop(address, (self._size, now))
        held = min(self._size, held + (now - seen) * self._rate)
        taken = tokens if may_owe or held >= tokens else 0
        self._buckets[address] = (held - taken, now)
        if len(self._buckets) > ADDRESSES:
            self._buckets.popitem(last=False)
        return max(0.0, (tokens - held) / self._rate)


class Traffic:
    """The server's counters and limits. It is used only on the server's event loop, so it needs no lock."""

    def __init__(self, limits: Settings, clock: Clock = time.monotonic) -> None:
        self.limits = limits
        self.buckets = Buckets(limits.requests, clock)
        self.visitors = 0
        """Connected browsers"""
        self.changes = 0
        """Messages from browsers, each of which runs a page or a part of it"""
        self.responses: Counter[int] = Counter()
        """Responses by status code"""
        self.arrays: Counter[int] = Counter()
        """Requests for arrays, by status code"""
        self.array_bytes = 0
        """Bytes of arrays that were sent"""
        self.refused: Counter[str] = Counter()
        """Refused or delayed requests and messages, by reason"""
        self._clock = clock
        self._arriving: deque[float] = deque()
        self._slowed: dict[str, float] = {}

    def full(self) -> bool:
        """Whether the maximum number of visitors is reached, including those who are about to connect."""
        now = self._clock()
        while self._arriving and now - self._arriving[0] > CONNECT_TIME:
            self._arriving.popleft()
        return bool(self.limits.sessions) and self.visitors + len(self._arriving) >= self.limits.sessions

    def expect(self) -> None:
        """Count a visitor who receives the page and is about to connect."""
        self._arriving.append(self._clock())

    def enter(self) -> bool:
        """Count a browser that connects; return False if the maximum number is connected."""
        if self._arriving:
            self._arriving.popleft()
        if self.limits.sessions and self.visitors >= self.limits.sessions:
            self.refused["full"] += 1
            return False
        self.visitors += 1
        return True

    def leave(self) -> None:
        """Count a browser that has disconnected."""
        self.visitors -= 1

    def visitor(self) -> Buckets:
        """Return a bucket for one visitor, for `change`."""
        return Buckets(self.limits.changes, self._clock)

    def change(self, address: str, visitor: Buckets, size: int = 0) -> float:
        """Count a message of `size` bytes, and return how many seconds to delay it.

        The delay is above 0 if the address or the visitor exceeds its limit.
        """
        self.changes += 1
        tokens = 1 + size // TOKEN_BYTES
        wait = max(bucket.take(address, tokens, may_owe=True) for bucket in (self.buckets, visitor))
        if wait:
            now = self._clock()
            self.refused["slowed"] += 1
            self._slowed = {name: at for name, at in self._slowed.items() if now - at < NOTICE_TIME}
            self._slowed[address] = now
        return wait

    def sent_arrays(self, address: str, status: int, size: int) -> None:
        """Count a response to a request for arrays. Its bytes may make further requests wait."""
        self.arrays[status] += 1
        if status == HTTPStatus.OK:
            self.array_bytes += size
            self.buckets.take(address, size // ARRAY_TOKEN_BYTES, may_owe=True)

    def slowed(self, address: str | None) -> bool:
        """Whether a message from this address was delayed in the last `NOTICE_TIME` seconds."""
        return self._clock() - self._slowed.get(address or "", -NOTICE_TIME) < NOTICE_TIME


def content_length(headers: Headers) -> int | None:
    """Return the length of a body in bytes; None if it is missing, or not a number of up to 12 digits."""
    size = headers.get("content-length", "")
    return int(size) if size.isdecimal() and len(size) <= 12 else None


@cache
def traffic() -> Traffic:
    """Return the counters and limits of this process."""
    return Traffic(settings())
