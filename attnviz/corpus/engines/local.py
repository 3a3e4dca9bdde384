"""Reads blocks in processes of this machine, each with its own copy of the model."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections import Counter
from collections.abc import Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from functools import cache
from itertools import islice

from attnviz.corpus.blocks import Block, Read, read_block
from attnviz.corpus.run import Job
from attnviz.corpus.sentences import Reader

WAITING = 2
"""Blocks that are handed out for each process: one is read, one waits"""
MOST_DEATHS = 3
"""So often processes may die while a block is handed out to one of them"""


class EngineError(RuntimeError):
    """The blocks can't be read. The message is one sentence."""


def cores() -> int:
    """Return how many processors this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def run_local(job: Job, blocks: Iterable[Block], processes: int) -> Iterator[Read]:
    """Read blocks in processes. If one dies (killed, out of memory), new ones read what was not yet read.

    Args:
        job: the model and how it reads.
        blocks: are taken one after another, as processes become free.
        processes: how many.

    Raises:
        ValueError: there are no processes.
        EngineError: processes die again and again.
        attnviz.pretrained.ModelError: the model can't be loaded.
    """
    if processes < 1:
        raise ValueError(f"{processes} processes: there must be at least 1")
    rest, unread, deaths = iter(blocks), list[Block](), Counter[int]()
    while True:
        with _pool(processes) as pool:
            try:
                yield from _read(pool, job, rest, unread, processes * WAITING)
                return
            except BrokenProcessPool as error:
                deaths.update(block.number for block in unread)
                suspects = [block for block in sorted(unread) if deaths[block.number] >= MOST_DEATHS]
                if suspects:
                    places = ", ".join(map(_place, suspects))
                    raise EngineError(f"Processes died {MOST_DEATHS} times while they read {places}.") from error


def _place(block: Block) -> str:
    return f"lines {block.first_line:,} to {block.first_line + block.lines - 1:,} of {block.path}"


def _read(pool: ProcessPoolExecutor, job: Job, rest: Iterator[Block], unread: list[Block], most: int) -> Iterator[Read]:
    """Hand out blocks, first those in `unread`, and yield what they give. `unread` has what is handed out."""
    asked: dict[Future[Read], Block] = {pool.submit(_read_here, job, block): block for block in unread}
    try:
        while True:
            for block in islice(rest, max(0, most - len(asked))):
                unread.append(block)
                asked[pool.submit(_read_here, job, block)] = block
            if not asked:
                return
            for done in wait(asked, return_when=FIRST_COMPLETED).done:
                read = done.result()  # may raise: the block stays in `unread`
                unread.remove(asked.pop(done))
                yield read
    finally:
        for one in asked:
            one.cancel()


def _pool(processes: int) -> ProcessPoolExecutor:
    # Not forked: torch's threads don't survive it.
    return ProcessPoolExecutor(processes, multiprocessing.get_context("spawn"), _prepare)


def _prepare() -> None:
    """Prepare a process: it ends with the one that began it, which alone hears Ctrl-C."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    os.environ["OMP_NUM_THREADS"] = "1"
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    """End this process when the one that began it has ended; if that was killed, nobody else would do it."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


@cache
def _reader(job: Job) -> Reader:
    """Load this process's model, once."""
    return job.reader()


def _read_here(job: Job, block: Block) -> Read:
    return read_block(_reader(job), block)
