"""The widget of a walk. Its browser side is frontend/notebook/walk.js."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from traitlets import Bytes, List, Unicode

from attnviz.components.built import widget_module
from attnviz.components.styles import styles
from attnviz.notebook.base import BaseWidget, Choice
from attnviz.notebook.heads import Heads
from attnviz.notebook.picture import draw_step
from attnviz.steps import STEPS
from attnviz.trace.walk import Walk

FIRST_STEP = "weights"


class WalkWidget(BaseWidget):
    """All heads of a text, step by step.

    Raises:
        attnviz.document.DocumentError: the text is too long, or its numbers are not finite.
        attnviz.notebook.base.ChoiceError: there is no such layer, head or step.
    """

    _esm = widget_module("walk")
    _styles = Unicode(styles("notebook/walk.css")).tag(sync=True)
    _document = Bytes().tag(sync=True)
    """The document of the layer that is shown first; others are sent when they are asked for"""
    _layers: List[int] = List().tag(sync=True)
    """The numbers of the layers to choose from; none if there is no choice"""

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

    def _file(self, asked: Mapping[str, Any]) -> bytes:
        """Return the document of a layer, or an array that one refers to."""
        return (
            self._heads.document(asked["layer"], self.head) if "layer" in asked else self._heads.array(asked["array"])
        )
