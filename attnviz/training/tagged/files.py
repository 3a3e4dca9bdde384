"""A training file and a test file as numbers: what a model is trained and tested on. It imports no torch.

Shapes: S sentences, N words of all of them together, V tokens of the vocabulary, K tags.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from attnviz.formatting import quoted
from attnviz.reprs import ShortRepr
from attnviz.training.tagged.reading import MOST_DIFFERENT, MOST_TAGS, TaggedError, TaggedText, read_tagged

FILL, UNKNOWN = 0, 1
"""The ids of what fills up a shorter sentence, and of a word that is not in the training file"""
NO_WORDS = ("<no word>", "<unknown word>")
"""Their labels. A word of a file has no space, so none can be one of these"""
Ids = NDArray[np.int32]


@dataclass(frozen=True, eq=False, repr=False)
class TaggedPart(ShortRepr):
    """One of the files."""

    name: str
    sha256: str
    """Of its bytes"""
    characters: int
    words: Ids
    """(N,), ids"""
    tags: Ids
    """(N,), numbers of tags"""
    lengths: Ids
    """(S,), words of each sentence"""

    def __post_init__(self) -> None:
        for one in (self.words, self.tags, self.lengths):
            one.setflags(write=False)
        if not len(self.lengths) or self.lengths.min() < 1 or self.lengths.sum() != len(self.words) or (
            self.words.shape != self.tags.shape
        ):  # fmt: skip
            raise ValueError(f"{len(self.words)} words and {len(self.tags)} tags in {len(self.lengths)} sentences")

    @property
    def nbytes(self) -> int:
        """Bytes in memory."""
        return self.words.nbytes + self.tags.nbytes + self.lengths.nbytes


@dataclass(frozen=True, eq=False, repr=False)
class TaggedFiles(ShortRepr):
    """Both files. The vocabulary and the tags are those of the training file."""

    words: tuple[str, ...]
    """The different words, in code-point order"""
    tags: tuple[str, ...]
    """K, in code-point order"""
    train: TaggedPart
    test: TaggedPart
    seen: int
    """How many sentences of the test file stand in the training file, word for word"""

    @property
    def labels(self) -> tuple[str, ...]:
        """The vocabulary, V: labels[i] is the token with id i."""
        return (*NO_WORDS, *self.words)

    @property
    def longest(self) -> int:
        """The words of the longest sentence of both files."""
        return int(max(self.train.lengths.max(), self.test.lengths.max()))

    @property
    def digest(self) -> str:
        """Equal for equal files: of the sha256 of both."""
        return hashlib.sha256(f"{self.train.sha256} {self.test.sha256}".encode()).hexdigest()

    @property
    def nbytes(self) -> int:
        """Bytes in memory, about."""
        return self.train.nbytes + self.test.nbytes + sum(64 + 2 * len(word) for word in self.words)

    @property
    def unknown(self) -> int:
        """How many words of the test file are not in the vocabulary."""
        return int((self.test.words == UNKNOWN).sum())

    @cached_property
    def baseline(self) -> Baseline:
        """What is right without a model."""
        return baseline(self)

    def to_bytes(self) -> bytes:
        """Return them as a safetensors file."""
        from safetensors.numpy import save

        parts = {"train": self.train, "test": self.test}
        said = {
            "words": self.words, "tags": self.tags, "seen": self.seen,
            **{name: [part.name, part.sha256, part.characters] for name, part in parts.items()},
        }  # fmt: skip
        arrays = {
            f"{name}.{what}": getattr(part, what)
            for name, part in parts.items()
            for what in ("words", "tags", "lengths")
        }
        return save({**arrays, "said": np.frombuffer(json.dumps(said).encode(), np.uint8)})

    @classmethod
    def from_bytes(cls, data: bytes) -> TaggedFiles:
        """Return what `to_bytes` has written."""
        from safetensors.numpy import load

        found = load(data)
        said = json.loads(found["said"].tobytes())
        train, test = (
            TaggedPart(*said[name], *(found[f"{name}.{what}"] for what in ("words", "tags", "lengths")))
            for name in ("train", "test")
        )
        return cls(tuple(said["words"]), tuple(said["tags"]), train, test, said["seen"])


@dataclass(frozen=True, eq=False, repr=False)
class Baseline(ShortRepr):
    """Each word's most frequent tag in the training file."""

    tags: Ids
    """(V,), by the id of a word. For an unknown word it is the most frequent tag of all"""
    right: int
    """Words of the test file that it tags right"""
    total: int
    """Words of the test file"""

    @property
    def accuracy(self) -> float:
        """From 0 to 1."""
        return self.right / self.total


