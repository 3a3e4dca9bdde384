"""A text as a data set: how many sequences it has to train on, and these as JSON lines of ids. It imports no torch."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence

from attnviz.training.text.cut import Cut, sequences_of


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
