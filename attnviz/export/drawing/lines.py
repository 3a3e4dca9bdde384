"""Words on lines: text that breaks where its room ends, in letters that every file format can hold."""

from __future__ import annotations

from attnviz.export.drawing import fonts
from attnviz.export.drawing.marks import Matrix
from attnviz.tokens.labels import printable


def safe(text: str) -> str:
    """Return `text` with what XML and PDF cannot hold spelled out: control characters, lone surrogates, U+FFFE.

    Line ends and tabs become spaces, so the text stays one line.
    """
    return "".join(c if not _unwritable(c) else " " if c in "\n\r\t" else printable(c) for c in text)


def safe_lines(text: str) -> str:
    """Return `text` as `safe` does, with its line ends kept."""
    return "\n".join(safe(line) for line in text.split("\n"))


def _unwritable(character: str) -> bool:
    code = ord(character)
    return code < 32 or 0x7F <= code < 0xA0 or 0xD800 <= code < 0xE000 or code & 0xFFFE == 0xFFFE


def roomy_size(matrix: Matrix) -> float:
    """Return a type size at which no number of a matrix leaves its cell, even in a typeface with wider digits."""
    longest = max((fonts.width(number, 1.0) for row in matrix.numbers for number in row), default=0.0)
    return min(matrix.size, matrix.cell[0] / (1.3 * longest)) if longest else matrix.size


def wrap(text: str, room: float, size: float, most: int) -> list[str]:
    """Break a text into at most `most` lines no wider than `room`; where it is longer, it ends in an ellipsis."""
    lines, line = [], ""
    words = [piece for word in text.split() for piece in _pieces(word, room, size)]
    for place, word in enumerate(words):
        longer = f"{line} {word}" if line else word
        if fonts.width(longer, size) <= room:
            line = longer
            continue
        lines.append(line)
        line = word
        if len(lines) == most:
            return [*lines[:-1], _cut(f"{lines[-1]} {' '.join(words[place : place + 3])}", room, size)]
    return [*lines, line] if line else lines


def _pieces(word: str, room: float, size: float) -> list[str]:
    """Cut a word that is longer than a line."""
    pieces, piece = [], ""
    for letter in word:
        if piece and fonts.width(piece + letter, size) > room:
            pieces.append(piece)
            piece = ""
        piece += letter
    return [*pieces, piece]


def _cut(line: str, room: float, size: float) -> str:
    while line and fonts.width(f"{line}…", size) > room:
        line = line[:-1]
    return f"{line.rstrip()}…"
