"""Files of sentences, one per line, divided into blocks of lines; a process reads one block at a time."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO, NamedTuple

from attnviz.corpus.sentences import Reader
from attnviz.corpus.statistics import HeadStatistics, Place

LINES = 512
"""Lines in a block: some seconds of work, and 3 MB of sums"""
LONGEST = 20_000
"""The most bytes of a line: ten times the usual length of 512 tokens"""
NAMED = 20
"""How many problems are listed with their line; further ones are only counted"""
NOT_UTF8, TOO_LONG = "not UTF-8", f"longer than {LONGEST:,} bytes"
EMPTY_LINE = "empty"


@dataclass(frozen=True, slots=True)
class Source:
    """A file, as it was at the start of the run."""

    path: str
    size: int
    lines: int
    sha256: str
    quoted: bool = True
    """Whether its sentences may be the strongest examples, with their text"""

    @property
    def name(self) -> str:
        """The file's name without its folder."""
        return Path(self.path).name


class Block(NamedTuple):
    """Some lines of a file."""

    number: int
    """Counted over all files, from 0"""
    file: int
    """The number of the file"""
    path: str
    start: int
    """Offset in the file, in bytes"""
    size: int
    """The length in bytes"""
    first_line: int
    """The number of the first line, from 1"""
    lines: int
    quoted: bool
    """The file's `Source.quoted`"""


@dataclass(slots=True)
class Problems:
    """Lines that were skipped or cut: their number for each reason, and the first of them."""

    counts: Counter[str] = field(default_factory=Counter)
    named: list[tuple[Place, str]] = field(default_factory=list)
    """The first `NAMED`, in the order of the corpus; empty lines are only counted"""

    def add(self, place: Place, reason: str) -> None:
        """Count a line."""
        self.merge(Problems(Counter([reason]), [] if reason == EMPTY_LINE else [(place, reason)]))

    def merge(self, other: Problems) -> None:
        """Add the problems of another part."""
        self.counts.update(other.counts)
        self.named = sorted([*self.named, *other.named])[:NAMED]


@dataclass(frozen=True, slots=True, eq=False)
class Read:
    """The result of reading a block."""

    block: Block
    statistics: HeadStatistics
    problems: Problems
    weights: str
    """The digest of the model's weights"""


def sources(paths: Sequence[Path], quoted: Collection[Path] | None = None) -> list[Source]:
    """Read files once to compute their digests and count their lines.

    Args:
        paths: the files.
        quoted: the files whose sentences may be the strongest examples; all if None.

    Raises:
        OSError: a file can't be read.
        ValueError: a file is given twice.
    """
    files = []
    for path in paths:
        digest, size, lines = hashlib.sha256(), 0, 0
        with path.open("rb") as file:
            for piece, ends in _lines(file):
                digest.update(piece)
                size += len(piece)
                lines += ends
        is_quoted = quoted is None or path in quoted
        files.append(Source(str(path.resolve()), size, lines, digest.hexdigest(), is_quoted))
    if len({source.path for source in files}) < len(files):
        raise ValueError("a file is given twice, so its sentences would count twice")
    return files


def blocks(files: Sequence[Source], lines: int = LINES) -> Iterator[Block]:
    """Yield the blocks of files, in order; the same files give the same blocks.

    Raises:
        OSError: a file can't be read.
    """
    number = 0
    for index, source in enumerate(files):
        with Path(source.path).open("rb") as file:
            start, size, first, count = 0, 0, 1, 0
            for piece, ends in _lines(file):
                size += len(piece)
                count += ends
                if count == lines:
                    yield Block(number, index, source.path, start, size, first, count, source.quoted)
                    number, start, size, first, count = number + 1, start + size, 0, first + count, 0
            if count:
                yield Block(number, index, source.path, start, size, first, count, source.quoted)
                number += 1


def read_block(reader: Reader, block: Block) -> Read:
    """Read a block's sentences.

    Raises:
        OSError: the file can't be read.
    """
    problems, texts, places = Problems(), [], []
    for line, data in enumerate(_whole_lines(block), block.first_line):
        place = Place(block.file, line)
        text, reason = _decoded(data)
        if reason:
            problems.add(place, reason)
        else:
            texts.append(text)
            places.append(place)
    statistics = reader.read(
        texts,
        places if block.quoted else None,
        on_note=lambda number, reason: problems.add(places[number], reason),
    )
    return Read(block, statistics, problems, reader.weights)


def _decoded(data: bytes | None) -> tuple[str, str]:
    """Return a line's text and the reason to skip it, "" if there is none; `data` is None if the line is too long."""
    if data is None:
        return "", TOO_LONG
    try:
        text = data.decode().strip()
    except UnicodeDecodeError:
        return "", NOT_UTF8
    return text, "" if text else EMPTY_LINE


def _lines(file: BinaryIO) -> Iterator[tuple[bytes, bool]]:
    """Yield the lines of a file, too long ones in pieces to bound memory use, each with whether a line ends there."""
    previous = b""
    while piece := file.readline(LONGEST + 1):
        if previous:
            yield previous, previous.endswith(b"\n")
        previous = piece
    if previous:
        yield previous, True  # the last line of a file may have no line end


def _whole_lines(block: Block) -> Iterator[bytes | None]:
    """Yield the lines of a block; None for a line that is too long."""
    with Path(block.path).open("rb") as file:
        file.seek(block.start)
        left, is_long = block.size, False
        while left > 0 and (piece := file.readline(min(left, LONGEST + 1))):
            left -= len(piece)
            ends = piece.endswith(b"\n") or left == 0
            is_long = is_long or (not ends or len(piece.rstrip(b"\r\n")) > LONGEST)
            if ends:
                yield None if is_long else piece
                is_long = False
