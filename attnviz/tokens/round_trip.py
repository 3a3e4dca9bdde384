"""Text -> ids -> text: is it the same, where does it first differ, and why."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

from attnviz.tokens.chars import CharVocab
from attnviz.tokens.value import Tokens
from attnviz.tokens.wordpiece import WordPiece
from attnviz.tokens.words import WordTokenizer


@dataclass(frozen=True, slots=True)
class RoundTrip:
    """A text, what its ids decode to, and the reasons for a difference (none where both are equal)."""

    original: str
    decoded: str
    reasons: tuple[str, ...]

    @property
    def equal(self) -> bool:
        """Whether the text came back character for character."""
        return self.original == self.decoded

    @property
    def position(self) -> int | None:
        """The first character that differs, counted from 0; None where both are equal."""
        if self.equal:
            return None
        both = zip(self.original, self.decoded, strict=False)
        shorter = min(len(self.original), len(self.decoded))
        return next((i for i, (before, after) in enumerate(both) if before != after), shorter)


def round_trip(tokenizer: CharVocab | WordTokenizer | WordPiece, tokens: Tokens, segment: int = 0) -> RoundTrip:
    """Decode the ids of one sentence of `tokens` and say what was lost, and why."""
    original = tokens.pair if segment == 1 and tokens.pair is not None else tokens.text
    ids = [id_ for id_, of in zip(tokens.ids, tokens.segments, strict=True) if of == segment]
    decoded = tokenizer.decode(ids)
    if original == decoded:
        return RoundTrip(original, decoded, ())
    reasons = list(_cut_or_unknown(tokens, segment, original))
    if isinstance(tokenizer, WordTokenizer):
        reasons += _why_words(tokenizer, original)
    elif isinstance(tokenizer, WordPiece):
        reasons += _why_wordpiece(tokenizer, tokens, segment, original)
    return RoundTrip(original, decoded, tuple(reasons))


def _cut_or_unknown(tokens: Tokens, segment: int, original: str) -> Iterator[str]:
    ends = [end for (_, end), of in zip(tokens.offsets, tokens.segments, strict=True) if of == segment]
    if tokens.dropped and max(ends, default=0) < len(original.rstrip()):
        yield f"{tokens.dropped:,} tokens past the limit were dropped."
    count = sum(lost and of == segment for lost, of in zip(tokens.unknown, tokens.segments, strict=True))
    if count and tokens.tokenizer == "char":
        yield f"{_some(count, 'character')} without an id came back as �."
    elif count:
        yield f"{_some(count, 'token')} became [UNK], and [UNK] has no spelling to bring back."


def _why_words(tokenizer: WordTokenizer, original: str) -> Iterator[str]:
    if original != " ".join(original.split()):
        yield "Words come back with one space between them: line ends, tabs and further spaces are lost."
    for words in tokenizer.collisions.values():
        yield f"{', '.join(words)} share one id, so all of them come back as {words[0]}."


def _why_wordpiece(tokenizer: WordPiece, tokens: Tokens, segment: int, original: str) -> Iterator[str]:
    kept = _spelled_back(tokenizer, tokens, segment, original)
    if kept.lower() != kept:
        yield "BERT's tokenizer lower-cases the text."
    apart = [(character, unicodedata.normalize("NFD", character)) for character in kept]
    marked = [any(unicodedata.category(part) == "Mn" for part in parts) for _, parts in apart]
    if any(marked):
        yield "It takes the accents and other marks off the letters."
    if any(character != parts and not mark for (character, parts), mark in zip(apart, marked, strict=True)):
        yield "It writes some characters in another form that Unicode holds for the same."
    if any(c == "\ufffd" or (unicodedata.category(c)[0] == "C" and not c.isspace()) for c in original):
        yield "It removes control characters, other invisible ones, and �."
    if original != " ".join(original.split()):
        yield "White space only parts words: what comes back is single spaces."
    rows = zip(tokens.ids, tokens.special, tokens.segments, tokens.unknown, strict=True)
    if any(tokenizer.is_special(id_) and not (added or lost) for id_, added, of, lost in rows if of == segment):
        yield "A typed [CLS], [SEP], [PAD], [MASK] or [UNK] is BERT's own token, which decoding leaves out."
    if _moves_spaces(tokenizer, tokens, segment):
        yield "Spaces next to punctuation are put back by rule, not as they were typed."


def _spelled_back(tokenizer: WordPiece, tokens: Tokens, segment: int, original: str) -> str:
    """Return the text without the characters of [UNK] and typed special tokens, whose spelling is lost anyway."""
    kept, at = [], 0
    for id_, (start, end), of in zip(tokens.ids, tokens.offsets, tokens.segments, strict=True):
        if of == segment and end and tokenizer.is_special(id_):
            kept.append(original[at:start])
            at = end
    return "".join([*kept, original[at:]])


def _moves_spaces(tokenizer: WordPiece, tokens: Tokens, segment: int) -> bool:
    """Say whether two neighbours touch in the text but not once decoded, or the other way round."""
    rows = zip(tokens.ids, tokens.offsets, tokens.segments, tokens.special, strict=True)
    spelled = [(id_, start, end) for id_, (start, end), of, added in rows
               if of == segment and not (added or tokenizer.is_special(id_))]  # fmt: skip
    return any(
        (start <= end) != (" " not in tokenizer.decode((before, after)))
        for (before, _, end), (after, start, _) in pairwise(spelled)
    )


def _some(count: int, noun: str) -> str:
    return f"{count:,} {noun}{'' if count == 1 else 's'}"
