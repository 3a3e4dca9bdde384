"""What the service is asked, the token ids of one text for one model, and what it answers. Imports no torch."""

from __future__ import annotations

import base64
import hashlib
import json
from dataclasses import asdict, dataclass
from typing import Any

MOST_BYTES = 2**16
"""Of a request; one of 1,024 tokens has some 10 kB"""
FIELDS = {"model", "fingerprint", "ids", "segments"}


class RequestError(ValueError):
    """A request is invalid. The message has nothing of it."""


@dataclass(frozen=True, slots=True)
class Asked:
    """A request for a forward pass."""

    model: str
    fingerprint: str
    """What the asker's copy of the model gives (`PassFormat`)"""
    ids: tuple[int, ...]
    segments: tuple[int, ...]

    def to_bytes(self) -> bytes:
        """Return the body of the request."""
        return json.dumps(asdict(self)).encode()

    @classmethod
    def read(cls, body: bytes) -> Asked:
        """Read the body of a request from anybody.

        Raises:
            RequestError: it is too long, no JSON, or not of this form.
        """
        if len(body) > MOST_BYTES:
            raise RequestError(f"more than {MOST_BYTES} bytes")
        try:
            said = json.loads(body)
        except (ValueError, RecursionError) as error:
            raise RequestError("not JSON") from error
        if not isinstance(said, dict) or said.keys() != FIELDS:
            raise RequestError(f"not an object with {', '.join(sorted(FIELDS))}")
        if not isinstance(said["model"], str) or not isinstance(said["fingerprint"], str):
            raise RequestError("model and fingerprint are strings")
        return cls(said["model"], said["fingerprint"], _integers(said["ids"]), _integers(said["segments"]))


def _integers(values: Any) -> tuple[int, ...]:
    if not isinstance(values, list) or not all(type(value) is int for value in values):
        raise RequestError("ids and segments are lists of integers")
    return tuple(values)


@dataclass(frozen=True, slots=True)
class Answer:
    """An answer, over HTTP or a handle."""

    status: int
    """As in HTTP"""
    body: bytes
    digest: str
    """Of the body, as the header Content-Digest says it (RFC 9530)"""

    @classmethod
    def of(cls, status: int, body: bytes) -> Answer:
        """Return an answer with its digest."""
        return cls(status, body, _digest(body))

    @classmethod
    def refused(cls, status: int, why: str) -> Answer:
        """Return a refusal; `why` has nothing of the request."""
        return cls.of(status, why.encode())

    @property
    def is_whole(self) -> bool:
        """Whether the body is the one of which the digest was taken."""
        return self.digest == _digest(self.body)


def _digest(body: bytes) -> str:
    return f"sha-256=:{base64.b64encode(hashlib.sha256(body).digest()).decode()}:"
