"""A user's two files of tagged words, parsed and encoded as numbers to train and test a model on.

Shapes: S sentences, N words in all of them together, V tokens of the vocabulary, K tags.
Does not import torch.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from attnviz.formatting import quoted
from attnviz.reprs import ArraysSize, ShortRepr
from attnviz.tokens.tokenizers import BadUploadError, read_upload

MOST_BYTES = 2**20
"""Limit for a file, in whole megabytes"""
MOST_SENTENCES = 20_000
"""Limit for a file"""
MOST_WORDS = 128
"""Limit for a sentence"""
MOST_DIFFERENT = 8190
"""Limit on the different words of a training file: with the two special tokens, as many as a model file can hold"""
MOST_TAGS = 100
"""Limit on the different tags of a training file"""
LONGEST = 60
"""The most characters of a word or a tag"""
RULE = "a line has a word and its tag, with a tab or spaces between them"
_LINE_ENDS, _SPACES = re.compile(r"\r\n|\r|\n"), re.compile(r"[ \t]+")
_NOT_TEXT = re.compile(rb"\r\n|\r|\n")

Sentence = tuple[tuple[str, str], ...]
"""Words and their tags"""
FILL, UNKNOWN = 0, 1
"""The ids of padding, and of a word that is not in the training file"""
NO_WORDS = ("<no word>", "<unknown word>")
"""Their labels. Words of a file contain no spaces, so they can't equal these"""
Ids = NDArray[np.int32]


class TaggedError(ValueError):
    """A file can't be used. The message is one sentence for the user, with the line number if there is one."""


@dataclass(frozen=True, eq=False, repr=False)
class TaggedText(ShortRepr):
    """The contents of a file."""

    name: str
    """The file name, without its folder"""
    sha256: str
    """Of the file's bytes"""
    characters: int
    sentences: tuple[Sentence, ...]
    lines: dict[str, int]
    """The line, from 1, on which each tag first occurs, in this order"""


def read_tagged(data: bytes, which: str, name: str = "") -> TaggedText:
    """Parse a file.

    Words are separated by tabs and spaces and kept as written: upper and lower case differ.

    Args:
        data: the file's bytes; the first `MOST_BYTES` + 1 are enough.
        which: "training" or "test", for the error message.
        name: the file name.

    Raises:
        TaggedError: the file is too large, not UTF-8 text, has no sentences, has a line that is not a word and a tag,
            or exceeds a limit.
    """
    try:
        text = read_upload(data, f"A {which} file", MOST_BYTES)
    except BadUploadError as why:
        raise TaggedError(f"{str(why).removesuffix('.')}{_at_line(data)}.") from why
    where = f"of the {which} file"
    sentences: list[Sentence] = []
    words: list[tuple[str, str]] = []
    lines: dict[str, int] = {}
    for number, line in enumerate([*_LINE_ENDS.split(text), ""], 1):
        stripped = line.strip(" \t")
        if stripped:
            word, tag = _word_and_tag(stripped, number, where)
            words.append((word, tag))
            lines.setdefault(tag, number)
            if len(words) > MOST_WORDS:
                raise TaggedError(
                    f"Line {number:,} {where} is word {MOST_WORDS + 1} of its sentence, which can have {MOST_WORDS}: "
                    "a blank line ends a sentence."
                )
        elif words:
            sentences.append(tuple(words))
            words = []
            if len(sentences) > MOST_SENTENCES:
                raise TaggedError(f"Sentence {len(sentences):,} {where} ends at line {number - 1:,}: "
                                  f"a file can have {MOST_SENTENCES:,} sentences.")  # fmt: skip
    if not sentences:
        raise TaggedError(f"The {which} file has no sentences: {RULE}.")
    return TaggedText(name, hashlib.sha256(data).hexdigest(), len(text), tuple(sentences), lines)


def _word_and_tag(line: str, number: int, of: str) -> tuple[str, str]:
    word, _, rest = line.replace("\t", " ").partition(" ")
    tag = rest.lstrip(" ")
    if tag and " " not in tag and len(word) <= LONGEST and len(tag) <= LONGEST:
        return word, tag
    where, cells = f"Line {number:,} {of}", _SPACES.split(line, maxsplit=8)
    if len(cells) != 2:
        several = f"{len(cells)}" if len(cells) < 9 else "more than 8"
        shown = f", {quoted(line)}" if len(cells) == 1 else ""
        raise TaggedError(f"{where} has {'one column' if len(cells) == 1 else f'{several} columns'}{shown}: {RULE}.")
    what, cell = ("word", word) if len(word) > LONGEST else ("tag", tag)
    raise TaggedError(f"{where} has a {what} of {len(cell):,} characters; it can have {LONGEST}.")


def _at_line(data: bytes) -> str:
    """Return where a file stops being text, such as " (line 3)"; "" if all of it is text, or it is too large."""
    if len(data) > MOST_BYTES:
        return ""
    at = data.find(b"\0")
    if at < 0:
        try:
            data.decode("utf-8")
        except UnicodeDecodeError as why:
            at = why.start
    return f" (line {len(_NOT_TEXT.findall(data[:at])) + 1:,})" if at >= 0 else ""


