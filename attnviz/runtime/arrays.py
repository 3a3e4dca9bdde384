"""Arrays that browsers request by digest: pages offer them, and each is made when it is requested.

A page offers the arrays that its component may need (`ArrayStore.offer`). An offer computes nothing, so a page may
offer neighbouring views too. The browser requests the arrays that it shows from `GET /attnviz/arrays/<digest>`
(`serving/arrays.py`).
"""

from __future__ import annotations

import base64
import gzip
import secrets
import struct
import threading
import zlib
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass
from functools import cache, partial
from hashlib import blake2b

from cachetools import LRUCache

from attnviz.runtime.cache import SingleFlightCache
from attnviz.runtime.pool import WorkerPool, worker_pool

OFFERS = 2**14
"""Maximum offers; the one made or requested longest ago is dropped first. Each holds at most a text."""
BYTES = 48 * 2**20
"""Maximum bytes that are kept ready to be sent."""

SHORT = 2**18
"""The most bytes of a file that is compressed well: first visitors on slow lines wait for it"""
WELL, TEXT, QUICKLY = 6, 3, 1
"""Levels of compression: at 6, weights take three times as long as at 1, and are 2 % smaller; text takes two and a half
times as long as at 3, and is a tenth smaller."""
LONG_HEADER = 1 / 8
"""The share of a file from which on its header, which is text, is worth compressing alone"""

Make = Callable[[], bytes]
MakePart = Callable[[str], bytes]


PART = "~"
"""Separates a digest from the name of a part in an address"""


class NotOfferedError(LookupError):
    """Nothing is offered under a digest, or it can no longer be made: the page must offer it again."""


class UnmakeableError(ValueError):
    """An offered array can never be made; the message says why, in a sentence for the user."""


@dataclass(frozen=True, slots=True)
class Body:
    """The response for a digest."""

    data: bytes
    compressed: bool
    """Whether `data` is in gzip's format"""

    @property
    def nbytes(self) -> int:
        """Bytes in memory."""
        return len(self.data)

    def decompressed(self) -> bytes:
        """Return the uncompressed bytes."""
        return gzip.decompress(self.data) if self.compressed else self.data


@dataclass(frozen=True, slots=True)
class _Offer:
    make: Make
    part: MakePart | None
    compress: bool


class ArrayStore:
    """The offers of pages, and the bytes made from them, both limited in size."""

    def __init__(self, pool: WorkerPool, *, offers: int = OFFERS, capacity: int = BYTES) -> None:
        self._secret = secrets.token_bytes(32)
        self._lock = threading.Lock()
        self._offers: LRUCache[str, _Offer] = LRUCache(offers)
        self._made: SingleFlightCache[Body] = SingleFlightCache("arrays", capacity, pool)

    def digest(self, key: tuple[object, ...]) -> str:
        """Return the digest of a key: in this process, equal keys have equal digests, and nobody can guess a digest.

        Args:
            key: all that determines the bytes, such as the model's name, a digest of the text, and a layer: values
                that `repr` tells apart.
        """
        hashed = blake2b(repr(key).encode(), key=self._secret, digest_size=15).digest()
        return base64.urlsafe_b64encode(hashed).decode()

    def offer(
        self, key: tuple[object, ...], make: Make, *, part: MakePart | None = None, compress: bool = False
    ) -> str:
        """Return the digest of a key, under which browsers may now request what `make` returns.

        Args:
            key: see `digest`.
            make: returns a safetensors file. It runs in the worker pool, and again if its bytes were evicted, so it
                must hold no tensors, only what it computes them from. It may raise NotOfferedError and UnmakeableError.
            part: returns a part that is requested separately, under `<digest>~<name>`. The name comes from the browser
                and is not checked; for a part that does not exist, it raises NotOfferedError.
            compress: whether to compress the numbers too. That takes 20 ms of processor time a MB, and saves a tenth
                for float32 numbers, a third for weights in 16 bits, half for thumbnails. A long header is always
                compressed, which takes 7 ms a MB and saves six sevenths.
        """
        digest = self.digest(key)
        with self._lock:
            self._offers[digest] = _Offer(make, part, compress)
        return digest

    def request(self, address: str) -> Future[Body]:
        """Return a future of the body for a digest or a part. Concurrent requests share one computation.

        Raises:
            NotOfferedError: nothing is offered under this digest.
        """
        digest, separator, name = address.partition(PART)
        with self._lock:
            offer = self._offers.get(digest)
        if offer is None or (separator and offer.part is None):
            raise NotOfferedError
        make = partial(offer.part, name) if separator and offer.part else offer.make
        return self._made.request(address, partial(_body, make, compress=offer.compress))

    def ahead_of(self, address: str) -> int:
        """Return how many computations are ahead of a requested digest or part."""
        return self._made.ahead_of(address)

    def offers(self) -> int:
        """Return how many offers there are."""
        with self._lock:
            return len(self._offers)


def _body(make: Make, *, compress: bool) -> Body:
    data = make()
    if compress:
        return Body(gzip.compress(data, WELL if len(data) <= SHORT else QUICKLY, mtime=0), True)
    header = 8 + int.from_bytes(data[:8], "little")  # of a safetensors file
    if len(data) * LONG_HEADER <= header <= len(data):
        return Body(_gzip_with_header_compressed(data, header), True)
    return Body(data, False)


def _gzip_with_header_compressed(data: bytes, header: int) -> bytes:
    """Return a gzip file of `data` in which only the first `header` bytes are compressed (RFC 1951, 1952)."""
    compressed, stored = (zlib.compressobj(level, zlib.DEFLATED, -zlib.MAX_WBITS) for level in (TEXT, 0))
    return b"".join(
        (
            gzip.compress(b"", mtime=0)[:10],  # the fields before the data
            compressed.compress(data[:header]) + compressed.flush(zlib.Z_FULL_FLUSH),
            stored.compress(data[header:]) + stored.flush(),
            struct.pack("<II", zlib.crc32(data), len(data) % 2**32),
        )
    )


@cache
def array_store() -> ArrayStore:
    """Return the store of this process."""
    return ArrayStore(worker_pool())
