"""Draws formulas on one line, for file formats that can't typeset them."""

from __future__ import annotations

from collections.abc import Sequence

from attnviz.export.drawing import fonts
from attnviz.export.drawing.marks import Box, Mark, Text
from attnviz.export.drawing.themes import Theme
from attnviz.formulas import Expression, Run, runs


def colour_of(run: Run, theme: Theme) -> str:
    """Return the colour of a run: its role's, or the text's."""
    return theme.text if run.role is None else theme.palette.text_ink.of(run.role)


def set_formula(formula: Expression, *, x: float, y: float, size: float, theme: Theme, room: float) -> list[Mark]:
    """Draw a formula on one line from (x, y) on its baseline; it is made smaller if it is wider than `room`."""
    written = runs(formula)
    size *= min(1.0, room / (_width(written, size) + 20))
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
        Box(left, y - size, right - left, size * 1.42, fill=theme.boxed, outline=theme.palette.ink.attention, line=1.5),
        *texts,
    ]


def _width(written: Sequence[Run], size: float) -> float:
    return sum(fonts.width(run.text, size * (0.7 if run.level else 1.0)) for run in written)
