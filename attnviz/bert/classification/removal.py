"""Leave one word out: what the classifier says without each word of a text.

A text of many words loses several neighbours at a time, so that the model runs at most `MOST` times, and on
a long text less often.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

MOST, FEWEST = 48, 8
SHORT = 128
"""Tokens of a text for which the model may run `MOST` times; for longer ones in proportion less often"""
_WORD = re.compile(r"\S+")


@dataclass(frozen=True, slots=True)
class Without:
    """A text without one word, or some neighbours."""

    words: str
    """What is left out"""
    text: str
    """What is left"""


def most_passes(tokens: int) -> int:
    """Return how often the model runs at most for a text of so many tokens."""
    return max(FEWEST, min(MOST, MOST * SHORT // max(1, tokens)))


def without_words(text: str, most: int = MOST) -> list[Without]:
    """Return the text without each of its words in turn: a word is what stands between spaces.

    Of more than `most` words, as few neighbours as possible are left out together. A text of one word has none to be
    left out.
    """
    words = list(_WORD.finditer(text))
    if len(words) < 2:
        return []
    each = -(-len(words) // most)
    found = []
    for first in range(0, len(words), each):
        gone = words[first : first + each]
        left = text[: gone[0].start()] + text[gone[-1].end() :]
        found.append(Without(text[gone[0].start() : gone[-1].end()], " ".join(left.split())))
    return found
