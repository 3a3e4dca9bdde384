"""The server's side of a training process, and the messages in its pipes. Sending to it never blocks.

A message is a header in JSON, then bytes; no pickle. Layout: the lengths of both as unsigned 32-bit integers
(little-endian), the header in UTF-8, the bytes.
"""

from __future__ import annotations

import json
import os
import queue
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

_LENGTHS = struct.Struct("<II")
MOST_HEADER, MOST_BODY = 2**20, 2**29
"""Bytes; the reader rejects longer messages"""


class BrokenMessageError(ValueError):
    """The data read from the pipe are not a message."""


@dataclass(frozen=True, slots=True)
class Message:
    """One message."""

    header: dict[str, Any]
    """Plain values; `kind` is the kind of message, `job` the number of the training"""
    body: bytes = b""

    @property
    def kind(self) -> str:
        """The kind of message, or ""."""
        return str(self.header.get("kind", ""))

    def write(self, pipe: IO[bytes]) -> None:
        """Write the message and flush the pipe.

        Raises:
            OSError: the other end of the pipe is closed.
        """
        header = json.dumps(self.header).encode()
        pipe.write(_LENGTHS.pack(len(header), len(self.body)) + header)
        pipe.write(self.body)
        pipe.flush()

    @classmethod
    def read(cls, pipe: IO[bytes]) -> Message | None:
        """Wait for a message; None if the pipe has ended.

        Raises:
            BrokenMessageError: it is too long, or its header is not a JSON object.
        """
        lengths = pipe.read(_LENGTHS.size)
        if len(lengths) < _LENGTHS.size:
            return None
        header_length, body_length = _LENGTHS.unpack(lengths)
        if header_length > MOST_HEADER or body_length > MOST_BODY:
            raise BrokenMessageError(f"a message of {header_length} and {body_length} bytes is too long")
        header, body = pipe.read(header_length), pipe.read(body_length)
        if len(header) < header_length or len(body) < body_length:
            return None
        try:
            value = json.loads(header)
        except ValueError as error:
            raise BrokenMessageError("a header is not JSON") from error
        if not isinstance(value, dict):
            raise BrokenMessageError("a header is not an object")
        return cls(value, body)


ROOT = Path(__file__).resolve().parents[3]
"""The folder that contains the package"""
MOST_UNSENT = 200
STUCK = 10.0
"""Seconds. A process counts as stuck if writing one command takes longer and more than `MOST_UNSENT` commands wait.

The number of waiting commands alone is not enough: commands may also arrive faster than the thread can write them.
"""


class WorkerProcess:
    """One process of `attnviz.training.jobs.worker`."""

    def __init__(
        self, on_event: Callable[[WorkerProcess, Message], None], on_exit: Callable[[WorkerProcess], None]
    ) -> None:
        """Start it without waiting for it to import torch.

        Args:
            on_event: called with each event, from a thread that only reads this process's events.
            on_exit: called once when it has ended, for whatever reason, from the same thread.

        Raises:
            OSError: the system can't start another process.
        """
        python_path = os.pathsep.join(filter(None, (str(ROOT), os.environ.get("PYTHONPATH"))))
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-m", "attnviz.training.jobs.worker"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
            env={**os.environ, "PYTHONPATH": python_path, "OMP_NUM_THREADS": "1"},
        )  # fmt: skip
        self._commands: queue.SimpleQueue[Message] = queue.SimpleQueue()
        self._writing_since: float | None = None
        self._on_event, self._on_exit = on_event, on_exit
        threading.Thread(target=self._write, name="training-commands", daemon=True).start()
        threading.Thread(target=self._read, name="training-events", daemon=True).start()

    @property
    def pid(self) -> int:
        """Its process id."""
        return self._process.pid

    def send(self, kind: str, body: bytes = b"", **header: object) -> None:
        """Send a command. A process that has stopped reading is killed."""
        since = self._writing_since
        if since is not None and time.monotonic() - since > STUCK and self._commands.qsize() > MOST_UNSENT:
            self.end()
        self._commands.put(Message({"kind": kind, **header}, body))

    def end(self) -> None:
        """Kill it: it holds nothing that is still needed."""
        self._process.kill()
        self._commands.put(Message({}))

    def wait(self, seconds: float) -> None:
        """Wait until it has ended, at most this long."""
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(seconds)

    def _write(self) -> None:
        assert self._process.stdin is not None  # noqa: S101 — Popen was told to make a pipe
        with suppress(OSError), self._process.stdin as pipe:
            while (command := self._commands.get()).kind:
                self._writing_since = time.monotonic()
                command.write(pipe)
                self._writing_since = None

    def _read(self) -> None:
        assert self._process.stdout is not None  # noqa: S101 — as above
        with suppress(OSError, BrokenMessageError), self._process.stdout as pipe:
            while event := Message.read(pipe):
                self._on_event(self, event)
        self.end()  # in case it closed the pipe or wrote an invalid message, but still runs
        self._process.wait()
        self._on_exit(self)
