"""`Tokens`, the result of every tokenizer: characters, words, WordPiece and any Hugging Face model."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache
from reprlib import repr as shortened

from tokenizers import Encoding

from attnviz.reprs import ShortRepr

_NAMED = {" ": "␣", "\n": "⏎", "\t": "⇥"}
_BLANK_LETTERS = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0")  # letters and marks without a glyph
_JOINERS = frozenset("\u200c\u200d")


def code_point(character: str) -> str:
    """Return the code point of one character: "é" -> "U+00E9"."""
    return f"U+{ord(character):04X}"


def printable(piece: str) -> str:
    """Return `piece` with each invisible character spelled out. Only "" gives "".

    A space becomes "␣", a line end "⏎", a tab "⇥", any other invisible character its code point ("U+0000").
    Inside a longer piece a code point is written in ⟨⟩, and the joiners inside an emoji are kept.
    """
    if piece.isascii() and piece.isprintable() and " " not in piece:
        return piece  # the usual case
    if len(piece) == 1:
        return _NAMED.get(piece) or _spell(piece)
    if all(_is_invisible(character) for character in piece):
        return "".join(_NAMED.get(character) or f"⟨{code_point(character)}⟩" for character in piece)
    return "".join(_spell_inside(character) for character in piece)


def _spell(character: str) -> str:
    if _is_invisible(character):
        return code_point(character)
    if unicodedata.category(character).startswith("M"):
        return "◌" + character  # a combining mark needs a base character
    return character


def _spell_inside(character: str) -> str:
    if character in _NAMED:
        return _NAMED[character]
    if _is_invisible(character) and not (character in _JOINERS or _is_variation_selector(character)):
        return f"⟨{code_point(character)}⟩"
    return character


def _is_variation_selector(character: str) -> bool:
    return "\ufe00" <= character <= "\ufe0f" or "\U000e0100" <= character <= "\U000e01ef"


def _is_invisible(character: str) -> bool:
    category = unicodedata.category(character)
    return category[0] in "CZ" or character in _BLANK_LETTERS or _is_variation_selector(character)


NO_ID = -1
"""The id of a character that is not in the vocabulary. It indexes no embedding: check `unknown` first."""


class NoTokensError(ValueError):
    """A tokenizer finds no token in a text, so there is nothing to attend to."""

    def __init__(self) -> None:
        super().__init__("The tokenizer drops every character of this text, so there is no token. Type another text.")


@dataclass(frozen=True, slots=True, repr=False)
class Tokens(ShortRepr):
    """The tokens of a text, or of a text and its pair. All tuples have one entry per token."""

    text: str
    """The text as it was given"""
    pair: str | None
    """The second text; None if there is none"""
    pieces: tuple[str, ...]
    """The tokens as the tokenizer writes them, such as "##ing" """
    ids: tuple[int, ...]
    """Their numbers in the vocabulary; `NO_ID` for a token without one"""
    offsets: tuple[tuple[int, int], ...]
    """The characters [start, end) of `text`, or of `pair` in segment 1; (0, 0) for tokens that the tokenizer added"""
    segments: tuple[int, ...]
    """1 for tokens of the second text, else 0"""
    special: tuple[bool, ...]
    """Whether the tokenizer added the token, such as [CLS]"""
    unknown: tuple[bool, ...]
    """Whether the token replaces characters that are not in the vocabulary"""
    dropped: int
    """How many tokens the length limit cut off"""
    vocab_size: int
    """The size of the vocabulary, V"""
    tokenizer: str
    """The tokenizer's name"""
    byte_level: bool = False
    """Whether `pieces` use GPT-2's byte alphabet, in which "Ġthe" is " the"."""
    labels: tuple[str, ...] = field(init=False, repr=False, compare=False)
    """Axis labels: the pieces with invisible characters spelled out, never empty"""

    def __post_init__(self) -> None:
        columns = (self.pieces, self.ids, self.offsets, self.segments, self.special, self.unknown)
        lengths = [len(column) for column in columns]
        if len(set(lengths)) != 1:
            raise ValueError(f"pieces, ids, offsets, segments, special and unknown differ in length: {lengths}")
        labels = tuple(label_of(piece, byte_level=self.byte_level) for piece in self.pieces)
        object.__setattr__(self, "labels", labels)  # computed once: every view reads them often

    def _summary(self) -> Iterator[str]:
        yield from (self.tokenizer, f"{len(self)} tokens")
        yield from (shortened(text) for text in (self.text, self.pair) if text is not None)

    def __len__(self) -> int:
        return len(self.pieces)

    @property
    def characters_per_token(self) -> float | None:
        """The mean number of characters per token in the text and its pair, without what truncation dropped.

        White space counts, tokens that the tokenizer added don't. None if there are no other tokens.
        """
        text_tokens = [index for index in range(len(self)) if not self.special[index]]
        if not text_tokens:
            return None
        texts = [self.text] if self.pair is None else [self.text, self.pair]
        lengths = [len(text) for text in texts]
        if self.dropped:
            lengths = [0] * len(texts)
            for index in text_tokens:
                segment = self.segments[index] if self.pair is not None else 0
                lengths[segment] = max(lengths[segment], self.offsets[index][1])
        return sum(lengths) / len(text_tokens)

    def source(self, index: int) -> str:
        """Return the characters of the text (or the pair) that token `index` covers; "" for an added token."""
        start, end = self.offsets[index]
        whole = self.pair if self.segments[index] == 1 and self.pair is not None else self.text
        return whole[start:end]


