"""Engines that read the blocks of a corpus: in processes on this machine, or on a Ray cluster.

An engine is a function that takes a job and blocks, and yields the result of each block once, in any order.

On a Ray cluster, each actor of a pool holds a model, and the driver adds up their results. The rows of the dataset are
the blocks, a few numbers each, instead of the lines from `ray.data.read_text`: those have no line numbers and no known
boundaries, so bad lines could not be reported, and a killed run could not be resumed. Therefore every node must have
the files under the same paths as the driver.
"""

from __future__ import annotations

import logging
import multiprocessing
import os
import pickle
import signal
import threading
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from functools import cache
from itertools import islice
from typing import TYPE_CHECKING, Any, cast

from attnviz.cluster import ClusterError, connected, first_line
from attnviz.corpus.attempts import Attempts
from attnviz.corpus.blocks import Block, Read, read_block
from attnviz.corpus.run import Job
from attnviz.corpus.sentences import Reader
from attnviz.settings import processors

if TYPE_CHECKING:
    import pyarrow as pa


WAITING = 2
"""Blocks submitted per process: one is being read, one waits"""
MOST_DEATHS = 3
"""The run fails when processes have died this often while the same block was submitted"""


class EngineError(RuntimeError):
    """The blocks can't be read. The message is one sentence."""


def run_local(job: Job, blocks: Iterable[Block], processes: int) -> Iterator[Read]:
    """Read blocks in processes. If one dies (killed, out of memory), new processes read the remaining blocks.

    Args:
        job: the model and how it reads.
        blocks: the blocks, taken one after another as processes become free.
        processes: the number of processes.

    Raises:
        ValueError: the number of processes is below 1.
        EngineError: processes die repeatedly.
        attnviz.pretrained.ModelError: the model can't be loaded.
    """
    if processes < 1:
        raise ValueError(f"{processes} processes: there must be at least 1")
    rest, unread, deaths = iter(blocks), list[Block](), Counter[int]()
    while True:
        with _pool(processes) as pool:
            try:
                yield from _read_in_pool(pool, job, rest, unread, processes * WAITING)
                return
            except BrokenProcessPool as error:
                deaths.update(block.number for block in unread)
                suspects = [block for block in sorted(unread) if deaths[block.number] >= MOST_DEATHS]
                if suspects:
                    places = ", ".join(map(_place, suspects))
                    raise EngineError(f"Processes died {MOST_DEATHS} times while they read {places}.") from error


def _place(block: Block) -> str:
    return f"lines {block.first_line:,} to {block.first_line + block.lines - 1:,} of {block.path}"


def _read_in_pool(
    pool: ProcessPoolExecutor, job: Job, rest: Iterator[Block], unread: list[Block], most: int
) -> Iterator[Read]:
    """Submit blocks, first those in `unread`, and yield their results. `unread` always has the submitted blocks."""
    pending: dict[Future[Read], Block] = {pool.submit(_read_here, job, block): block for block in unread}
    try:
        while True:
            for block in islice(rest, max(0, most - len(pending))):
                unread.append(block)
                pending[pool.submit(_read_here, job, block)] = block
            if not pending:
                return
            for done in wait(pending, return_when=FIRST_COMPLETED).done:
                read = done.result()  # may raise: the block stays in `unread`
                unread.remove(pending.pop(done))
                yield read
    finally:
        for future in pending:
            future.cancel()


def _pool(processes: int) -> ProcessPoolExecutor:
    # Not "fork": torch's threads don't survive it.
    return ProcessPoolExecutor(processes, multiprocessing.get_context("spawn"), _prepare)


def _prepare() -> None:
    """Prepare a worker process: it ignores Ctrl-C, which the parent handles, and exits when the parent exits."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    os.environ["OMP_NUM_THREADS"] = "1"
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    """Exit when the parent process has ended; if the parent is killed, nothing else stops this process."""
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


MOST_ATTEMPTS = 5
"""How often a block may be started, including restarts after an actor or a node has ended"""
WINDOW, WINDOW_AN_ACTOR = 4096, 64
"""The blocks of one dataset: the larger of the first number and the second times the number of actors. A larger corpus
takes several datasets, one after another, so that memory use is bounded; each loads the models again, which takes
seconds."""
STORE_BYTES = 512 * 2**20
"""Ray's memory for results, if Ray is started on this machine"""
FASTEST = 1
"""zlib's compression level: sums are mostly zeros, so 3 MB become 0.3"""


