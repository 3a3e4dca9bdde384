"""What is known of the tokens of a batch of sentences before attention is looked at."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from attnviz.measures.summary import CLOSING_TOKENS, OPENING_TOKENS, is_punctuation
from attnviz.tokens import Tokens

PARTS = ("special", "punctuation", "rare", "other")
"""Parts of a sentence: added tokens such as [CLS]; punctuation; pieces of words that the vocabulary has not whole; all
other words. Each token is in one of them"""
NO_PART = len(PARTS)
"""The part of padding"""


@dataclass(frozen=True, slots=True, eq=False)
class Marks:
    """Marks of the tokens of B sentences, padded to the longest, which has T tokens."""

    lengths: Tensor
    """(B,)"""
    parts: Tensor
    """(B, T): numbers of `PARTS`, and `NO_PART`"""
    named: dict[str, Tensor]
    """bool, (B, T): the keys of the measures that sum the weights on some keys, by the measures' names. A sentence
    without such a key has no such measure"""

    @property
    def is_token(self) -> Tensor:
        """Which places are no padding, (B, T) bool."""
        return torch.arange(self.parts.shape[1]) < self.lengths[:, None]


def marks_of(sentences: Sequence[Tokens]) -> Marks:
    """Return the marks of sentences' tokens."""
    longest = max(map(len, sentences))

    def padded(rows: Sequence[Sequence[int | bool]], rest: int | bool) -> Tensor:
        return torch.tensor([[*row, *[rest] * (longest - len(row))] for row in rows])

    opening = [[piece in OPENING_TOKENS for piece in tokens.pieces] for tokens in sentences]
    closing = [[piece in CLOSING_TOKENS for piece in tokens.pieces] for tokens in sentences]
    punctuation = [[is_punctuation(tokens.source(index)) for index in range(len(tokens))] for tokens in sentences]
    # Where a token opens the text, it is the first one: as in `attnviz.measures.summary`.
    first = [[index == 0 and not any(own[:1]) for index in range(len(own))] for own in opening]
    parts = [
        [_part(*marks) for marks in zip(tokens.special, dots, in_pieces(tokens), strict=True)]
        for tokens, dots in zip(sentences, punctuation, strict=True)
    ]
    return Marks(
        torch.tensor(list(map(len, sentences))),
        padded(parts, NO_PART),
        {
            name: padded(rows, False)
            for name, rows in (("first", first), ("cls", opening), ("sep", closing), ("punctuation", punctuation))
        },
    )


def in_pieces(tokens: Tokens) -> list[bool]:
    """Return for each token whether it is a piece of a word: a letter or digit of another token touches it.

    WordPiece (Wu et al. 2016) cuts the words that its vocabulary does not have, which are the rare ones.
    """
    found = [False] * len(tokens)
    for index in range(1, len(tokens)):
        start = tokens.offsets[index][0]
        touches = tokens.offsets[index - 1][1] == start and tokens.segments[index - 1] == tokens.segments[index]
        if start and touches and (tokens.source(index - 1)[-1:] + tokens.source(index)[:1]).isalnum():
            found[index - 1] = found[index] = True
    return found


def _part(is_special: bool, is_punctuation_mark: bool, is_piece: bool) -> int:
    return 0 if is_special else 1 if is_punctuation_mark else 2 if is_piece else 3
