"""Makes `expect` of Playwright cheaper: it looks more often, and describes the page in words only where it fails."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Awaitable, Callable
from functools import partial
from time import monotonic
from typing import Any

from playwright._impl._errors import Error
from playwright._impl.assertions import LocatorAssertions, PageAssertions
from playwright._impl.locator import Locator

ROUND_MS = 2400
"""Playwright looks each 500 ms where it has more than 2.5 s, else each 100 ms: what takes a long time is waited for in
rounds. Waiting for what has already come was a tenth of the time of all tests."""

Call = Callable[..., Awaitable[Any]]
Options = dict[str, Any]

OF_LISTS = {"to.have.text": "to.have.text.array", "to.have.class": "to.have.class.array"}
"""Expectations of one element, and those of a list, which may have one"""
STATES = {"to.be.visible": ("visible", "hidden"), "to.be.hidden": ("hidden", "visible")}
"""What an element is to be, and what it is to be where the expectation is not to hold"""


def look_often() -> None:
    """Have all expectations of this process wait in rounds; how long they wait in all stays as it is."""
    for kind in (LocatorAssertions, PageAssertions):
        kind._call_expect = _in_rounds(kind._call_expect)  # type: ignore[assignment, method-assign]


def _in_rounds(call: Call) -> Call:
    async def expect(self: Any, expression: str, options: Options, *arguments: object) -> Any:
        end = monotonic() + options["timeout"] / 1000
        while True:
            timeout = max(1, min(1000 * (end - monotonic()), ROUND_MS))
            waiting = _wait(self, call, expression, {**options, "timeout": timeout}, arguments)
            if waiting:
                if await waiting:
                    return {"matches": not options["isNot"]}
                timeout = 1  # what can't be looked for fails at once, and the last look says what is there
            answer = await call(self, expression, {**options, "timeout": timeout}, *arguments)
            if answer["matches"] != options["isNot"]:
                return answer
            if not answer.get("timedOut") or monotonic() >= end:
                log = answer.get("log") or []
                return {**answer, "log": [f"waited up to {options['timeout']:.0f} ms, in rounds", *log]}

    return expect


def _wait(
    self: Any, call: Call, expression: str, options: Options, arguments: tuple[object, ...]
) -> Awaitable[bool] | None:
    """Return what waits for an expectation and says whether it holds; None where it is left to Playwright.

    Each time that `expect` looks for an element that is not there yet, it describes the whole page in words, in case
    that it fails: four fifths of the time that such a look takes. `wait_for` and expectations of lists do not.
    """
    is_not, timeout = options["isNot"], options["timeout"]
    if expression in STATES:
        return _quietly(self._actual_locator.wait_for(state=STATES[expression][is_not], timeout=timeout))
    if expression == "to.have.url" and not options["expectedText"][0].get("regexFlags"):
        return _at_url(self._actual_page, options)
    if expression in OF_LISTS and not is_not:
        return _met(call(self, OF_LISTS[expression], options, *arguments))
    if expression == "to.have.attribute.value" and not is_not:
        (value,) = options["expectedText"]
        if re.fullmatch(r'[^"\\\n]*', text := value.get("string", "\n")) and not value.get("ignoreCase"):
            with_it = json.dumps(f'css=[{options["expressionArg"]}="{text}"]')
            of = self._actual_locator
            found = Locator(of._frame, f"{of._selector} >> internal:and={with_it}")
            count = {"expectedNumber": 1, "isNot": False, "timeout": timeout}
            is_there = found._expect("to.have.count", count, None)
            return _both(is_there, partial(call, self, expression, {**options, "timeout": 1}, *arguments))
    return None


async def _quietly(waiting: Awaitable[object]) -> bool:
    try:
        await waiting
    except Error:
        return False
    return True


async def _met(asked: Awaitable[Any]) -> bool:
    return bool((await asked)["matches"])


async def _both(first: Awaitable[Any], then: Callable[[], Awaitable[Any]]) -> bool:
    """Whether one holds, and then the other: that of Playwright fails where several elements are meant."""
    return await _met(first) and await _met(then())


async def _at_url(page: Any, options: Options) -> bool:
    (value,) = options["expectedText"]
    end = monotonic() + options["timeout"] / 1000
    while monotonic() < end:
        url = page.url
        met = re.search(value["regexSource"], url) if "regexSource" in value else url == value["string"]
        if bool(met) != options["isNot"]:
            return True
        await asyncio.sleep(0.02)
    return False
