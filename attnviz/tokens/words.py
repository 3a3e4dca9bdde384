"""Words separated by white space, with hashed ids: no vocabulary list, but words may share an id."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from attnviz.tokens.value import Tokens, check_limit, repair

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
        for word in dict.fromkeys(_words(repair(text))):
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


def _words(text: str) -> list[str]:
    return re.findall(r"\S+", text)
