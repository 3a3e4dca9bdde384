"""Snapshots of one model as few bytes. Nothing is lost.

Weights change little from one snapshot to the next, so that many bits of two successive float16 numbers are the same.
What differs is kept (exclusive or), the two bytes of each number apart, because the higher one is 0 most often; zlib
(RFC 1950) then makes it a third smaller.
"""

from __future__ import annotations

import zlib
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

MOST = 64 * 2**20
"""Bytes of all snapshots together, unpacked"""


def pack(snapshots: Sequence[bytes]) -> NDArray[np.uint8]:
    """Return S snapshots of equal length, each float16 numbers in little-endian order, as one array of bytes."""
    codes = np.stack([np.frombuffer(one, "<u2") for one in snapshots])  # (S, P)
    codes[1:] ^= codes[:-1].copy()
    planes = codes.view(np.uint8).reshape(-1, 2).T  # (2, S · P)
    return np.frombuffer(zlib.compress(planes.tobytes(), 9), np.uint8)


def unpack(packed: NDArray[np.uint8], count: int) -> tuple[bytes, ...]:
    """Return the `count` snapshots that `pack` was given.

    Raises:
        ValueError: the bytes are damaged, more than `MOST`, or no `count` snapshots.
    """
    inflate = zlib.decompressobj()
    try:
        raw = inflate.decompress(packed.tobytes(), MOST)
    except zlib.error as error:
        raise ValueError("its snapshots are damaged") from error
    if not inflate.eof or not raw or count < 1 or len(raw) % (2 * count):
        raise ValueError(f"its snapshots are not {count} of the same model")
    planes = np.frombuffer(raw, np.uint8).reshape(2, -1)
    codes = np.ascontiguousarray(planes.T).view("<u2").reshape(count, -1)
    return tuple(one.tobytes() for one in np.bitwise_xor.accumulate(codes, axis=0))
