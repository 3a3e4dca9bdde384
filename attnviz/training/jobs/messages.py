"""Messages between a server and its training processes, over pipes: a header in JSON, then bytes. No pickle.

Layout: the lengths of both as unsigned 32-bit integers (little-endian), the header in UTF-8, the bytes.
"""

from __future__ import annotations

import json
import struct
from dataclasses import dataclass
from typing import IO, Any

_LENGTHS = struct.Struct("<II")
MOST_HEADER, MOST_BODY = 2**20, 2**29
"""Bytes; a longer message is an error of the sender"""


class BrokenMessageError(ValueError):
    """What came through the pipe is no message."""


@dataclass(frozen=True, slots=True)
class Message:
    """One message."""

    header: dict[str, Any]
    """Plain values; `kind` says what it is, `job` which training it is about"""
    body: bytes = b""

    @property
    def kind(self) -> str:
        """What it is."""
        return str(self.header.get("kind", ""))

    def write(self, pipe: IO[bytes]) -> None:
        """Write it whole.

        Raises:
            OSError: nobody reads the pipe any more.
        """
        header = json.dumps(self.header).encode()
        pipe.write(_LENGTHS.pack(len(header), len(self.body)) + header)
        pipe.write(self.body)
        pipe.flush()

    @classmethod
    def read(cls, pipe: IO[bytes]) -> Message | None:
        """Wait for a message; None if the pipe has ended.

        Raises:
            BrokenMessageError: it is too long, or its header is no JSON object.
        """
        lengths = pipe.read(_LENGTHS.size)
        if len(lengths) < _LENGTHS.size:
            return None
        of_header, of_body = _LENGTHS.unpack(lengths)
        if of_header > MOST_HEADER or of_body > MOST_BODY:
            raise BrokenMessageError(f"a message of {of_header} and {of_body} bytes is too long")
        header, body = pipe.read(of_header), pipe.read(of_body)
        if len(header) < of_header or len(body) < of_body:
            return None
        try:
            value = json.loads(header)
        except ValueError as error:
            raise BrokenMessageError("a header is not JSON") from error
        if not isinstance(value, dict):
            raise BrokenMessageError("a header is no object")
        return cls(value, body)
