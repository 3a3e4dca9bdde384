"""The widgets of a walk and of all heads, and the pictures that a saved notebook keeps for readers that run no widgets.

Their browser sides are frontend/notebook/walk.ts and heads.ts.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
from traitlets import Bytes, List, Unicode

from attnviz.components.built import widget_module
from attnviz.components.payload import write_payload
from attnviz.components.styles import styles
from attnviz.export.drawing.marks import LIGHT_THEME as THEME
from attnviz.export.drawing.marks import Drawing, Mark, Matrix, Text
from attnviz.export.drawing.picture import blend
from attnviz.export.files.images import write_png
from attnviz.export.sheets import draw_sheet, sheets
from attnviz.figures.style import ROWS_AND_COLUMNS
from attnviz.heads.all_heads import AllHeads
from attnviz.links.values import ROLLOUT
from attnviz.notebook.base import BaseWidget, Choice
from attnviz.notebook.heads import Heads
from attnviz.steps import STEPS
from attnviz.trace.model import Kind
from attnviz.trace.trace import Trace
from attnviz.trace.walk import Walk
from attnviz.trained.shipped import title

INSTEAD = "weights"
"""The step drawn in place of one that this model can't show; every walk has it"""


def draw_step(walk: Walk, step: str) -> bytes:
    """Return the sheet of a step, with title, formula and what to notice, as PNG."""
    (sheet,) = sheets(walk, [step]) or sheets(walk, [INSTEAD])
    names = list(STEPS)
    return write_png(draw_sheet(replace(sheet, place=(names.index(sheet.step) + 1, len(names)))))


WIDTH, MARGIN, GAP = 1280.0, 24.0, 8.0
TOP, LEFT = 104.0, 84.0
LARGEST = 90.0
"""The side of a thumbnail, in pixels of the drawing; smaller where there are many heads"""

ABOUT = f"Attention weights. {ROWS_AND_COLUMNS} Layers and heads are counted from 0."


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


FIRST_STEP = "weights"
DOCUMENT = "document-"
"""In the name of a document's file, before the layer's number"""


class WalkWidget(BaseWidget):
    """All heads of a text, step by step.

    Raises:
        attnviz.document.DocumentError: the text is too long, or its numbers are not finite.
        attnviz.notebook.base.ChoiceError: there is no such layer, head or step.
    """

    _esm = widget_module("walk")
    _styles = Unicode(styles("notebook/walk.css")).tag(sync=True)
    _document = Bytes().tag(sync=True)
    """The document of the layer that is shown first; others are sent on request"""
    _layers: List[int] = List().tag(sync=True)
    """The numbers of the layers to choose from; empty if there is no choice"""

    step = Choice(help="the name of the step").tag(sync=True)

    def __init__(self, heads: Heads, **chosen: Any) -> None:
        first = heads.walk(heads.layers[0], 0)
        choices = {
            "step": tuple(STEPS),
            "layer": heads.layers,
            "head": range(heads.count),
            "q": range(len(first.query_tokens)),
            "k": range(len(first.key_tokens)),
        }
        self._heads = heads
        chosen = {"step": FIRST_STEP, "layer": heads.layers[0], "head": 0, **chosen}
        super().__init__(choices, _layers=list(heads.layers) if len(heads.layers) > 1 else [], **chosen)
        self._document = heads.document(self.layer, self.head)

    @property
    def walk(self) -> Walk:
        """The head that is shown, with all its numbers."""
        return self._heads.walk(self.layer, self.head)

    def _picture(self) -> bytes:
        return draw_step(self.walk, self.step)

    def _file(self, name: str) -> bytes:
        """Return the document of a layer, or an array that one refers to."""
        if name.startswith(DOCUMENT):
            return self._heads.document(int(name.removeprefix(DOCUMENT)), self.head)
        return self._heads.array(name)


class HeadsWidget(BaseWidget):
    """All layers and heads of a text, and the chosen heads as lines and heatmaps. Head −1 is the attention rollout.

    Raises:
        attnviz.notebook.base.ChoiceError: there is no such layer or head.
    """

    _esm = widget_module("heads")
    _styles = Unicode(styles("notebook/heads.css")).tag(sync=True)
    _payload = Bytes().tag(sync=True)
    """The measures of all heads, and the names of the files with their weights"""
    _shared = Bytes().tag(sync=True)
    """The file that all heads share; for a short text, it has all weights. Other files are sent on request"""

    def __init__(self, trace: Trace, kind: Kind, **chosen: Any) -> None:
        all_heads = AllHeads.of(trace, kind)
        layers, heads = trace.numbers_of(kind), all_heads.survey.overview.shape[1]
        choices = {
            "layer": layers,
            "head": range(0 if kind == "cross" else ROLLOUT, heads),
            "q": range(len(trace.query_tokens(kind))),
            "k": range(len(trace.key_tokens(kind))),
        }
        self._all_heads = all_heads
        super().__init__(choices, **{"layer": layers[0], "head": 0, **chosen})
        view = {"layer": self.layer, "head": self.head, "chosen": [(self.layer, self.head)], "q": None, "k": None}
        header, arrays = all_heads.payload(view)
        self._payload = write_payload(header, arrays)
        self._shared = all_heads.file(header["files"]["shared"])

    @property
    def walk(self) -> Walk:
        """The current head, with all its numbers.

        Raises:
            IndexError: the rollout is shown, which is not a head.
        """
        return self._all_heads.trace.walk(self.layer, self.head, self._all_heads.kind)

    def _picture(self) -> bytes:
        model, survey = self._all_heads.trace.model, self._all_heads.survey
        return draw_heads(survey.overview, survey.numbers, f"All heads of {title(model)}" if model else "All heads")

    def _file(self, name: str) -> bytes:
        """Return a file with weights by its name."""
        return self._all_heads.file(name)