def tagged_files(train: bytes, test: bytes, names: tuple[str, str] = ("", "")) -> TaggedFiles:
    """Read a training file and a test file.

    Args:
        train: the bytes of the first.
        test: of the second.
        names: of both, without their folders.

    Raises:
        TaggedError: as `read_tagged` raises it, the training file has more different words or tags than it may, or one
            tag only, or the test file has a tag that the training file lacks.
    """
    return made_of(read_tagged(train, "training", names[0]), read_tagged(test, "test", names[1]))


def made_of(train: TaggedText, test: TaggedText) -> TaggedFiles:
    """Return both files as numbers; raises as `tagged_files` does."""
    words = sorted({word for sentence in train.sentences for word, _ in sentence})
    tags = sorted(train.lines)
    if len(words) > MOST_DIFFERENT:
        raise TaggedError(
            f"The training file has {len(words):,} different words; it can have {MOST_DIFFERENT:,}: use fewer of its "
            "sentences."
        )
    if len(tags) > MOST_TAGS:
        extra = list(train.lines)[MOST_TAGS]
        raise TaggedError(
            f"Line {train.lines[extra]:,} of the training file has the tag {quoted(extra)}, the {MOST_TAGS + 1}st: "
            f"there can be {MOST_TAGS}."
        )
    if len(tags) < 2:
        raise TaggedError(f"The training file has one tag only, {quoted(tags[0])}, so there is nothing to learn.")
    missing = next((tag for tag in test.lines if tag not in train.lines), None)
    if missing is not None:
        raise TaggedError(
            f"Line {test.lines[missing]:,} of the test file has the tag {quoted(missing)}, which the training file "
            "lacks: no model can learn it."
        )
    ids = {word: number for number, word in enumerate(words, len(NO_WORDS))}
    numbers = {tag: number for number, tag in enumerate(tags)}
    known = {tuple(word for word, _ in sentence) for sentence in train.sentences}
    seen = sum(tuple(word for word, _ in sentence) in known for sentence in test.sentences)
    return TaggedFiles(tuple(words), tuple(tags), _part(train, ids, numbers), _part(test, ids, numbers), seen)


def _part(text: TaggedText, ids: Mapping[str, int], numbers: Mapping[str, int]) -> TaggedPart:
    pairs = [pair for sentence in text.sentences for pair in sentence]
    return TaggedPart(
        text.name, text.sha256, text.characters, _array([ids.get(word, UNKNOWN) for word, _ in pairs]),
        _array([numbers[tag] for _, tag in pairs]), _array([len(sentence) for sentence in text.sentences]),
    )  # fmt: skip


def _array(numbers: Sequence[int]) -> Ids:
    return np.array(numbers, np.int32)


def baseline(files: TaggedFiles) -> Baseline:
    """Tag the test file with each word's most frequent tag in the training file.

    Of equally frequent tags it is the first in code-point order. An unknown word has the most frequent tag of all.
    """
    counts = np.zeros((len(files.labels), len(files.tags)), np.int64)
    np.add.at(counts, (files.train.words, files.train.tags), 1)
    found = np.where(counts.any(1), counts.argmax(1), counts.sum(0).argmax()).astype(np.int32)
    right = int((found[files.test.words] == files.test.tags).sum())
    return Baseline(found, right, len(files.test.words))