@dataclass(frozen=True, eq=False, repr=False)
class TaggedPart(ShortRepr, ArraysSize):
    """One of the two files, encoded."""

    name: str
    sha256: str
    """Of the file's bytes"""
    characters: int
    words: Ids
    """(N,), the ids of the words"""
    tags: Ids
    """(N,), the indices of the tags"""
    lengths: Ids
    """(S,), the number of words of each sentence"""

    def __post_init__(self) -> None:
        for array in (self.words, self.tags, self.lengths):
            array.setflags(write=False)
        if not len(self.lengths) or self.lengths.min() < 1 or self.lengths.sum() != len(self.words) or (
            self.words.shape != self.tags.shape
        ):  # fmt: skip
            raise ValueError(f"{len(self.words)} words and {len(self.tags)} tags in {len(self.lengths)} sentences")


@dataclass(frozen=True, eq=False, repr=False)
class TaggedFiles(ShortRepr):
    """Both files, encoded. The vocabulary and the tags are those of the training file."""

    words: tuple[str, ...]
    """The different words, in code-point order"""
    tags: tuple[str, ...]
    """The K different tags, in code-point order"""
    train: TaggedPart
    test: TaggedPart
    seen: int
    """How many sentences of the test file also occur in the training file, word for word"""

    @property
    def labels(self) -> tuple[str, ...]:
        """The vocabulary, V: labels[i] is the token with id i."""
        return (*NO_WORDS, *self.words)

    @property
    def longest(self) -> int:
        """The number of words in the longest sentence of both files."""
        return int(max(self.train.lengths.max(), self.test.lengths.max()))

    @property
    def digest(self) -> str:
        """A sha256 computed from those of both files, so equal files have the same digest."""
        return hashlib.sha256(f"{self.train.sha256} {self.test.sha256}".encode()).hexdigest()

    @property
    def nbytes(self) -> int:
        """Approximate bytes in memory."""
        return self.train.nbytes + self.test.nbytes + sum(64 + 2 * len(word) for word in self.words)

    @property
    def unknown(self) -> int:
        """How many words of the test file are not in the vocabulary."""
        return int((self.test.words == UNKNOWN).sum())

    @cached_property
    def baseline(self) -> Baseline:
        """The result of tagging the test file with each word's most frequent tag in the training file, without a model.

        Among equally frequent tags, the first in code-point order is used. An unknown word gets the overall most
        frequent tag.
        """
        counts = np.zeros((len(self.labels), len(self.tags)), np.int64)
        np.add.at(counts, (self.train.words, self.train.tags), 1)
        predicted = np.where(counts.any(1), counts.argmax(1), counts.sum(0).argmax()).astype(np.int32)
        right = int((predicted[self.test.words] == self.test.tags).sum())
        return Baseline(predicted, right, len(self.test.words))

    def to_bytes(self) -> bytes:
        """Return them as a safetensors file."""
        from safetensors.numpy import save

        parts = {"train": self.train, "test": self.test}
        header = {
            "words": self.words, "tags": self.tags, "seen": self.seen,
            **{name: [part.name, part.sha256, part.characters] for name, part in parts.items()},
        }  # fmt: skip
        arrays = {
            f"{name}.{what}": getattr(part, what)
            for name, part in parts.items()
            for what in ("words", "tags", "lengths")
        }
        return save({**arrays, "said": np.frombuffer(json.dumps(header).encode(), np.uint8)})

    @classmethod
    def from_bytes(cls, data: bytes) -> TaggedFiles:
        """Read the files back from the output of `to_bytes`."""
        from safetensors.numpy import load

        arrays = load(data)
        header = json.loads(arrays["said"].tobytes())
        train, test = (
            TaggedPart(*header[name], *(arrays[f"{name}.{what}"] for what in ("words", "tags", "lengths")))
            for name in ("train", "test")
        )
        return cls(tuple(header["words"]), tuple(header["tags"]), train, test, header["seen"])


@dataclass(frozen=True, eq=False, repr=False)
class Baseline(ShortRepr):
    """Each word's most frequent tag in the training file."""

    tags: Ids
    """(V,), by word id. For an unknown word it is the overall most frequent tag"""
    right: int
    """The number of words of the test file that it tags correctly"""
    total: int
    """The number of words of the test file"""

    @property
    def accuracy(self) -> float:
        """From 0 to 1."""
        return self.right / self.total


def tagged_files(train: bytes, test: bytes, names: tuple[str, str] = ("", "")) -> TaggedFiles:
    """Read a training file and a test file.

    Args:
        train: the bytes of the training file.
        test: the bytes of the test file.
        names: the names of both files, without their folders.

    Raises:
        TaggedError: as in `read_tagged`; or the training file has too many different words or tags, or only one tag;
            or the test file has a tag that the training file lacks.
    """
    return made_of(read_tagged(train, "training", names[0]), read_tagged(test, "test", names[1]))


def made_of(train: TaggedText, test: TaggedText) -> TaggedFiles:
    """Encode both files; raises as `tagged_files` does."""
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
