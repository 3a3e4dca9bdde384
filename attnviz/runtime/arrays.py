"""Arrays that browsers request under digests: pages offer them, and they are made when one is requested.

A page offers what its component may need (`ArrayStore.offer`). That computes nothing, so it may offer neighbours too.
The browser requests what it shows from `GET /attnviz/arrays/<digest>` (`serving/arrays.py`).
"""

from __future__ import annotations

import base64
import gzip
import secrets
import threading
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass
from functools import cache, partial
from hashlib import blake2b

from cachetools import LRUCache

from attnviz.runtime.cache import SingleFlightCache
from attnviz.runtime.pool import WorkerPool, worker_pool

OFFERS = 2**14
"""The most offers; the one that was made or requested longest ago is dropped first. Each holds a text at most."""
BYTES = 48 * 2**20
"""The most bytes that are ready to be sent."""

LEVEL = 1
"""Of compression: at 6, weights take three times as long, and are 2 % smaller."""

Make = Callable[[], bytes]
MakePart = Callable[[str], bytes]


PART = "~"
"""Stands in an address between a digest and the name of a part"""


class NotOfferedError(LookupError):
    """Nothing is offered under a digest, or it can no longer be made: the page has to offer it again."""


class UnmakeableError(ValueError):
    """What is offered can't be made, now or later; the message says why, in a sentence for the user."""


@dataclass(frozen=True, slots=True)
class Body:
    """What is sent for a digest."""

    data: bytes
    compressed: bool
    """Whether `data` is in gzip's format"""

    @property
    def nbytes(self) -> int:
        """Bytes in memory."""
        return len(self.data)

    def decompressed(self) -> bytes:
        """Return the bytes that were made."""
        return gzip.decompress(self.data) if self.compressed else self.data


@dataclass(frozen=True, slots=True)
class _Offer:
    make: Make
    part: MakePart | None
    compress: bool


class ArrayStore:
    """What pages have offered, and the bytes that were made of it, each within a bound."""

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
                must hold no tensors, only what they are made of. It may raise NotOfferedError and UnmakeableError.
            part: the same for what belongs to it and is requested apart, under `<digest>~<name>`. The name comes from
                the browser and is not checked; for one that does not exist it raises NotOfferedError.
            compress: whether its bytes are compressed once they are made. That takes 20 ms of processor time a MB, and
                saves a tenth of float32 numbers, a third of weights in 16 bits, half of thumbnails.
        """
        digest = self.digest(key)
        with self._lock:
            self._offers[digest] = _Offer(make, part, compress)
        return digest

    def request(self, address: str) -> Future[Body]:
        """Return the body for a digest or a part, or what it will be. Concurrent requests share one computation.

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
        """Return how many computations are ahead of a digest's or part's that was requested."""
        return self._made.ahead_of(address)

    def offers(self) -> int:
        """Return how many offers there are."""
        with self._lock:
            return len(self._offers)


def _body(make: Make, *, compress: bool) -> Body:
    made = make()
    return Body(gzip.compress(made, LEVEL, mtime=0) if compress else made, compress)


@cache
def array_store() -> ArrayStore:
    """Return the store of this process."""
    return ArrayStore(worker_pool())
