"""Texts that a user types, as tokens of a task's vocabulary."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from attnviz.tokens import NO_ID, Tokens, repair

Part = tuple[str, int, int]
"""A token's piece, and where it starts and ends in the text; of a token that is added, both are 0"""


def parts_of(text: str, pattern: str = r"\S") -> list[Part]:
    """Return what a pattern finds in a text; by default each character that is no white space."""
    return [(match.group(), *match.span()) for match in re.finditer(pattern, repair(text))]


def added(pieces: Iterable[str]) -> list[Part]:
    """Return tokens that the user has not typed."""
    return [(piece, 0, 0) for piece in pieces]


def typed(tokens: Tokens) -> str:
    """Return what the user typed of the tokens, without those that are not in the vocabulary."""
    marks = zip(tokens.pieces, tokens.special, tokens.unknown, strict=True)
    return "".join(piece for piece, special, unknown in marks if not special and not unknown)


def tokens_of(text: str, parts: Sequence[Part], labels: Sequence[str], *, dropped: int = 0) -> Tokens:
    """Return the tokens of a text; a piece that is not in the vocabulary has no id and is marked in `unknown`.

    Args:
        text: as typed.
        parts: the tokens.
        labels: the vocabulary.
        dropped: how many tokens of the text were cut off.
    """
    known = {label: id_ for id_, label in enumerate(labels)}
    ids = tuple(known.get(piece, NO_ID) for piece, _, _ in parts)
    return Tokens(
        text=repair(text),
        pair=None,
        pieces=tuple(piece for piece, _, _ in parts),
        ids=ids,
        offsets=tuple((start, end) for _, start, end in parts),
        segments=(0,) * len(parts),
        special=tuple(start == end for _, start, end in parts),
        unknown=tuple(id_ == NO_ID for id_ in ids),
        dropped=dropped,
        vocab_size=len(labels),
        tokenizer="vocabulary",
    )
