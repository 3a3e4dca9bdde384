"""The round trip text -> ids -> text: whether the text comes back the same, where it first differs, and why."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from attnviz.formatting import counted, were
from attnviz.tokens.tokenizers import CharVocab, WordPiece, WordTokenizer
from attnviz.tokens.value import Tokens


@dataclass(frozen=True, slots=True)
class RoundTrip:
    """A text, the text that its ids decode to, and the reasons for a difference (empty if both are equal)."""

    original: str
    decoded: str
    reasons: tuple[str, ...]

    @property
    def equal(self) -> bool:
        """Whether the text came back character for character."""
        return self.original == self.decoded

    @property
    def position(self) -> int | None:
        """The 0-based position of the first character that differs, or None if both are equal."""
        if self.equal:
            return None
        both = zip(self.original, self.decoded, strict=False)
        shorter = min(len(self.original), len(self.decoded))
        return next((i for i, (before, after) in enumerate(both) if before != after), shorter)


def round_trip(tokenizer: CharVocab | WordTokenizer | WordPiece, tokens: Tokens, segment: int = 0) -> RoundTrip:
    """Decode the ids of one segment of `tokens` (0: the text, 1: the pair) and explain every difference."""
    original = tokens.pair if segment == 1 and tokens.pair is not None else tokens.text
    places = [place for place, token_segment in enumerate(tokens.segments) if token_segment == segment]
    decoded = tokenizer.decode([tokens.ids[place] for place in places])
    if original == decoded:
        return RoundTrip(original, decoded, ())
    reasons = list(_common_reasons(tokens, places, original))
    if isinstance(tokenizer, WordTokenizer):
        reasons += _word_reasons(tokenizer, original)
    elif isinstance(tokenizer, WordPiece):
        reasons += _wordpiece_reasons(tokenizer, tokens, places, original)
    return RoundTrip(original, decoded, tuple(reasons))


def _common_reasons(tokens: Tokens, places: Sequence[int], original: str) -> Iterator[str]:
    ends = [tokens.offsets[place][1] for place in places]
    if tokens.dropped and max(ends, default=0) < len(original.rstrip()):
        yield f"{counted(tokens.dropped, 'token')} past the limit {were(tokens.dropped)} dropped."
    count = sum(tokens.unknown[place] for place in places)
    if count and tokens.tokenizer == "char":
        yield f"{counted(count, 'character')} without an id came back as �."
    elif count:
        yield f"{counted(count, 'token')} became [UNK], and [UNK] has no spelling to bring back."


def _word_reasons(tokenizer: WordTokenizer, original: str) -> Iterator[str]:
    if original != " ".join(original.split()):
        yield "Words come back with one space between them: line ends, tabs and further spaces are lost."
    for words in tokenizer.collisions.values():
        yield f"{', '.join(words)} share one id, so all of them come back as {words[0]}."


def _wordpiece_reasons(tokenizer: WordPiece, tokens: Tokens, places: Sequence[int], original: str) -> Iterator[str]:
    special = [place for place in places if tokenizer.is_special(tokens.ids[place])]
    kept = _without_special(tokens, special, original)
    if kept.lower() != kept:
        yield "BERT's tokenizer lower-cases the text."
    decomposed = [(character, unicodedata.normalize("NFD", character)) for character in kept]
    marked = [any(unicodedata.category(part) == "Mn" for part in parts) for _, parts in decomposed]
    if any(marked):
        yield "It removes accents and other marks from letters."
    if any(character != parts and not mark for (character, parts), mark in zip(decomposed, marked, strict=True)):
        yield "It replaces some characters by an equivalent Unicode form."
    if any(c == "\ufffd" or (unicodedata.category(c)[0] == "C" and not c.isspace()) for c in original):
        yield "It removes control characters, other invisible ones, and �."
    if original != " ".join(original.split()):
        yield "White space only separates words: it comes back as single spaces."
    if any(not (tokens.special[place] or tokens.unknown[place]) for place in special):
        yield "A typed [CLS], [SEP], [PAD], [MASK] or [UNK] is BERT's own token, which decoding leaves out."
    if _moves_spaces(tokenizer, tokens, [place for place in places if place not in special]):
        yield "Spaces next to punctuation are put back by rule, not as they were typed."


def _without_special(tokens: Tokens, special: Sequence[int], original: str) -> str:
    """Return the text without the characters that became [UNK] or a typed special token: both decode to nothing."""
    kept, position = [], 0
    for start, end in (tokens.offsets[place] for place in special):
        if end:
            kept.append(original[position:start])
            position = end
    return "".join([*kept, original[position:]])


def _moves_spaces(tokenizer: WordPiece, tokens: Tokens, places: Sequence[int]) -> bool:
    """Whether two neighbouring tokens touch in the text but not after decoding, or the other way round."""
    spelled = [(tokens.ids[place], *tokens.offsets[place]) for place in places if not tokens.special[place]]
    return any(
        (start <= end) != (" " not in tokenizer.decode((before, after)))
        for (before, _, end), (after, start, _) in pairwise(spelled)
    )
