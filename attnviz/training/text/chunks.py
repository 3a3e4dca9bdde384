"""Documents of any length, read from disk line by line and cut into sequences of bounded length."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path

import torch
from torch import Tensor
from torch.utils.data import IterableDataset

from attnviz.training.text.cut import ChunkSettings, spans


def chunks(ids: Sequence[int], settings: ChunkSettings) -> Iterator[list[int]]:
    """Cut a document into sequences as `spans` does; the end-of-document token is added to the last one."""
    for start, stop in spans(len(ids), settings):
        piece = list(ids[start:stop])
        yield piece if settings.end is None or stop < len(ids) else [*piece, settings.end]


def examples(chunk: Sequence[int]) -> tuple[Tensor, Tensor]:
    """Return a model's inputs and targets for a sequence of n tokens: (n - 1,) and (n - 1,)."""
    whole = torch.tensor(chunk)
    return whole[:-1], whole[1:]


class FileChunks(IterableDataset[tuple[Tensor, Tensor]]):
    """The sequences of a file's documents, one document per line; the file is never read into memory as a whole.

    Each item is a result of `examples`. With several `DataLoader` workers, each takes its share of the lines.
    """

    def __init__(self, file: Path, encode: Callable[[str], Sequence[int]], settings: ChunkSettings) -> None:
        """Read `file` as UTF-8, with U+FFFD for invalid bytes; `encode` turns a document into ids."""
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
        """Cut one document; sequences of one token are dropped, since they have nothing to predict."""
        return (chunk for chunk in chunks(self._encode(document), self._settings) if len(chunk) > 1)