def place_in_another(index: int, before: Sequence[str], now: Sequence[str]) -> int | None:
    """Return where a token stands after its text has changed; None if it is gone, or can't be told from others.

    It stays where all tokens before it or all tokens after it are the same, also if it alone was replaced. Elsewhere
    it is known by its label, if neither text has that label twice; capitals and a space before it don't count.

    Args:
        index: its place before.
        before: the labels of all tokens before the change.
        now: and after it.
    """
    moved = index + len(now) - len(before)
    starts_alike = index < len(now) and before[:index] == now[:index]
    ends_alike = moved >= 0 and before[index + 1 :] == now[moved + 1 :]
    if starts_alike and (before[index] == now[index] or (ends_alike and moved == index)):
        return index
    if ends_alike and before[index] == now[moved]:
        return moved
    old, new = ([label.removeprefix("␣").casefold() for label in labels] for labels in (before, now))
    label = old[index]
    return new.index(label) if old.count(label) == new.count(label) == 1 else None


def label_of(piece: str, *, byte_level: bool = False) -> str:
    """Return the label of a vocabulary piece: invisible characters are spelled out, and it is never empty."""
    return printable(_from_byte_alphabet(piece) if byte_level else piece) or "∅"


def bare(label: str) -> str:
    """Return a label without the mark of a space before it."""
    return label.lstrip("␣▁") or label


def repair(text: str) -> str:
    """Replace lone surrogates, which UTF-8 can't encode, by U+FFFD. The length stays the same, so offsets hold."""
    if text.isascii():
        return text
    return "".join("\ufffd" if "\ud800" <= character <= "\udfff" else character for character in text)


def check_limit(max_tokens: int | None, minimum: int = 0) -> None:
    """Raise ValueError if `max_tokens` is below `minimum`. None means no limit."""
    if max_tokens is not None and max_tokens < minimum:
        raise ValueError(f"max_tokens is {max_tokens}; it must be at least {minimum}")


def from_encoding(
    encoding: Encoding,
    *,
    text: str,
    pair: str | None,
    vocab_size: int,
    tokenizer: str,
    dropped: int = 0,
    unk_id: int | None = None,
    byte_level: bool = False,
) -> Tokens:
    """Convert a `tokenizers.Encoding`, such as `fast_tokenizer(text).encodings[0]`, to `Tokens`.

    `text` and `pair` are the encoded texts, without lone surrogates (see `repair`). Padding is left out. Pass
    `byte_level=True` for GPT-2's family, so that labels show the text and not its byte alphabet.
    """
    kept = [index for index, real in enumerate(encoding.attention_mask) if real]
    # Some models give both sentences type id 0 (RoBERTa), so the sequence id takes precedence. It is None for special
    # tokens, and for the first sentence after truncation.
    segments = [
        type_id if sequence is None else sequence
        for sequence, type_id in zip(encoding.sequence_ids, encoding.type_ids, strict=True)
    ]
    pieces, ids, offsets, special = (
        encoding.tokens, encoding.ids, encoding.offsets, encoding.special_tokens_mask,
    )  # fmt: skip

    def unknown(index: int) -> bool:
        """Whether the unknown token replaces other text; a typed or added [UNK] does not."""
        start, end = offsets[index]
        whole = pair if segments[index] == 1 and pair is not None else text
        return ids[index] == unk_id and not special[index] and whole[start:end] != pieces[index]

    return Tokens(
        text=text,
        pair=pair,
        pieces=tuple(pieces[index] for index in kept),
        ids=tuple(ids[index] for index in kept),
        offsets=tuple((0, 0) if special[index] else offsets[index] for index in kept),
        segments=tuple(segments[index] for index in kept),
        special=tuple(bool(special[index]) for index in kept),
        unknown=tuple(unknown(index) for index in kept),
        dropped=dropped,
        vocab_size=vocab_size,
        tokenizer=tokenizer,
        byte_level=byte_level,
    )


@cache
def _byte_alphabet() -> dict[str, int]:
    """Return GPT-2's map character -> byte: printable Latin-1 maps to itself, the other bytes follow from U+0100."""
    plain = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    others = [byte for byte in range(256) if byte not in plain]
    return {chr(byte): byte for byte in plain} | {chr(256 + n): byte for n, byte in enumerate(others)}


def _from_byte_alphabet(piece: str) -> str:
    """Return the text of a byte-level piece. Bytes of an incomplete character are written as \\xf0\\x9f."""
    alphabet = _byte_alphabet()
    if not all(character in alphabet for character in piece):
        return piece  # an added token that contains spaces is plain text already
    return bytes(alphabet[character] for character in piece).decode("utf-8", errors="backslashreplace")
