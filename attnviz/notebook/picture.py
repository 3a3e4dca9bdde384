"""The pictures that a saved notebook keeps, for readers that run no widgets: of a step, and of all heads."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from attnviz.export.drawing.marks import LIGHT_THEME as THEME
from attnviz.export.drawing.marks import Drawing, Mark, Matrix, Text
from attnviz.export.drawing.picture import blend
from attnviz.export.files.images import write_png
from attnviz.export.sheets import draw_sheet, sheets
from attnviz.steps import STEPS
from attnviz.trace.walk import Walk

INSTEAD = "weights"
"""What is drawn for a step that can't be shown of this model; every walk has it"""


def draw_step(walk: Walk, step: str) -> bytes:
    """Return the sheet of a step, with title, formula and what to notice, as PNG."""
    (sheet,) = sheets(walk, [step]) or sheets(walk, [INSTEAD])
    names = list(STEPS)
    return write_png(draw_sheet(replace(sheet, place=(names.index(sheet.step) + 1, len(names)))))


WIDTH, MARGIN, GAP = 1280.0, 24.0, 8.0
TOP, LEFT = 104.0, 84.0
LARGEST = 90.0
"""The side of a thumbnail, in pixels of the drawing; smaller where there are many heads"""

ABOUT = "Attention weights. Rows are queries (from), columns are keys (to); layers and heads are counted from 0."


def draw_heads(overview: npt.NDArray[np.uint8], numbers: Sequence[int], title: str) -> bytes:
    """Draw the thumbnails of all heads, (L, H, n, m), as PNG; `numbers` are the layers' own, (L,)."""
    layers, heads = overview.shape[:2]
    side = min(LARGEST, (WIDTH - LEFT - MARGIN) / heads - GAP)
    ink, quiet = THEME.text, THEME.quiet
    marks: list[Mark] = [
        Text(MARGIN, 44, title, 30, ink, bold=True),
        Text(MARGIN, 68, ABOUT, 15, quiet),
        *_thumbnails(overview, side),
        *(Text(LEFT + (side + GAP) * head + side / 2, TOP - 8, str(head), 14, quiet, anchor="middle")
          for head in range(heads)),
        *(Text(LEFT - 10, TOP + (side + GAP) * row + side / 2 + 5, f"layer {layer}", 14, quiet, anchor="end")
          for row, layer in enumerate(numbers)),
    ]  # fmt: skip
    return write_png(Drawing(WIDTH, TOP + (side + GAP) * layers + MARGIN, tuple(marks), title=title))


def _thumbnails(overview: npt.NDArray[np.uint8], side: float) -> Iterator[Matrix]:
    layers, heads = overview.shape[:2]
    for layer in range(layers):
        for head in range(heads):
            values = overview[layer, head].astype(np.float32) / 255
            colours = blend(THEME.palette.weights, values)
            x, y = LEFT + (side + GAP) * head, TOP + (side + GAP) * layer
            yield Matrix(f"{layer}.{head}", x, y, side, side, values, colours)
