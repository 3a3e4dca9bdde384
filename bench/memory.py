"""Whether memory stays bounded: different texts through every page, and what the server holds as they go by."""

from __future__ import annotations

import random
import sys
from collections.abc import Iterator

import psutil

from attnviz.links.link import DEFAULT_TEXT
from bench.load import memory
from bench.table import Row
from tests.safety.client import Visitor
from tests.safety.server import serve, wait_until_ready

TEXTS = 1000
PAGES = (
    ("", "step=weights"), ("", "source=pretrained&step=output"), ("heads", "rollout=1&more=measures"), ("averages", ""),
    ("tokens", ""), ("compare", "source=pretrained&compare=same"),
)  # fmt: skip
"""What is opened with each text: every page that a text goes through, and both sources."""
VISIT = 10
"""Texts that one visitor looks at."""
TELL = 50
"""The memory is printed after so many texts."""
MOST = 1.5e9
"""Bytes that a server may hold, as with a hundred visitors."""
GROWTH = 1.05
"""The last quarter's largest over the third's: the caches are full by then."""


def text(number: int) -> str:
    """Return a text like no other, 8 to 120 words long."""
    words = DEFAULT_TEXT.split()
    chosen = random.Random(number)
    return " ".join([str(number), *(chosen.choice(words) for _ in range(chosen.randint(8, 120)))])


def rows(count: int = TEXTS) -> Iterator[Row]:
    """Send `count` texts through every page of a server, and compare its memory at the end with that before."""
    held = held_after(count)
    third, last = (max(held[part * count // 4 : (part + 1) * count // 4]) for part in (2, 3))
    yield Row(f"memory while {count} texts go through every page, at most", 0, max(held) / 1e6, MOST / 1e6, "MB")
    yield Row("the same, last quarter over third quarter", third / 1e6, last / 1e6, GROWTH, "MB")


def held_after(count: int) -> list[int]:
    """Return the bytes that a server's processes hold after each of `count` texts."""
    server = serve({"ATTNVIZ_REQUESTS": "0", "ATTNVIZ_CHANGES": "0"})
    try:
        wait_until_ready(server)
        process = psutil.Process(server.process.pid)
        held = []
        for first in range(0, count, VISIT):
            with Visitor(server.url) as visitor:
                for number in range(first, min(first + VISIT, count)):
                    for page, query in PAGES:
                        shown = visitor.open(page, f"{query}&text={text(number).replace(' ', '+')}")
                        if shown.broke:
                            raise RuntimeError(f"/{page}?{query}: {shown.messages}")
                    held.append(memory(process))
                    if len(held) % TELL == 0:
                        sys.stderr.write(f"in memory after {len(held)} texts: {held[-1] / 1e6:.0f} MB\n")
        return held
    finally:
        server.stop()
        server.log.unlink()
