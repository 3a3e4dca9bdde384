"""The picture of a step that a saved notebook keeps, for readers that run no widgets."""

from __future__ import annotations

from dataclasses import replace

from attnviz.export.drawing.sheet import draw_sheet
from attnviz.export.files.png import write_png
from attnviz.export.walk import sheets
from attnviz.steps import STEPS
from attnviz.trace.walk import Walk

INSTEAD = "weights"
"""What is drawn for a step that can't be shown of this model; every walk has it"""


def draw_step(walk: Walk, step: str) -> bytes:
    """Return the sheet of a step, with title, formula and what to notice, as PNG."""
    (sheet,) = sheets(walk, [step]) or sheets(walk, [INSTEAD])
    names = list(STEPS)
    return write_png(draw_sheet(replace(sheet, place=(names.index(sheet.step) + 1, len(names)))))