class Actor:
    """Holds a model, and reads blocks with it."""

    def __init__(self, job: Job, device: str, attempts: Any) -> None:
        self._job, self._device, self._attempts = job, device, attempts
        self._reader: Reader | None = None

    def __call__(self, table: pa.Table) -> pa.Table:
        """Return the results of the blocks of a table, or the errors that they raised, for the driver to raise."""
        import pyarrow as pa

        blocks = [pickle.loads(row) for row in table["block"].to_pylist()]  # noqa: S301 — sent by the run's own driver
        return pa.table({"read": [packed(self._read(block)) for block in blocks]})

    def _read(self, block: Block) -> Read | Exception:
        import ray

        begun = ray.get(self._attempts.begin.remote(block.number))
        if begun > MOST_ATTEMPTS:
            return EngineError(f"{begun - 1} actors ended at {_place(block)}.")
        try:
            if self._reader is None:  # not in __init__, because Ray would hide the reason of a failure
                self._reader = self._job.reader(self._device)
            return read_block(self._reader, block)
        except (OSError, ValueError, RuntimeError) as error:
            return error


def run_ray(
    job: Job, blocks: Iterable[Block], *, actors: int | None, gpus: float, address: str | None
) -> Iterator[Read]:
    """Read blocks on a Ray cluster. Blocks lost with an actor or a node are read again by another one.

    If Ray is already running in this process, it is used as it is and left running.

    Args:
        job: the model and how it reads.
        blocks: the blocks, taken one after another.
        actors: the number of actors, with a processor each; if None, one for each processor of the cluster.
        gpus: the share of a GPU for each actor; if it is not 0, the model runs on the GPU.
        address: the address of a running cluster; if None, Ray is started on this machine, and stopped after the run.

    Raises:
        ValueError: the number of actors is below 1, or the share is negative.
        EngineError: Ray is not installed or can't be reached, or actors die repeatedly.
        attnviz.pretrained.ModelError: the model can't be loaded.
        OSError: an actor can't read a file.
    """
    if actors is not None and actors < 1:
        raise ValueError(f"{actors} actors: there must be at least 1")
    if gpus < 0:
        raise ValueError(f"a share of {gpus} of a GPU: it can't be negative")
    try:
        with connected(address, processors=actors or processors(), store_bytes=STORE_BYTES):
            from ray.exceptions import RayError

            actors = actors or _processors()
            _quiet()
            rest = iter(blocks)
            try:
                while window := list(islice(rest, max(WINDOW, WINDOW_AN_ACTOR * actors))):
                    yield from _read_on_cluster(job, window, min(actors, len(window)), gpus)
            except RayError as error:
                raise EngineError(f"Ray gave up: {first_line(error)}") from error
    except ClusterError as error:
        raise EngineError(str(error)) from error


def _read_on_cluster(job: Job, blocks: list[Block], actors: int, gpus: float) -> Iterator[Read]:
    """Read some blocks, each in a separate task, so that only one block is lost with an actor."""
    import ray

    attempts = ray.remote(num_cpus=0, max_restarts=-1, max_task_retries=-1)(Attempts).remote()
    rows = [{"block": pickle.dumps(block)} for block in blocks]
    results = ray.data.from_items(rows, override_num_blocks=len(rows)).map_batches(
        Actor,
        fn_constructor_args=(job, "cuda" if gpus else "cpu", attempts),
        batch_size=1,
        batch_format="pyarrow",
        compute=ray.data.ActorPoolStrategy(size=actors),
        num_cpus=1,
        num_gpus=gpus or None,
    )
    for table in results.iter_batches(batch_size=None, batch_format="pyarrow"):
        yield from map(unpacked, cast("pa.Table", table)["read"].to_pylist())


def _processors() -> int:
    """Return the number of processors of the cluster."""
    import ray

    resources: Mapping[str, float] = cast(Any, ray).cluster_resources()
    return max(1, int(resources.get("CPU", 1)))


def packed(read: Read | Exception) -> bytes:
    """Return the result of a block, or its error, as bytes.

    Pickled, as Ray itself sends classes and arguments: anyone who can join a cluster can run code on it anyway.
    """
    return zlib.compress(pickle.dumps(read), FASTEST)


def unpacked(row: bytes) -> Read:
    """Return the result of a block, or raise its error."""
    read: Read | Exception = pickle.loads(zlib.decompress(row))  # noqa: S301 — sent by the run's own actors
    if isinstance(read, Exception):
        raise read
    return read


def _quiet() -> None:
    """Make Ray Data print only errors."""
    import ray.data

    logging.getLogger("ray.data").setLevel(logging.ERROR)
    context = ray.data.DataContext.get_current()
    context.enable_progress_bars = context.print_on_execution_start = False
