"""Where a text is cut into the sequences that a model is trained on: blocks at random places, or line by line.

It imports no torch.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

Cut = Literal["blocks", "chunks", "plain"]
"""blocks: at random places of the whole text. chunks: each line is a document, cut by itself into sequences of bounded
length that overlap, and its line end is the token that ends it. plain: each line cut after every n tokens"""
CUTS: tuple[str, ...] = get_args(Cut)
MOST, LEAST = 40, 20
"""The longest and the shortest sequence by default, in tokens"""
OVERLAP_PART = 5
"""Chunks have one token of so many in common with the one before"""


@dataclass(frozen=True, slots=True)
class ChunkSettings:
    """How a document is cut."""

    most: int = MOST
    """The longest sequence, in tokens, without the token that ends the document"""
    least: int = LEAST
    """The shortest: a shorter rest is made up of the tokens before it; 1 keeps any rest as it is"""
    overlap: int = 0
    """Tokens that a sequence repeats of the one before it"""
    end: int | None = None
    """The id that ends a document; None for none, a plain cut"""

    def __post_init__(self) -> None:
        if not 1 <= self.least <= self.most or not 0 <= self.overlap < self.most:
            raise ValueError(f"{self.least} to {self.most} tokens with {self.overlap} in common can't be cut")


def settings_of(cut: Cut, most: int, end: int | None = None) -> ChunkSettings:
    """Return how lines are cut into sequences of at most so many tokens; `end` is for chunks alone.

    Chunks are at least half as long, and overlap by a fifth: 20 to 40 tokens, 8 in common.
    """
    if cut == "plain":
        return ChunkSettings(most, 1)
    return ChunkSettings(most, max(1, most // (MOST // LEAST)), most // OVERLAP_PART, end)


def spans(count: int, settings: ChunkSettings) -> Iterator[tuple[int, int]]:
    """Cut a document of so many tokens into `least` to `most` of them: yields the first of each and the one after it.

    Each begins `overlap` tokens before the end of the one before. If the last would be shorter than `least`, it begins
    as much earlier as it needs. A document that is itself shorter than `least` is left out.
    """
    if count < settings.least:
        return
    start = 0
    while start + settings.most < count:
        yield start, start + settings.most
        start += settings.most - settings.overlap
    yield max(0, min(start, count - settings.least)), count


def sequences_of(text: str, cut: Cut, most: int) -> Iterator[tuple[int, int]]:
    """Cut each line of a text by itself: yields where each sequence begins in the text, and where the text goes on.

    The last sequence of a line has its line end too where chunks are wanted, as the token that ends a document. One of
    a single token has nothing to predict, and is left out.
    """
    settings, begin = settings_of(cut, most), 0
    for line in text.split("\n"):
        after = begin + len(line)
        for start, stop in spans(len(line), settings):
            has_end = cut == "chunks" and stop == len(line) and after < len(text)
            if stop + has_end - start > 1:
                yield begin + start, begin + stop + has_end
        begin = after + 1


def length_of(characters: int, block_size: int) -> int:
    """Return at how many places of a training part a block begins that has a character after it."""
    return max(0, characters - block_size)


def id_lines(text: str, labels: Sequence[str], cut: Cut, most: int) -> Iterator[str]:
    """Yield a line `{"ids": [...]}` for each sequence of a text, as a data set of them is written.

    Args:
        text: the training part.
        labels: the vocabulary: labels[i] is the character with id i.
        cut: as a text is cut; blocks, which are drawn at any place, are written one after another, without overlap.
        most: the longest sequence, in tokens.
    """
    ids = {label: id_ for id_, label in enumerate(labels)}
    if cut == "blocks":
        spans: Iterator[tuple[int, int]] = ((at, min(at + most, len(text))) for at in range(0, len(text), most))
    else:
        spans = sequences_of(text, cut, most)
    for start, stop in spans:
        yield json.dumps({"ids": [ids[one] for one in text[start:stop]]})
