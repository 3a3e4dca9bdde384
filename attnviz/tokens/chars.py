"""Character-level vocabularies: from a text, from Shakespeare or a file; and training examples of a language model."""

from __future__ import annotations

import codecs
import string
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from attnviz.formatting import larger
from attnviz.tokens.value import NO_ID, Tokens, check_limit, code_point, printable, repair

MAX_UPLOAD = 5 * 2**20
"""The largest uploaded vocabulary file, in bytes."""

_RULE = "is UTF-8 text of up to {} MB"


class UnknownCharacterError(ValueError):
    """`character`, at `position` of the text (0-based), is not in the vocabulary."""

    def __init__(self, character: str, position: int, vocab_size: int) -> None:
        self.character, self.position = character, position
        super().__init__(
            f"not in the vocabulary of {vocab_size} characters: '{printable(character)}'"
            f" ({code_point(character)}) at position {position}"
        )


class BadUploadError(ValueError):
    """An uploaded file can't be used as a vocabulary. The message is one sentence with the reason and the limit."""


def read_upload(data: bytes, what: str = "A vocabulary file", limit: int = MAX_UPLOAD) -> str:
    """Return the text of an uploaded file, without a byte order mark.

    Args:
        data: the bytes of the file.
        what: what kind of file it should be; the error message begins with this.
        limit: the largest size in bytes, a whole number of megabytes.

    Raises:
        BadUploadError: the file is empty, larger than `limit`, binary or not UTF-8.
    """
    rule = f"{what} {_RULE.format(limit // 2**20)}"
    if len(data) > limit:
        raise BadUploadError(f"{rule}; this one {larger(len(data), limit)}.")
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        raise BadUploadError(f"{rule}; this one is UTF-16: save it as UTF-8.")
    if b"\0" in data:
        raise BadUploadError(f"{rule}; this one holds NUL bytes, so it is not text.")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as why:
        position = why.start + (len(codecs.BOM_UTF8) if data.startswith(codecs.BOM_UTF8) else 0)
        raise BadUploadError(
            f"{rule}; this one has the byte 0x{data[position]:02X} at position {position},"
            " which is not UTF-8: save it as UTF-8."
        ) from why
    if not text:
        raise BadUploadError(f"{rule}; this one is empty.")
    return text


@dataclass(frozen=True, slots=True)
class CharVocab:
    """A vocabulary of characters: `characters[i]` has id i. Create one with a `from_` method."""

    characters: tuple[str, ...]
    _ids: dict[str, int] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_ids", {character: i for i, character in enumerate(self.characters)})

    @classmethod
    def from_text(cls, text: str) -> CharVocab:
        """Return the vocabulary of the characters of `text`, in code-point order."""
        return cls(tuple(sorted(set(repair(text)))))

    @classmethod
    def shakespeare(cls) -> CharVocab:
        """Return the 65 characters of tiny Shakespeare, the usual training text of character-level models."""
        return cls.from_text("\n !$&',-.3:;?" + string.ascii_letters)

    @classmethod
    def from_bytes(cls, data: bytes) -> CharVocab:
        """Return the vocabulary of an uploaded file. Raises BadUploadError as `read_upload` does."""
        return cls.from_text(read_upload(data))

    def __len__(self) -> int:
        return len(self.characters)

    def encode(self, text: str) -> list[int]:
        """Return one id per character. Raises UnknownCharacterError at the first character without an id."""
        text = repair(text)
        for position, character in enumerate(text):
            if character not in self._ids:
                raise UnknownCharacterError(character, position, len(self))
        return [self._ids[character] for character in text]

    def decode(self, ids: Iterable[int]) -> str:
        """Return the text of `ids`, with U+FFFD for `NO_ID`. Raises ValueError for any other unknown id."""
        return "".join("\ufffd" if id_ == NO_ID else self._character(id_) for id_ in ids)

    def _character(self, id_: int) -> str:
        if not 0 <= id_ < len(self):
            raise ValueError(f"unknown id {id_}: the vocabulary has ids 0 to {len(self) - 1}")
        return self.characters[id_]

    def tokenize(self, text: str, *, max_tokens: int | None = None) -> Tokens:
        """Return one token per character. A character without an id gets `NO_ID` and is marked in `unknown`."""
        check_limit(max_tokens)
        text = repair(text)
        pieces = tuple(text[:max_tokens])
        ids = tuple(self._ids.get(piece, NO_ID) for piece in pieces)
        count = len(pieces)
        return Tokens(
            text=text,
            pair=None,
            pieces=pieces,
            ids=ids,
            offsets=tuple((i, i + 1) for i in range(count)),
            segments=(0,) * count,
            special=(False,) * count,
            unknown=tuple(id_ == NO_ID for id_ in ids),
            dropped=len(text) - count,
            vocab_size=len(self),
            tokenizer="char",
        )


def context_pairs(tokens: Tokens | Sequence[int], block_size: int) -> list[tuple[tuple[int, ...], int]]:
    """Return the (context, next id) pairs of the first block: `block_size` + 1 ids give `block_size` pairs.

    Contexts grow from one id to `block_size` ids. A shorter text of n tokens gives n - 1 pairs.

    Raises:
        ValueError: `block_size` is below 1.
    """
    if block_size < 1:
        raise ValueError(f"block_size is {block_size}; it must be at least 1")
    ids = tuple(tokens.ids if isinstance(tokens, Tokens) else tokens)[: block_size + 1]
    return [(ids[:end], ids[end]) for end in range(1, len(ids))]
