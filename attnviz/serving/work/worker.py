"""A worker process for the built-in model's forward passes, for servers with many visitors.

A forward pass takes the interpreter's lock some two hundred times. While pages are built it waits for the lock each
time, and interrupts them as often: that doubled the 95th percentile of a change with a hundred visitors. The result is
that of a pass in this process, bit for bit; while the worker is starting, busy or gone, passes run in this process.
"""

from __future__ import annotations

import gc
import json
import logging
import os
import signal
import socket
import struct
import subprocess
import sys
import threading
from collections.abc import Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import attnviz
from attnviz.serving.logs import keep_texts_out
from attnviz.serving.work.pool import limit_threads

if TYPE_CHECKING:
    from torch import Tensor

    from attnviz.pretrained import PretrainedModel
    from attnviz.trace.recorder import Pass

QUEUE_TIMEOUT = 0.1
"""Seconds that a pass waits for the worker, before it runs in this process"""
START_TIMEOUT = 120
"""Seconds within which the worker has to load the model"""
ANSWER_TIMEOUT = 10
"""Seconds without an answer after which the worker is killed. The longest pass takes half a second."""
RESTART_DELAY = 60.0
"""Seconds between its end and its next start"""
COMMAND = (sys.executable, "-m", "attnviz.serving.work.worker")
READY = b"!"
SIZES = struct.Struct("<QQ")
"""What goes before a message: the bytes of its JSON, and of its numbers"""
NOTHING = b""
"""The JSON of an answer where the pass failed. It is run here once more, and fails before whoever asked for it."""

_log = logging.getLogger(__name__)


class PassProcess:
    """The process, as the server sees it."""

    def __init__(self) -> None:
        self._asking = threading.Lock()
        self._line: socket.socket | None = None
        """Where passes are asked for, while the process takes them. Changed under the lock only."""
        self._process: subprocess.Popen[bytes] | None = None
        self._over = threading.Event()
        self._keeper: threading.Thread | None = None

    @property
    def ready(self) -> bool:
        """Whether it takes passes."""
        return self._line is not None

    def start(self) -> None:
        """Start it in the background, and again whenever it has ended. Nothing happens on Windows."""
        if os.name == "posix":
            self._keeper = threading.Thread(target=self._keep, name="pass-process", daemon=True)
            self._keeper.start()

    def stop(self) -> None:
        """End it for good. Passes run here from now on."""
        self._over.set()
        self._end()
        if self._keeper is not None:
            self._keeper.join(ANSWER_TIMEOUT)

    def run(
        self,
        model: PretrainedModel,
        ids: Sequence[int],
        segments: Sequence[int],
        decoder_ids: Sequence[int] | None,
    ) -> Pass:
        """Run a model's forward pass there if that can be, else here. The arguments are `PretrainedModel.run`'s."""
        from attnviz.pretrained import BUILT_IN

        if model.name == BUILT_IN and self.ready and self._asking.acquire(timeout=QUEUE_TIMEOUT):
            try:
                there = self._ask(ids, segments)
            except Exception:  # whatever it is: half an answer may be on the line, which is of no use any more
                self._line = None
                self._end()
            else:
                if there is not None:
                    return there
            finally:
                self._asking.release()
        return model.run(ids, segments, decoder_ids)

    def _ask(self, ids: Sequence[int], segments: Sequence[int]) -> Pass | None:
        """Have a pass run there; None where that failed, or the process has ended in the meantime."""
        from attnviz.pretrained.payload import unpack

        if self._line is None:
            return None
        question = json.dumps([ids, segments]).encode()
        self._line.sendall(SIZES.pack(len(question), 0) + question)
        description, numbers = _receive(self._line)
        return None if description == NOTHING else unpack(description, numbers)

    def _end(self) -> None:
        if self._process is not None:
            self._process.kill()

    def _keep(self) -> None:
        while not self._over.is_set():
            try:
                self._live()
            except (OSError, RuntimeError) as error:  # no memory for it, too many processes, no such file
                _log.warning(f"The process for forward passes does not run: {type(error).__name__}")
            if not self._over.is_set():
                _log.warning("The process for forward passes has ended: until it is back they run in the server.")
            self._over.wait(RESTART_DELAY)

    def _live(self) -> None:
        """Start the process, and return when it has ended."""
        ours, theirs = socket.socketpair()
        with ours:
            with theirs:
                self._process = process = subprocess.Popen(  # noqa: S603 — this file, nothing that anybody typed
                    COMMAND,
                    stdin=theirs.fileno(),
                    stdout=subprocess.DEVNULL,
                    cwd=Path(attnviz.__file__).resolve().parents[1],
                )
            try:
                _limit(ours, START_TIMEOUT)
                if not self._over.is_set() and ours.recv(len(READY)) == READY:
                    _limit(ours, ANSWER_TIMEOUT)
                    with self._asking:
                        self._line = ours
                    process.wait()
            finally:
                process.kill()
                process.wait()
                with self._asking:
                    self._line = None


def _limit(line: socket.socket, seconds: int) -> None:
    """Have receiving fail after so many seconds. By the kernel: with Python's own limit a message comes in pieces."""
    line.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, struct.pack("ll", seconds, 0))


def _receive(line: socket.socket) -> tuple[bytes, Tensor]:
    """Receive a message: JSON, and a uint8 tensor.

    Raises:
        OSError: the other side has gone, or says nothing.
    """
    import torch

    head = bytearray(SIZES.size)
    _fill(line, memoryview(head))
    length, size = SIZES.unpack(head)
    description, numbers = bytearray(length), torch.empty(size, dtype=torch.uint8)
    _fill(line, memoryview(description))
    _fill(line, numbers.numpy().data)
    return bytes(description), numbers


def _fill(line: socket.socket, room: memoryview) -> None:
    while room:
        got = line.recv_into(room, len(room), socket.MSG_WAITALL)
        if not got:
            raise ConnectionError
        room = room[got:]


def answer(line: socket.socket) -> None:
    """Run passes for the server at the other end of the line, until it has gone."""
    from attnviz.pretrained import ModelError, load

    try:
        model = load()
    except ModelError:
        return
    gc.freeze()
    with suppress(OSError):
        line.sendall(READY)
        while True:
            question, _ = _receive(line)
            description, numbers = _pass(model, question)
            line.sendall(SIZES.pack(len(description), len(numbers)) + description)
            line.sendall(numbers)
            del question, description, numbers  # some 20 MB, which would wait here for the next one


def _pass(model: PretrainedModel, question: bytes) -> tuple[bytes, memoryview]:
    from attnviz.pretrained.payload import pack

    try:
        ids, segments = json.loads(question)
        description, numbers = pack(model.run(ids, segments, None))
    except Exception as error:
        _log.warning(f"A forward pass failed: {type(error).__name__}")  # what is filled in by logging is left out
        return NOTHING, memoryview(b"")
    return description, numbers.numpy().data


@cache
def pass_process() -> PassProcess:
    """Return this server's process for passes, started or not."""
    return PassProcess()


def main() -> None:
    """Be that process. It ends when the server does, however that ends: the line is closed then."""
    for ending in (signal.SIGINT, signal.SIGTERM):  # which a terminal or a supervisor sends to all at once
        signal.signal(ending, signal.SIG_IGN)
    with suppress(OSError):  # where memory runs out, this one can be spared
        Path("/proc/self/oom_score_adj").write_text("1000", encoding="ascii")
    keep_texts_out()
    limit_threads()
    answer(socket.socket(fileno=sys.stdin.fileno()))


if __name__ == "__main__":
    main()
