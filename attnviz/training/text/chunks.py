"""Documents of any length as sequences of bounded length, read from disk one line at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor
from torch.utils.data import IterableDataset

MOST, LEAST = 40, 20
"""The longest and the shortest sequence by default, in tokens"""


@dataclass(frozen=True, slots=True)
class ChunkSettings:
    """How a document is cut."""

    most: int = MOST
    """The longest sequence, in tokens, without the token that ends the document"""
    least: int = LEAST
    """The shortest: a shorter rest is made up of the tokens before it; 1 keeps any rest as it is"""
    overlap: int = 0
    """Tokens that a sequence repeats of the one before it"""
    end: int | None = None
    """The id that ends a document; None for none, a plain cut"""

    def __post_init__(self) -> None:
        if not 1 <= self.least <= self.most or not 0 <= self.overlap < self.most:
            raise ValueError(f"{self.least} to {self.most} tokens with {self.overlap} in common can't be cut")


def chunks(ids: Sequence[int], settings: ChunkSettings) -> Iterator[list[int]]:
    """Cut a document into sequences of `least` to `most` tokens.

    Each begins `overlap` tokens before the end of the one before. If the last would be shorter than `least`, it begins
    as much earlier as it needs. A document that is itself shorter than `least` is left out. The token that ends the
    document is added to its last sequence.
    """
    count = len(ids)
    if count < settings.least:
        return
    start = 0
    while start + settings.most < count:
        yield list(ids[start : start + settings.most])
        start += settings.most - settings.overlap
    rest = list(ids[max(0, min(start, count - settings.least)) :])
    yield rest if settings.end is None else [*rest, settings.end]


def examples(chunk: Sequence[int]) -> tuple[Tensor, Tensor]:
    """Return what a model reads of a sequence of n tokens, and what is to follow each: (n - 1,) and (n - 1,)."""
    whole = torch.tensor(chunk)
    return whole[:-1], whole[1:]


def halves(ids: Tensor) -> tuple[Tensor, Tensor]:
    """Cut a sequence, (n,), in half: the context that is given, and the continuation that is to be matched."""
    middle = (len(ids) + 1) // 2
    return ids[:middle], ids[middle:]


class FileChunks(IterableDataset[tuple[Tensor, Tensor]]):
    """The sequences of a file's documents, one document a line; the file is never in memory as a whole.

    Each item is what `examples` returns. With several workers of a `DataLoader`, each takes its share of the lines.
    """

    def __init__(self, file: Path, encode: Callable[[str], Sequence[int]], settings: ChunkSettings) -> None:
        """Read `file` as UTF-8, with U+FFFD for bytes that are not; `encode` turns a document into ids."""
        super().__init__()
        self._file, self._encode, self._settings = file, encode, settings

    def __iter__(self) -> Iterator[tuple[Tensor, Tensor]]:
        worker = torch.utils.data.get_worker_info()
        first, step = (0, 1) if worker is None else (worker.id, worker.num_workers)
        with self._file.open(encoding="utf-8", errors="replace") as lines:
            for number, line in enumerate(lines):
                if number % step == first:
                    yield from map(examples, self._cut(line.rstrip("\n")))

    def _cut(self, document: str) -> Iterable[list[int]]:
        """Cut one document; a sequence of one token has nothing to predict."""
        return (one for one in chunks(self._encode(document), self._settings) if len(one) > 1)
