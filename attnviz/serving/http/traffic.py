"""Who comes, how often, and who is turned away: a bucket of tokens for each address, and a count of visitors."""

from __future__ import annotations

import time
from collections import Counter, OrderedDict, deque
from collections.abc import Callable
from functools import cache

from attnviz.settings import Settings, settings

ADDRESSES = 10_000
"""Addresses that are remembered; of more, those that were seen last."""
BURST = 0.25
"""A bucket holds what comes in this part of a minute, at least `SMALLEST`."""
SMALLEST = 20
TOKEN = 2**15
"""A message costs one token, and one more for each of so many bytes"""
ARRIVING = 10.0
"""Seconds for which a visitor who was sent the page is counted, though the page has not connected yet."""
REMEMBERED = 10.0
"""Seconds for which an address is told that it was slowed down."""

Clock = Callable[[], float]


class Buckets:
    """A bucket of tokens for each address: it fills evenly, and requests and messages take some out."""

    def __init__(self, a_minute: int, clock: Clock = time.monotonic) -> None:
        self._rate = a_minute / 60
        self._size = float(max(SMALLEST, a_minute * BURST))
        self._clock = clock
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def take(self, address: str, tokens: float = 1, *, owing: bool = False) -> float:
        """Take tokens, and return 0; where there are too few, return the seconds until there will be enough.

        `owing`: take them in any case. Who has waited as long as that has paid for them.
        """
        if not self._rate:
            return 0.0
        now = self._clock()
        held, seen = self._buckets.pop(address, (self._size, now))
        held = min(self._size, held + (now - seen) * self._rate)
        taken = tokens if owing or held >= tokens else 0
        self._buckets[address] = (held - taken, now)
        if len(self._buckets) > ADDRESSES:
            self._buckets.popitem(last=False)
        return max(0.0, (tokens - held) / self._rate)


class Traffic:
    """What this server counts and limits. All of it happens on the server's one event loop."""

    def __init__(self, limits: Settings, clock: Clock = time.monotonic) -> None:
        self.limits = limits
        self.buckets = Buckets(limits.requests, clock)
        self.visitors = 0
        """Browsers that are connected"""
        self.changes = 0
        """Messages from browsers: each has a page, or a part of one, run"""
        self.answers: Counter[int] = Counter()
        """Answers to requests, by their status"""
        self.refused: Counter[str] = Counter()
        """Who was turned away or slowed down, by the reason"""
        self._clock = clock
        self._arriving: deque[float] = deque()
        self._slowed: dict[str, float] = {}

    def full(self) -> bool:
        """Say whether there is no room for one more visitor, those counted who are about to connect."""
        now = self._clock()
        while self._arriving and now - self._arriving[0] > ARRIVING:
            self._arriving.popleft()
        return bool(self.limits.sessions) and self.visitors + len(self._arriving) >= self.limits.sessions

    def expect(self) -> None:
        """Count somebody who is sent the page and will connect."""
        if self.limits.sessions:
            self._arriving.append(self._clock())

    def enter(self) -> bool:
        """Count a browser that connects; where every place is taken, say no."""
        if self._arriving:
            self._arriving.popleft()
        if self.limits.sessions and self.visitors >= self.limits.sessions:
            self.refused["full"] += 1
            return False
        self.visitors += 1
        return True

    def leave(self) -> None:
        """Count a browser that has gone."""
        self.visitors -= 1

    def visitor(self) -> Buckets:
        """Return the bucket of one visitor, for `change`."""
        return Buckets(self.limits.changes, self._clock)

    def change(self, address: str, visitor: Buckets, size: int = 0) -> float:
        """Count a message of `size` bytes, and return the seconds for which it has to wait.

        These are more than 0 beyond the limit of the address or of the visitor.
        """
        self.changes += 1
        tokens = 1 + size // TOKEN
        wait = max(bucket.take(address, tokens, owing=True) for bucket in (self.buckets, visitor))
        if wait:
            now = self._clock()
            self.refused["slowed"] += 1
            self._slowed = {name: at for name, at in self._slowed.items() if now - at < REMEMBERED}
            self._slowed[address] = now
        return wait

    def slowed(self, address: str | None) -> bool:
        """Say whether this address had to wait just now."""
        return self._clock() - self._slowed.get(address or "", -REMEMBERED) < REMEMBERED


@cache
def traffic() -> Traffic:
    """Return what this process counts and limits, as the settings say."""
    return Traffic(settings())
