"""Texts whose words name parts of a picture: a row, a column, a cell, a matrix, the largest weight, ...

    annotated('[The row "it"](row=11) puts [0.97](row=11 column=5) on [“bicycle”](column=5).')
    AnnotatedText.of("Row ", named(f"“{token}”", row=3), " is the last.")

For other code, `AnnotatedText` is a plain string; only the browser highlights what the marked words name.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, fields
from functools import lru_cache
from typing import NamedTuple

PARTS = ("hidden", "diagonal", "largest", "smallest")
"""Parts of matrices of queries by keys: the cells that the mask hides, those of a token with itself, and the cell with
the largest or the smallest number of a row or of the whole matrix"""

_ITEM = re.compile(r"[a-z0-9_.-]{1,40}", re.ASCII)
_MARK = re.compile(r"\\?\[((?:[^\[\]]|\[[^\[\]]*\])+)\]\(([a-z]+=[^()]*)\)")


class MarkError(ValueError):
    """A mark does not name a part of a picture. The message is one sentence."""


@dataclass(frozen=True, slots=True)
class Target:
    """What a word names. Fields combine: a row and a column are a cell; with a matrix, the cell of that matrix only."""

    row: int | None = None
    """A query, counted from 0"""
    column: int | None = None
    """A key, counted from 0, even in a matrix whose rows are keys, such as V"""
    matrix: str = ""
    """The name of a matrix; "" means every matrix that has what the other fields name"""
    part: str = ""
    """One of `PARTS`; the largest and the smallest number are those of `row` if it is not None"""
    layer: int | None = None
    """Used with `head`, if a picture has several layers"""
    head: int | None = None
    item: str = ""
    """A part of the page that is no matrix: a curve, a row of a table, a text. The page's element has this name in
    `data-item`, or as its Streamlit key; of its parts, the one is meant whose text has the marked words. In lecture
    mode a text field or a setting leaves a scene, unless a word of its sentence names it"""
    step: int | None = None
    """A step of a training: what the other fields name is that of its snapshot"""

    def __post_init__(self) -> None:
        of_row = self.part in ("largest", "smallest")
        if self.part and self.part not in PARTS:
            raise MarkError(f"“{self.part[:40]}” is not a part of a matrix: {', '.join(PARTS)} are.")
        if self.part and (self.column is not None or (self.row is not None and not of_row)):
            raise MarkError(f"The part “{self.part}” is not one of a row or a column.")
        if self.layer is not None and self.head is None:
            raise MarkError("A layer alone names no part of a picture: give its head, too.")
        of_picture = (self.row, self.column, self.head, self.matrix or None, self.part or None)
        if self.item and any(field is not None for field in of_picture):
            raise MarkError("An item is a part of the page by itself: it has no row, column, matrix, part or head.")
        if self.item and not _ITEM.fullmatch(self.item):
            raise MarkError(f"“{self.item[:40]}” is not the name of an item: small letters, digits, “_”, “-” and “.”.")
        if not self.item and self.step is None and all(field is None for field in of_picture):
            raise MarkError("A mark names nothing.")


class Mark(NamedTuple):
    """Characters [start, end) of a text, and what they name."""

    start: int
    end: int
    target: Target


class AnnotatedText(str):
    """A text with ordered, non-overlapping marks of what its words name. Slices and f-strings of it are plain."""

    marks: tuple[Mark, ...]

    def __new__(cls, text: str = "", marks: Iterable[Mark] = ()) -> AnnotatedText:
        """Return the text with these marks."""
        marked = super().__new__(cls, text)
        marked.marks = tuple(marks)
        return marked

    @classmethod
    def of(cls, *parts: str) -> AnnotatedText:
        """Return texts as one, with the marks of those that have any."""
        start, marks = 0, []
        for part in parts:
            if isinstance(part, AnnotatedText):
                marks += [Mark(start + mark.start, start + mark.end, mark.target) for mark in part.marks]
            start += len(part)
        return cls("".join(parts), marks)

    @classmethod
    def joined(cls, parts: Iterable[str]) -> AnnotatedText:
        """Return sentences as one text, with a space between them; empty ones are left out."""
        spaced = [piece for part in parts if part for piece in (" ", part)]
        return cls.of(*spaced[1:])

    def pieces(self) -> Iterator[tuple[str, Target | None]]:
        """Yield the text in pieces, each with what it names."""
        position = 0
        for mark in self.marks:
            if position < mark.start:
                yield self[position : mark.start], None
            yield self[mark.start : mark.end], mark.target
            position = mark.end
        if position < len(self):
            yield self[position:], None


def marks_of(text: str) -> tuple[Mark, ...]:
    """Return the marks of a text; () for a plain string."""
    return text.marks if isinstance(text, AnnotatedText) else ()


def named(text: str, *, row: int | None = None, column: int | None = None, matrix: str = "", part: str = "",
          layer: int | None = None, head: int | None = None) -> AnnotatedText:  # fmt: skip
    """Return a text with one mark over all of it."""
    return AnnotatedText(text, (Mark(0, len(text), _part(row, column, matrix, part, layer, head)),))


_part = lru_cache(2**12)(Target)
"""Cached, because facts about the heads of a layer name the same parts many times"""


def position(_: str, raw: str) -> int:
    """Read a position: 0 to 9999.

    Raises:
        MarkError: `raw` is not a position.
    """
    if not re.fullmatch("[0-9]{1,4}", raw, re.ASCII):
        raise MarkError(f"“{raw[:40]}” is not a position, counted from 0.")
    return int(raw)


def _step(_: str, raw: str) -> int:
    if not re.fullmatch("[0-9]{1,6}", raw, re.ASCII):
        raise MarkError(f"“{raw[:40]}” is not a step of a training.")
    return int(raw)


def annotated(source: str, read: Callable[[str, str], int] = position) -> AnnotatedText:
    r"""Parse a text with marks as an author writes them: `[words](row=8 column=5)`. A backslash before it escapes one.

    Args:
        source: the text; square brackets without a following `(name=` are plain text.
        read: parses the value of "row" or "column" (its first argument); it may accept tokens, if it knows the text.

    Raises:
        MarkError: a mark is invalid; the message says which.
    """
    parts: list[str] = []
    end = 0
    for match in _MARK.finditer(source):
        parts.append(source[end : match.start()])
        end = match.end()
        if match[0].startswith("\\"):
            parts.append(match[0][1:])
            continue
        try:
            parts.append(AnnotatedText(match[1], (Mark(0, len(match[1]), _target(match[2], read)),)))
        except MarkError as why:
            raise MarkError(f"In “{match[0][:60]}”: {why}") from None
    return AnnotatedText.of(*parts, source[end:])


def _target(source: str, read: Callable[[str, str], int]) -> Target:
    raw_values: dict[str, str] = {}
    names = [field.name for field in fields(Target)]
    for pair in source.split():
        name, equals, value = pair.partition("=")
        if name not in names or not equals or not value:
            raise MarkError(f"“{pair[:40]}” is none of {', '.join(f'{known}=' for known in names)} with a value.")
        if name in raw_values:
            raise MarkError(f"It has {name} twice.")
        raw_values[name] = value
    readers = {"row": read, "column": read, "layer": position, "head": position, "step": _step}
    return Target(**{name: readers[name](name, raw) if name in readers else raw for name, raw in raw_values.items()})  # type: ignore[arg-type]
