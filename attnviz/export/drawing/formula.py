"""The formulas of `explain.formula` as runs of text, for files that set no LaTeX: the same source, read once more."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

from attnviz.export.drawing import fonts
from attnviz.export.drawing.marks import Box, Mark, Text
from attnviz.export.drawing.themes import Theme

_SIGNS = {
    r"\top": "ᵀ", r"\cdot": " · ", r"\,": "\N{THIN SPACE}", r"\;": " ", r"\qquad": "     ", r"\rightarrow": "→",
    r"\left": "", r"\right": "",
}  # fmt: skip
_TOKEN = re.compile(r"\\[A-Za-z]+|\\[,;]|[{}^_]|[^\\{}^_]")


@dataclass(frozen=True, slots=True)
class Run:
    """Some letters of a formula that look alike."""

    text: str
    colour: str | None = None
    level: int = 0
    """1 above the line, -1 below it"""
    boxed: bool = False
    """Whether it belongs to the term of this step"""


def runs(latex: str) -> tuple[Run, ...]:
    """Read the LaTeX that `explain.formula` writes, and no other.

    Raises:
        ValueError: a command that it does not use, so that no formula is shown in part.
    """
    pieces = [found.group() for found in _TOKEN.finditer(latex)]
    read = list(_read(_Reader(pieces), Run("")))
    joined: list[Run] = []
    for run in read:
        if joined and replace(joined[-1], text="") == replace(run, text=""):
            joined[-1] = replace(run, text=joined[-1].text + run.text)
        else:
            joined.append(run)
    return tuple(replace(run, text=re.sub(r"  +(?=[=+→·])", " ", run.text)) for run in joined)


def plain(latex: str) -> str:
    """Return a formula as one line of text."""
    return "".join(f"_{run.text}" if run.level < 0 else run.text for run in runs(latex)).strip()


def set_formula(latex: str, *, x: float, y: float, size: float, theme: Theme, room: float) -> list[Mark]:
    """Set a formula on one line from (x, y), its base line; smaller where it would be wider than `room`."""
    read = runs(latex)
    size *= min(1.0, room / (_width(read, size) + 20))
    texts: list[Mark] = []
    boxed: list[tuple[float, float]] = []
    for before, run in zip((Run(""), *read), read, strict=False):
        x += 9 if run.boxed != before.boxed else 0  # the box has some air on both sides
        type_size = size * (0.7 if run.level else 1.0)
        wide = fonts.width(run.text, type_size)
        if run.boxed:
            boxed.append((x, x + wide))
        if run.text.strip():
            lead = fonts.width(run.text[: len(run.text) - len(run.text.lstrip())], type_size)
            shift = size * (-0.35 if run.level > 0 else 0.2 if run.level < 0 else 0.0)
            texts.append(Text(x + lead, y + shift, run.text.strip(), type_size, run.colour or theme.text))
        x += wide
    if not boxed:
        return texts
    left, right = boxed[0][0] - 6, boxed[-1][1] + 6
    return [
        Box(left, y - size, right - left, size * 1.42, fill=theme.boxed, outline=theme.palette.ink.attention, line=1.5),
        *texts,
    ]


def _width(read: tuple[Run, ...], size: float) -> float:
    return sum(fonts.width(run.text, size * (0.7 if run.level else 1.0)) for run in read)


class _Reader:
    def __init__(self, pieces: list[str]) -> None:
        self.pieces, self.at = pieces, 0

    def next(self) -> str:
        self.at += 1
        return self.pieces[self.at - 1]

    def word(self) -> str:
        """Return what stands in the braces that follow, as it is."""
        self.next()
        letters = ""
        while (piece := self.next()) != "}":
            letters += piece
        return letters


def _read(reader: _Reader, like: Run) -> Iterator[Run]:
    """Read up to the closing brace or the end."""
    while reader.at < len(reader.pieces):
        piece = reader.next()
        if piece == "}":
            return
        if piece == r"\color":
            like = replace(like, colour=reader.word())
        else:
            yield from _one(piece, reader, like)


def _one(piece: str, reader: _Reader, like: Run) -> Iterator[Run]:
    """Read one thing: a group, a sign, a word or a letter."""
    if piece == "{":
        yield from _read(reader, like)
    elif piece in ("^", "_"):
        below = replace(like, level=1 if piece == "^" else -1)
        inner = list(_one(reader.next(), reader, below))
        yield from (replace(run, level=0) if run.text == "ᵀ" else run for run in inner)
    elif piece == r"\boxed":
        reader.next()
        yield from _read(reader, replace(like, boxed=True))
    elif piece in (r"\operatorname", r"\text"):
        yield replace(like, text=reader.word())
    elif piece.startswith("\\"):
        if piece not in _SIGNS:
            raise ValueError(f"no formula of attnviz uses {piece}")
        if _SIGNS[piece]:
            yield replace(like, text=_SIGNS[piece])
    elif piece in "=+":
        yield replace(like, text=f" {piece} ")
    elif not piece.isspace():
        yield replace(like, text=piece)
