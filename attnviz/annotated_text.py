"""Texts whose words name parts of a picture: a row, a column, a cell, a matrix, the largest weight, ...

    annotated('[The row "it"](row=11) puts [0.97](row=11 column=5) on [“bicycle”](column=5).')
    AnnotatedText.of("Row ", named(f"“{token}”", row=3), " is the last.")

`AnnotatedText` is a plain string to all that reads it; only a browser makes the marked words light what they name.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, fields
from functools import lru_cache

PARTS = ("hidden", "diagonal", "largest", "smallest")
"""Parts of matrices of queries by keys: the cells that the mask hides, those of a token with itself, the cell with the
largest or the smallest number, of a row or of all"""

_MARK = re.compile(r"\\?\[((?:[^\[\]]|\[[^\[\]]*\])+)\]\(([a-z]+=[^()]*)\)")


class MarkError(ValueError):
    """A mark names nothing that a picture has. The message is one sentence."""


@dataclass(frozen=True, slots=True)
class Target:
    """What a word names. Fields together narrow it: a row and a column are a cell, with a matrix that one's cell."""

    row: int | None = None
    """A query, counted from 0"""
    column: int | None = None
    """A key, counted from 0; also where it is a row, as in V"""
    matrix: str = ""
    """The name of a matrix; "" means all that have the rest"""
    part: str = ""
    """One of `PARTS`; the largest and the smallest are those of `row` if it is given"""
    layer: int | None = None
    """With `head`, where a picture has several layers"""
    head: int | None = None

    def __post_init__(self) -> None:
        of_row = self.part in ("largest", "smallest")
        if self.part and self.part not in PARTS:
            raise MarkError(f"“{self.part[:40]}” is not a part of a matrix: {', '.join(PARTS)} are.")
        if self.part and (self.column is not None or (self.row is not None and not of_row)):
            raise MarkError(f"The part “{self.part}” is not one of a row or a column.")
        if self.layer is not None and self.head is None:
            raise MarkError("A layer alone names no part of a picture: give its head, too.")
        if self.row is None and self.column is None and self.head is None and not self.matrix and not self.part:
            raise MarkError("A mark names nothing.")


@dataclass(frozen=True, slots=True)
class Mark:
    """Characters [start, end) of a text, and what they name."""

    start: int
    end: int
    target: Target


class AnnotatedText(str):
    """A text, and what its words name: marks in order that do not overlap. Slices and f-strings of it are plain."""

    marks: tuple[Mark, ...]

    def __new__(cls, text: str = "", marks: Iterable[Mark] = ()) -> AnnotatedText:
        """Return the text with these marks."""
        made = super().__new__(cls, text)
        made.marks = tuple(marks)
        return made

    @classmethod
    def of(cls, *parts: str) -> AnnotatedText:
        """Return texts as one, with the marks of those that have any."""
        at, marks = 0, []
        for part in parts:
            if isinstance(part, AnnotatedText):
                marks += [Mark(at + one.start, at + one.end, one.target) for one in part.marks]
            at += len(part)
        return cls("".join(parts), marks)

    @classmethod
    def joined(cls, parts: Iterable[str]) -> AnnotatedText:
        """Return sentences as one text, with a space between them; empty ones are left out."""
        spaced = [piece for part in parts if part for piece in (" ", part)]
        return cls.of(*spaced[1:])

    def pieces(self) -> Iterator[tuple[str, Target | None]]:
        """Yield the text in pieces, each with what it names."""
        at = 0
        for mark in self.marks:
            if at < mark.start:
                yield self[at : mark.start], None
            yield self[mark.start : mark.end], mark.target
            at = mark.end
        if at < len(self):
            yield self[at:], None


def marks_of(text: str) -> tuple[Mark, ...]:
    """Return the marks of a text; none if it is a plain string."""
    return text.marks if isinstance(text, AnnotatedText) else ()


def named(text: str, *, row: int | None = None, column: int | None = None, matrix: str = "", part: str = "",
          layer: int | None = None, head: int | None = None) -> AnnotatedText:  # fmt: skip
    """Return a text that as a whole names this."""
    return AnnotatedText(text, (Mark(0, len(text), _part(row, column, matrix, part, layer, head)),))


_part = lru_cache(2**12)(Target)
"""Facts about the heads of a layer name the same parts again and again"""


def position(_: str, raw: str) -> int:
    """Read a position: 0 to 9999.

    Raises:
        MarkError: it is none.
    """
    if not re.fullmatch("[0-9]{1,4}", raw, re.ASCII):
        raise MarkError(f"“{raw[:40]}” is not a position, counted from 0.")
    return int(raw)


def annotated(source: str, read: Callable[[str, str], int] = position) -> AnnotatedText:
    r"""Read a text as an author writes it: `[words](row=8 column=5)`. After a backslash it is not a mark.

    Args:
        source: the text; square brackets that `(name=` does not follow are plain.
        read: reads the value of "row" or "column" (the first argument); a token may stand there, if it knows the text.

    Raises:
        MarkError: a mark is not right; the message says which.
    """
    parts: list[str] = []
    at = 0
    for found in _MARK.finditer(source):
        parts.append(source[at : found.start()])
        at = found.end()
        if found[0].startswith("\\"):
            parts.append(found[0][1:])
            continue
        try:
            parts.append(AnnotatedText(found[1], (Mark(0, len(found[1]), _target(found[2], read)),)))
        except MarkError as why:
            raise MarkError(f"In “{found[0][:60]}”: {why}") from None
    return AnnotatedText.of(*parts, source[at:])


def _target(source: str, read: Callable[[str, str], int]) -> Target:
    given: dict[str, str] = {}
    names = [field.name for field in fields(Target)]
    for pair in source.split():
        name, equals, value = pair.partition("=")
        if name not in names or not equals or not value:
            raise MarkError(f"“{pair[:40]}” is none of {', '.join(f'{one}=' for one in names)} with a value.")
        if name in given:
            raise MarkError(f"It has {name} twice.")
        given[name] = value
    readers = {"row": read, "column": read, "layer": position, "head": position}
    return Target(**{name: readers[name](name, raw) if name in readers else raw for name, raw in given.items()})  # type: ignore[arg-type]
