"""Where a text is cut into training sequences: blocks at random positions, or line by line.

Does not import torch.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

Cut = Literal["blocks", "chunks", "plain"]
"""blocks: at random positions of the whole text. chunks: each line is a document, cut into overlapping sequences of
bounded length, with its line end as the end-of-document token. plain: each line is cut after every n tokens"""
CUTS: tuple[str, ...] = get_args(Cut)
MOST, LEAST = 40, 20
"""The longest and the shortest sequence by default, in tokens"""
OVERLAP_PART = 5
"""Consecutive chunks overlap by the longest length divided by this"""


@dataclass(frozen=True, slots=True)
class ChunkSettings:
    """How a document is cut."""

    most: int = MOST
    """The longest sequence, in tokens, not counting the end-of-document token"""
    least: int = LEAST
    """The shortest sequence: a shorter remainder is extended with the tokens before it; 1 keeps any remainder as it is
    """
    overlap: int = 0
    """How many tokens of the previous sequence a sequence repeats"""
    end: int | None = None
    """The id of the end-of-document token; None for no such token (a plain cut)"""

    def __post_init__(self) -> None:
        if not 1 <= self.least <= self.most or not 0 <= self.overlap < self.most:
            raise ValueError(f"{self.least} to {self.most} tokens with {self.overlap} in common can't be cut")


def settings_of(cut: Cut, most: int, end: int | None = None) -> ChunkSettings:
    """Return how lines are cut into sequences of at most `most` tokens; only chunks use `end`.

    Chunks have at least half of `most` tokens and overlap by a fifth of it: by default 20 to 40 tokens, 8 in common.
    """
    if cut == "plain":
        return ChunkSettings(most, 1)
    return ChunkSettings(most, max(1, most // (MOST // LEAST)), most // OVERLAP_PART, end)


def spans(count: int, settings: ChunkSettings) -> Iterator[tuple[int, int]]:
    """Cut a document of `count` tokens into sequences of `least` to `most` tokens: yields the start and stop of each.

    Each begins `overlap` tokens before the end of the previous one. If the last would be shorter than `least`, it
    begins earlier. A document shorter than `least` yields nothing.
    """
    if count < settings.least:
        return
    start = 0
    while start + settings.most < count:
        yield start, start + settings.most
        start += settings.most - settings.overlap
    yield max(0, min(start, count - settings.least)), count


def sequences_of(text: str, cut: Cut, most: int) -> Iterator[tuple[int, int]]:
    """Cut each line of a text separately: yields the start and stop of each sequence in the text.

    With chunks, the last sequence of a line includes the line end, as the end-of-document token. Sequences of a single
    token have nothing to predict and are left out.
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
    """Return the number of positions in a training part at which a block with a following character can begin."""
    return max(0, characters - block_size)


def id_lines(text: str, labels: Sequence[str], cut: Cut, most: int) -> Iterator[str]:
    """Yield a line `{"ids": [...]}` for each sequence of a text, for export as a data set.

    Args:
        text: the training part.
        labels: the vocabulary: labels[i] is the character with id i.
        cut: how the text is cut; blocks, drawn at random in training, are written consecutively, without overlap.
        most: the longest sequence, in tokens.
    """
    ids = {label: id_ for id_, label in enumerate(labels)}
    if cut == "blocks":
        spans: Iterator[tuple[int, int]] = ((at, min(at + most, len(text))) for at in range(0, len(text), most))
    else:
        spans = sequences_of(text, cut, most)
    for start, stop in spans:
        yield json.dumps({"ids": [ids[character] for character in text[start:stop]]})
