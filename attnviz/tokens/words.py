"""Words between white space, with ids from a hash: a vocabulary that needs no list, and the price of that."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from attnviz.tokens.value import Tokens, check_limit, repair

BUCKETS = 20_000
"""Ids that a word's hash may fall on: 0 to 19,999."""


@dataclass(frozen=True, slots=True)
class WordTokenizer:
    """Cuts a text at white space; a word's id is its hash modulo `buckets`.

    A word is a run of characters that are not white space: spaces, tabs, line ends and Unicode's other spaces, any
    number of them, only part words. Punctuation stays on its word, and "The" is not "the".

    A hash can't be turned back. `decode` knows the words of `lexicon` (id -> the words seen with it, in order), which
    `from_text` fills.
    """

    buckets: int = BUCKETS
    lexicon: Mapping[int, tuple[str, ...]] = field(default_factory=lambda: MappingProxyType({}))

    def __post_init__(self) -> None:
        if self.buckets < 1:
            raise ValueError(f"buckets is {self.buckets}, and at least 1 is needed")

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
        """Return a word's id: 8 bytes of BLAKE2b of its UTF-8, big-endian, modulo `buckets`. The same everywhere."""
        digest = hashlib.blake2b(repair(word).encode(), digest_size=8).digest()
        return int.from_bytes(digest) % self.buckets

    @property
    def collisions(self) -> dict[int, tuple[str, ...]]:
        """The lexicon's ids that several words share: a model can't tell these words apart."""
        return {id_: words for id_, words in self.lexicon.items() if len(words) > 1}

    def tokenize(self, text: str, *, max_tokens: int | None = None) -> Tokens:
        """Return one token a word. Every word has an id, so none is unknown."""
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
        """Return words joined by one space: an id's first word in the lexicon, or U+FFFD where it has none."""
        return " ".join(self.lexicon.get(id_, ("\ufffd",))[0] for id_ in ids)


def _words(text: str) -> list[str]:
    return re.findall(r"\S+", text)
