"""Makes Playwright's `expect` look more often."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from time import monotonic
from typing import Any

from playwright._impl.assertions import LocatorAssertions, PageAssertions

ROUND_MS = 2400
"""Playwright looks each 500 ms where it has more than 2.5 s, else each 100 ms: what takes a long time is waited for in
rounds. Waiting for what has already come was a tenth of the time of all tests."""

Call = Callable[..., Awaitable[Any]]


def look_often() -> None:
    """Have all expectations of this process wait in rounds; how long they wait in all stays as it is."""
    for kind in (LocatorAssertions, PageAssertions):
        kind._call_expect = _in_rounds(kind._call_expect)  # type: ignore[method-assign]


def _in_rounds(call: Call) -> Call:
    async def expect(self: object, expression: str, options: dict[str, Any], *arguments: object) -> Any:
        end = monotonic() + options["timeout"] / 1000
        while True:
            left = 1000 * (end - monotonic())
            answer = await call(self, expression, {**options, "timeout": max(1, min(left, ROUND_MS))}, *arguments)
            if answer["matches"] != options["isNot"]:
                return answer
            if not answer.get("timedOut") or left <= ROUND_MS:  # what can't be looked for fails at once
                log = answer.get("log") or []
                return {**answer, "log": [f"waited up to {options['timeout']:.0f} ms, in rounds", *log]}

    return expect
