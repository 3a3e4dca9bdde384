"""Reads what a browser component is sent, with safetensors' own reader."""

from __future__ import annotations

import json
from typing import Any

import numpy.typing as npt
from safetensors.numpy import load

Payload = tuple[dict[str, Any], dict[str, npt.NDArray[Any]]]


def read_payload(payload: bytes) -> Payload:
    """Return the header and the arrays of a payload."""
    length = int.from_bytes(payload[:8], "little")
    outer = json.loads(payload[8 : 8 + length])
    return json.loads(outer["__metadata__"]["header"]), load(payload)
