"""The widgets of a walk and of all heads, and the pictures that a saved notebook keeps for readers that run no widgets.

Their traits refuse bad values in one sentence. Their browser sides are frontend/notebook/walk.ts and heads.ts.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from operator import index
from reprlib import repr as shortened
from typing import Any, NoReturn

import numpy as np
import numpy.typing as npt
from anywidget import AnyWidget
from traitlets import Bytes, HasTraits, List, TraitError, TraitType, Unicode

from attnviz.components.built import widget_module
from attnviz.components.payload import write_payload
from attnviz.components.styles import styles
from attnviz.export.drawing.marks import LIGHT_THEME as THEME
from attnviz.export.drawing.marks import Drawing, Mark, Matrix, Text
from attnviz.export.drawing.picture import blend
from attnviz.export.files.images import write_png
from attnviz.export.sheets import draw_sheet, sheets
from attnviz.figures.style import ROWS_AND_COLUMNS
from attnviz.formatting import joined
from attnviz.heads.all_heads import AllHeads
from attnviz.links.values import ROLLOUT
from attnviz.notebook.errors import OneSentenceError
from attnviz.notebook.heads import Heads
from attnviz.steps import WALK, steps_of
from attnviz.trace.model import Kind
from attnviz.trace.trace import Trace
from attnviz.trace.walk import Walk
from attnviz.trained.shipped import title


class ChoiceError(OneSentenceError, TraitError):
    """A trait refuses a value. The message is one sentence with the allowed values and the value that it keeps."""


class Index(TraitType[Any, Any]):
    """A whole number among the owner's `choices`, from Python, NumPy or torch."""

    def __init__(self, help: str, *, optional: bool = False) -> None:  # noqa: A002  # traitlets' own name
        super().__init__(None if optional else 0, allow_none=optional, help=help)

    def validate(self, obj: Any, value: Any) -> int:
        """Return the number as an int."""
        choices = obj.choices[self.name]
        try:
            number = index(value)
        except TypeError:
            number = None
        if number is None or isinstance(value, bool) or number not in choices:
            none = " or None" if self.allow_none else ""
            _refuse(self, obj, value, f"{_span(choices)}{none}")
        return number


class Choice(TraitType[str, str]):
    """A text among the owner's `choices`."""

    def validate(self, obj: Any, value: Any) -> str:
        """Return the text."""
        choices = obj.choices[self.name]
        if not isinstance(value, str) or value not in choices:
            _refuse(self, obj, value, f"one of {', '.join(choices)}")
        return value


def _span(choices: Sequence[int]) -> str:
    """Return in words the choices, which are in ascending order."""
    *others, last = choices
    if not others:
        return f"only {last}"
    if last - choices[0] == len(others):
        return f"a whole number from {choices[0]} to {last}"
    return f"only {joined(map(str, choices), 'or')}"


def _refuse(trait: TraitType[Any, Any], obj: HasTraits, value: object, allowed: str) -> NoReturn:
    current = obj._trait_values
    kept = f"; it stays {current[trait.name]}" if trait.name in current else ""
    raise ChoiceError(f"{trait.name} takes {allowed}, not {shortened(value)}{kept}.")


class BaseWidget(AnyWidget):
    """A view of heads. Its traits hold what the user has chosen, and setting them changes the view."""

    choices: Mapping[str, Sequence[Any]]
    """The allowed values of each trait, by its name; assigned before the traits are set"""

    layer = Index("the layer, counted from 0").tag(sync=True)
    head = Index("the head, counted from 0").tag(sync=True)
    q = Index("the query token that is pinned, or None", optional=True).tag(sync=True)
    k = Index("the key token that is pinned, or None", optional=True).tag(sync=True)

    def __init__(self, choices: Mapping[str, Sequence[Any]], **traits: Any) -> None:
        self.choices = choices
        super().__init__(**traits)
        self.on_msg(self._answer)

    def __repr__(self) -> str:
        shown = ", ".join(f"{name} {value}" for name in self.choices if (value := getattr(self, name)) is not None)
        return f"{type(self).__name__}({shown})"

    def _repr_mimebundle_(self, **kwargs: Any) -> tuple[dict[str, Any], dict[str, Any]]:
        data, metadata = super()._repr_mimebundle_(**kwargs) or ({}, {})
        return {**data, "text/plain": repr(self), "image/png": b64encode(self._picture()).decode()}, metadata

    def _picture(self) -> bytes:
        """Draw the current view as PNG."""
        raise NotImplementedError

    def _file(self, name: str) -> bytes:
        """Return a file that the browser asks for; raises LookupError, ValueError or the like if there is none."""
        raise NotImplementedError

    def _answer(self, _: object, request: Mapping[str, Any], __: object) -> None:
        number = request.get("number")
        try:
            data = self._file(request["file"])
        except (LookupError, ValueError, TypeError, AttributeError) as error:
            self.send({"number": number, "error": str(error).rstrip(".")})
        else:
            self.send({"number": number}, [data])


INSTEAD = "weights"
"""The step drawn in place of one that this model can't show; every walk has it"""


def draw_step(walk: Walk, step: str) -> bytes:
    """Return the sheet of a step, with title, formula and what to notice, as PNG."""
    (sheet,) = sheets(walk, [step]) or sheets(walk, [INSTEAD])
    names = list(steps_of(walk))
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
            colours = blend(THEME.weights, values)
            x, y = LEFT + (side + GAP) * head, TOP + (side + GAP) * layer
            yield Matrix(f"{layer}.{head}", x, y, side, side, values, colours)


FIRST_STEP = "weights"
DOCUMENT = "document-"
"""In the name of a document's file, before the layer's number"""
SCORE = "~score-"
"""In the name of the file with what a score is made of, after the name of its document,
which is empty if there is no choice of a layer"""


class WalkWidget(BaseWidget):
    """All heads of a text, step by step.

    Raises:
        attnviz.document.DocumentError: the text is too long, or its numbers are not finite.
        attnviz.notebook.widgets.ChoiceError: there is no such layer, head or step.
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
        names = {name for layer in heads.layers for name in steps_of(heads.walk(layer, 0))}
        choices = {
            "step": tuple(name for name in WALK if name in names),
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
        """Return the document of a layer, what one of its scores is made of, or an array that it refers to."""
        document, _, score = name.partition(SCORE)
        if score:
            return self._heads.score_parts(int(document.removeprefix(DOCUMENT) or self.layer), score)
        if name.startswith(DOCUMENT):
            return self._heads.document(int(name.removeprefix(DOCUMENT)), self.head)
        return self._heads.array(name)


class HeadsWidget(BaseWidget):
    """All layers and heads of a text, and the chosen heads as lines and heatmaps. Head −1 is the attention rollout.

    Raises:
        attnviz.notebook.widgets.ChoiceError: there is no such layer or head.
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
