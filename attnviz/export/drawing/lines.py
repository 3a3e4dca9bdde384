"""Text for all file formats: escaping, line breaking, and formulas on one line."""

from __future__ import annotations

from collections.abc import Sequence

from attnviz.export.drawing import fonts
from attnviz.export.drawing.marks import Box, Mark, Matrix, Text, Theme
from attnviz.formulas import Expression, Run, runs
from attnviz.tokens.value import printable


def safe(text: str) -> str:
    """Spell out the characters that XML and PDF can't hold: control characters, lone surrogates, U+FFFE and the like.

    Line ends and tabs become spaces, so the result is one line.
    """
    return "".join(c if not _unwritable(c) else " " if c in "\n\r\t" else printable(c) for c in text)


def safe_lines(text: str) -> str:
    """Do the same as `safe`, but keep line ends."""
    return "\n".join(safe(line) for line in text.split("\n"))


def _unwritable(character: str) -> bool:
    code = ord(character)
    return code < 32 or 0x7F <= code < 0xA0 or 0xD800 <= code < 0xE000 or code & 0xFFFE == 0xFFFE


def safe_font_size(matrix: Matrix, spare: float = 1.3) -> float:
    """Return a font size at which every number fits its cell `spare` times: even in a font with wider digits."""
    longest = max((fonts.width(number, 1.0) for row in matrix.numbers for number in row), default=0.0)
    return min(matrix.size, matrix.cell[0] / (spare * longest)) if longest else matrix.size


def wrap(text: str, max_width: float, size: float, max_lines: int) -> list[str]:
    """Break a text into at most `max_lines` lines of at most `max_width`; an ellipsis ends a longer text."""
    lines, line = [], ""
    words = [piece for word in text.split() for piece in _pieces(word, max_width, size)]
    for place, word in enumerate(words):
        longer = f"{line} {word}" if line else word
        if fonts.width(longer, size) <= max_width:
            line = longer
            continue
        lines.append(line)
        line = word
        if len(lines) == max_lines:
            return [*lines[:-1], _truncate(f"{lines[-1]} {' '.join(words[place : place + 3])}", max_width, size)]
    return [*lines, line] if line else lines


def _pieces(word: str, max_width: float, size: float) -> list[str]:
    """Split a word that is longer than a line."""
    pieces, piece = [], ""
    for letter in word:
        if piece and fonts.width(piece + letter, size) > max_width:
            pieces.append(piece)
            piece = ""
        piece += letter
    return [*pieces, piece]


def _truncate(line: str, max_width: float, size: float) -> str:
    while line and fonts.width(f"{line}…", size) > max_width:
        line = line[:-1]
    return f"{line.rstrip()}…"


def colour_of(run: Run, theme: Theme) -> str:
    """Return the colour of a run: its role's, or the text's."""
    return theme.text if run.role is None else theme.text_ink.of(run.role)


BOX_ROOM = 20.0
"""Pixels that the space around a formula's box takes at most"""


def set_formula(formula: Expression, *, x: float, y: float, size: float, theme: Theme, room: float) -> list[Mark]:
    """Draw a formula on one line from (x, y) on its baseline; it is made smaller if it is wider than `room`."""
    written = runs(formula)
    size *= min(1.0, (room - BOX_ROOM) / max(1.0, width_of_runs(written, size)))
    texts: list[Mark] = []
    boxed: list[tuple[float, float]] = []
    for before, run in zip((Run(""), *written), written, strict=False):
        x += 9 if run.boxed != before.boxed else 0  # space on both sides of the box
        type_size = size * (0.7 if run.level else 1.0)
        wide = fonts.width(run.text, type_size)
        if run.boxed:
            boxed.append((x, x + wide))
        if run.text.strip():
            lead = fonts.width(run.text[: len(run.text) - len(run.text.lstrip())], type_size)
            shift = size * (-0.35 if run.level > 0 else 0.2 if run.level < 0 else 0.0)
            texts.append(Text(x + lead, y + shift, run.text.strip(), type_size, colour_of(run, theme)))
        x += wide
    if not boxed:
        return texts
    left, right = boxed[0][0] - 6, boxed[-1][1] + 6
    return [
        Box(left, y - size, right - left, size * 1.42, fill=theme.boxed, outline=theme.ink.attention, line=1.5),
        *texts,
    ]


def width_of_runs(written: Sequence[Run], size: float) -> float:
    """Return the width of a formula on one line, in the unit of `size`."""
    return sum(fonts.width(run.text, size * (0.7 if run.level else 1.0)) for run in written)
