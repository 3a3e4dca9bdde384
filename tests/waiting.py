"""Waits for what other threads and processes do."""

from __future__ import annotations

import time
from collections.abc import Callable

SECONDS = 120
"""So long a busy machine may need."""


def until(
    true: Callable[[], object],
    seconds: float = SECONDS,
    *,
    meanwhile: Callable[[], object] = lambda: time.sleep(0.005),
    why: Callable[[], object] = lambda: "it never came true",
) -> None:
    """Wait until it is true.

    `meanwhile` is done before it is asked again; `why` says what is wrong when it is not true in time.
    """
    ends = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < ends, why()
        meanwhile()
