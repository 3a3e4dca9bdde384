"""What each patch of Streamlit saves: `python -m tests.bench.patches`.

One server with all patches, and for each patch one without it, all running at once. Rounds alternate between them, so
a busy machine slows all of them alike. What counts is processor time a change, steps, heads and layers alone.
"""

from __future__ import annotations

import asyncio
import random
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from statistics import median

import psutil

from attnviz.serving.patches import PATCHES
from tests.bench.load import ENTRANCE, act_ours
from tests.bench.load_session import Visitor
from tests.bench.processes import cpu
from tests.browser.server import Server, free_port, launch
from tests.safety.server import wait_until_ready

SERVE = """
import sys
from attnviz.serving import patches
from attnviz.serving.run import serve
patches.PATCHES = tuple(sys.argv[2:])
serve("127.0.0.1", int(sys.argv[1]))
"""
VISITORS = 4
ROUNDS = 21
CHANGES = 25
"""Of each visitor in a round"""


@contextmanager
def served(patches: tuple[str, ...]) -> Iterator[Server]:
    """Start a server with these patches alone."""
    port = free_port()
    server = launch(
        ["-c", SERVE, str(port), *patches],
        port,
        program=[sys.executable],
        env={"ATTNVIZ_REQUESTS": "0"},
    )
    try:
        wait_until_ready(server, 300)
        yield server
    finally:
        server.stop()
        server.log.unlink()


async def work(visitors: list[Visitor], seed: int) -> None:
    """Let all visitors make their changes of one round at the same time."""

    async def one(visitor: Visitor, chance: random.Random) -> None:
        for _ in range(CHANGES):
            await act_ours(visitor, chance)

    await asyncio.gather(*(one(visitor, random.Random(f"{seed} {at}")) for at, visitor in enumerate(visitors)))


async def arrive(server: Server) -> list[Visitor]:
    """Have the visitors open the page, one after another."""
    visitors = [Visitor(server.url + ENTRANCE) for _ in range(VISITORS)]
    for visitor in visitors:
        await visitor.connect()
        await visitor.load()
    return visitors


async def measure() -> None:
    """Print the processor time a change with all patches, and what each patch saves of it."""
    sets = {"": PATCHES, **{name: tuple(other for other in PATCHES if other != name) for name in PATCHES}}
    with ExitStack() as running:
        servers = {name: running.enter_context(served(patches)) for name, patches in sets.items()}
        visitors = {name: await arrive(server) for name, server in servers.items()}
        spent: dict[str, list[float]] = {name: [] for name in sets}
        for seed in range(ROUNDS):
            for name, server in servers.items():
                process = psutil.Process(server.process.pid)
                before = cpu(process)
                await work(visitors[name], seed)
                if seed:  # the first round warms up
                    spent[name].append((cpu(process) - before) * 1e3 / (VISITORS * CHANGES))
    everything = median(spent[""])
    sys.stdout.write(f"all patches: {everything:.2f} ms of processor a change\n")
    for name in PATCHES:
        saved = median(one - all_ for one, all_ in zip(spent[name], spent[""], strict=True))
        sys.stdout.write(f"without {name}: {median(spent[name]):.2f} ms; it saves {saved / (everything + saved):.0%}\n")


if __name__ == "__main__":
    asyncio.run(measure())
