"""The arrays of the page Heads, requested from the store as the browser requests them from the server."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from safetensors.numpy import load

from attnviz.runtime.arrays import array_store

Arrays = dict[str, np.ndarray]


def file(digest: str) -> Arrays:
    """Return the arrays of the file that is offered under a digest."""
    found: Arrays = load(array_store().request(digest).result(120).decompressed())
    return found


def shared(header: Mapping[str, Any]) -> Arrays:
    """Return what all heads share; without their weights, which a small text has in the same file."""
    return {name: array for name, array in file(header["files"]["shared"]).items() if name != "weights"}


def weights(header: Mapping[str, Any], layer: int, head: int) -> np.ndarray:
    """Return a head's weights as the browser receives them, uint16 (Tq, Tk); head −1 is the rollout up to the layer."""
    if head == -1:
        return file(header["files"]["rollout"][layer])["weights"][0]
    n = layer * header["heads"] + head
    ((digest, first),) = [
        (digest, first) for digest, first, count in header["files"]["weights"] if first <= n < first + count
    ]
    return file(digest)["weights"][n - first]


def every_weight(header: Mapping[str, Any]) -> np.ndarray:
    """Return the weights of all heads, uint16 (L · H, Tq, Tk)."""
    return np.concatenate([file(digest)["weights"] for digest, *_ in header["files"]["weights"]])
