"""A text in sentences: prose, a list, one line of a megabyte. The rules of languages are the library sentencex's."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from hashlib import blake2b

import sentencex

from attnviz.files import FOLDER
from attnviz.tokens import repair

MOST_SENTENCES = 20_000
"""A megabyte of English prose has some 12,000"""
LONGEST = 1000
"""Characters of a sentence; a longer one is cut at a space. 1000 are some 200 tokens, of 256 that an embedding reads"""
BLOCK = 20_000
"""Characters that are split at once: sentencex takes time with the square of unbalanced quotation marks"""
LOWER_CASE = 1 / 3
"""The share of a paragraph's lines that go on in lower case from which on it is taken as wrapped prose"""
LANGUAGE = "en"
"""Whose abbreviations are known; the punctuation of other scripts ends sentences too"""

_CONTROL = re.compile(r"[\x00-\x08\x0e-\x1f\x7f-\x84\x86-\x9f]")
_LINE_END = re.compile(r"\r\n|[\r\v\f\x85\u2028\u2029]")
_OPENING = "\"'“‘„«(["


@dataclass(frozen=True, slots=True)
class Sentences:
    """A text in sentences."""

    sentences: tuple[str, ...]
    """In the order of the text; white space is one space each"""
    left_out: int
    """How many follow after the first `MOST_SENTENCES`"""
    digest: str
    """Another one for other sentences"""

    def __len__(self) -> int:
        return len(self.sentences)


def split(text: str) -> Sentences:
    """Split a text into sentences.

    An empty line ends a sentence. So does every other line end, unless the paragraph is prose that was wrapped. What
    has neither letters, digits nor symbols is no sentence.
    """
    found = tuple(_sentences(_CONTROL.sub(" ", _LINE_END.sub("\n", repair(text)))))
    kept = found[:MOST_SENTENCES]
    return Sentences(kept, len(found) - len(kept), blake2b("\n".join(kept).encode(), digest_size=12).hexdigest())


@cache
def built_in() -> Sentences:
    """Return the sentences that this project has written for the search."""
    return split((FOLDER / "assets" / "bert" / "sentences.txt").read_text(encoding="utf-8"))


def _sentences(text: str) -> Iterator[str]:
    for paragraph in _paragraphs(text):
        for sentence in _segments(paragraph):
            for piece in _cut(" ".join(sentence.split()), LONGEST):
                if _says_something(piece):
                    yield piece


def _segments(paragraph: str) -> Iterator[str]:
    """Split a paragraph block by block; the last sentence of a block, which may be cut, begins the next one."""
    start = 0
    while start < len(paragraph):
        end = start + BLOCK
        if end < len(paragraph):
            space = paragraph.rfind(" ", start + 1, end)
            end = space if space > 0 else end
        *found, last = sentencex.segment(LANGUAGE, paragraph[start:end])
        if found and end < len(paragraph):
            end -= len(last)
        else:
            found.append(last)
        yield from found
        start = end


def _paragraphs(text: str) -> Iterator[str]:
    """Yield the wrapped paragraphs, each as one line, and every line of the others."""
    lines: list[str] = []
    for line in (*text.split("\n"), ""):
        if line.strip():
            lines.append(line.strip())
        elif lines:
            following = [one.lstrip(_OPENING)[:1].islower() for one in lines[1:]]
            is_wrapped = sum(following) >= max(1, LOWER_CASE * len(following))
            yield from [" ".join(lines)] if is_wrapped else lines
            lines = []


def _cut(text: str, longest: int) -> Iterator[str]:
    """Cut a text into pieces of at most so many characters, at the last space of each if it has one."""
    start = 0
    while len(text) - start > longest:
        space = text.rfind(" ", start + 1, start + longest)
        end = space if space > 0 else start + longest
        yield text[start:end].strip()
        start = end
    yield text[start:].strip()


def _says_something(sentence: str) -> bool:
    return any(character.isalnum() or unicodedata.category(character) == "So" for character in sentence)
