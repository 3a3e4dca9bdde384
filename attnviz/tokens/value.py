"""`Tokens`: what a tokenizer made of a text, the same for characters, words, WordPiece and any Hugging Face model."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cache

from tokenizers import Encoding

from attnviz.tokens.labels import printable

NO_ID = -1
"""The id of a character that a vocabulary does not hold. No row of an embedding has it: look at `unknown` first."""


class NoTokensError(ValueError):
    """A text of which a tokenizer makes no token at all, so there is nothing to attend to."""

    def __init__(self) -> None:
        super().__init__("The tokenizer drops every character of this text, so there is no token. Type another text.")


@dataclass(frozen=True, slots=True)
class Tokens:
    """The tokens of one text, or of a pair. All tuples have one entry a token.

    `offsets` are characters [start, end) of `text`, or of `pair` where the token's segment is 1; a token that the
    tokenizer added itself (`special`) has (0, 0). `dropped` counts the tokens that a limit cut off.
    """

    text: str
    pair: str | None
    pieces: tuple[str, ...]
    ids: tuple[int, ...]
    offsets: tuple[tuple[int, int], ...]
    segments: tuple[int, ...]
    special: tuple[bool, ...]
    unknown: tuple[bool, ...]
    dropped: int
    vocab_size: int
    tokenizer: str
    byte_level: bool = False
    """Whether `pieces` are in GPT-2's byte alphabet, where "Ġthe" is " the"."""
    labels: tuple[str, ...] = field(init=False, repr=False, compare=False)
    """What axes show, one a token and never empty: the piece, with what is invisible spelled out"""

    def __post_init__(self) -> None:
        columns = (self.pieces, self.ids, self.offsets, self.segments, self.special, self.unknown)
        lengths = [len(column) for column in columns]
        if len(set(lengths)) != 1:
            raise ValueError(f"pieces, ids, offsets, segments, special and unknown differ in length: {lengths}")
        spelled = map(_from_byte_alphabet, self.pieces) if self.byte_level else iter(self.pieces)
        labels = tuple(printable(piece) or "∅" for piece in spelled)
        object.__setattr__(self, "labels", labels)  # written once, as every view asks for them again and again

    def __len__(self) -> int:
        return len(self.pieces)

    def source(self, index: int) -> str:
        """Return the characters of the text (or the pair) that token `index` stands for; "" for an added one."""
        start, end = self.offsets[index]
        whole = self.pair if self.segments[index] == 1 and self.pair is not None else self.text
        return whole[start:end]


def repair(text: str) -> str:
    """Replace lone surrogates, which no UTF-8 can carry, by U+FFFD. The length stays, so offsets hold."""
    if text.isascii():
        return text
    return "".join("\ufffd" if "\ud800" <= character <= "\udfff" else character for character in text)


def check_limit(max_tokens: int | None, least: int = 0) -> None:
    """Raise ValueError where a limit on the number of tokens is below `least`."""
    if max_tokens is not None and max_tokens < least:
        raise ValueError(f"max_tokens is {max_tokens}, and at least {least} are needed")


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
    """Make `Tokens` of any `tokenizers.Encoding`, such as `fast_tokenizer(text).encodings[0]`.

    `text` and `pair` are what was encoded, without lone surrogates (`repair`). Padding is left out. Say
    `byte_level=True` for GPT-2's family, so that labels show the text and not its byte alphabet.
    """
    kept = [index for index, real in enumerate(encoding.attention_mask) if real]
    # A model may number both sentences 0 (RoBERTa), so the sequence goes before the type id; it is None for special
    # tokens, and for the first sentence after a truncation.
    segments = [
        type_id if sequence is None else sequence
        for sequence, type_id in zip(encoding.sequence_ids, encoding.type_ids, strict=True)
    ]
    pieces, ids, offsets, special = (
        encoding.tokens, encoding.ids, encoding.offsets, encoding.special_tokens_mask,
    )  # fmt: skip

    def unknown(index: int) -> bool:
        """Say whether the unknown token stands for something else; one that was typed or added is what it is."""
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
    """Return GPT-2's character -> byte: printable Latin-1 stands for itself, the others follow from U+0100 on."""
    plain = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    others = [byte for byte in range(256) if byte not in plain]
    return {chr(byte): byte for byte in plain} | {chr(256 + n): byte for n, byte in enumerate(others)}


def _from_byte_alphabet(piece: str) -> str:
    """Return the text of a byte-level piece; bytes that are only a part of a character are spelled \\xf0\\x9f."""
    alphabet = _byte_alphabet()
    if not all(character in alphabet for character in piece):
        return piece  # an added token such as <|endoftext|> with spaces, spelled as it is
    return bytes(alphabet[character] for character in piece).decode("utf-8", errors="backslashreplace")
