"""A vocabulary of single characters, from a text, from Shakespeare or from an uploaded file."""

from __future__ import annotations

import codecs
import string
from collections.abc import Iterable
from dataclasses import dataclass, field

from attnviz.tokens.labels import code_point, printable
from attnviz.tokens.value import NO_ID, Tokens, check_limit, repair

MAX_UPLOAD = 5 * 2**20
"""Bytes that an uploaded vocabulary file may have."""

_RULE = "A vocabulary file is UTF-8 text of up to 5 MB"


class UnknownCharacterError(ValueError):
    """A character has no id: `character`, at `position` of the text, counted from 0."""

    def __init__(self, character: str, position: int, vocab_size: int) -> None:
        self.character, self.position = character, position
        super().__init__(
            f"not in the vocabulary of {vocab_size} characters: '{printable(character)}'"
            f" ({code_point(character)}) at position {position}"
        )


class BadUploadError(ValueError):
    """An uploaded file can't be a vocabulary. The message is one sentence that says why, and the limit."""


def read_upload(data: bytes) -> str:
    """Return the text of an uploaded file, without a byte order mark.

    Raises BadUploadError for more than `MAX_UPLOAD` bytes, for binary data, for another encoding and for nothing.
    """
    if len(data) > MAX_UPLOAD:
        raise BadUploadError(f"{_RULE}; this one has {len(data) / 2**20:.1f} MB.")
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        raise BadUploadError(f"{_RULE}; this one is UTF-16: save it as UTF-8.")
    if b"\0" in data:
        raise BadUploadError(f"{_RULE}; this one holds NUL bytes, so it is not text.")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as why:
        position = why.start + (len(codecs.BOM_UTF8) if data.startswith(codecs.BOM_UTF8) else 0)
        raise BadUploadError(
            f"{_RULE}; this one has the byte 0x{data[position]:02X} at position {position},"
            " which is not UTF-8: save it as UTF-8."
        ) from why
    if not text:
        raise BadUploadError(f"{_RULE}; this one is empty.")
    return text


@dataclass(frozen=True, slots=True)
class CharVocab:
    """Single characters with their ids: `characters[i]` has id i. Make one with a `from_` method."""

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
        """Return the 65 characters of the Shakespeare text that character models are usually trained on."""
        return cls.from_text("\n !$&',-.3:;?" + string.ascii_letters)

    @classmethod
    def from_bytes(cls, data: bytes) -> CharVocab:
        """Return the vocabulary of an uploaded file; raises BadUploadError as `read_upload` does."""
        return cls.from_text(read_upload(data))

    def __len__(self) -> int:
        return len(self.characters)

    def encode(self, text: str) -> list[int]:
        """Return one id a character; raises UnknownCharacterError at the first that has none."""
        text = repair(text)
        for position, character in enumerate(text):
            if character not in self._ids:
                raise UnknownCharacterError(character, position, len(self))
        return [self._ids[character] for character in text]

    def decode(self, ids: Iterable[int]) -> str:
        """Return the text of `ids`, with U+FFFD for `NO_ID`; raises ValueError for any other id that is not there."""
        return "".join("\ufffd" if id_ == NO_ID else self._character(id_) for id_ in ids)

    def _character(self, id_: int) -> str:
        if not 0 <= id_ < len(self):
            raise ValueError(f"there is no id {id_}: the vocabulary has 0 to {len(self) - 1}")
        return self.characters[id_]

    def tokenize(self, text: str, *, max_tokens: int | None = None) -> Tokens:
        """Return one token a character. One without an id is marked in `unknown` and gets `NO_ID`: no error."""
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
