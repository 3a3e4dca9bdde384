"""The widget of all heads at once. Its browser side is frontend/notebook/heads.js."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from traitlets import Bytes, Unicode

from attnviz.components.built import widget_module
from attnviz.components.packing import pack
from attnviz.components.styles import styles
from attnviz.heads.all_heads import AllHeads
from attnviz.links.values import ROLLOUT
from attnviz.notebook.base import BaseWidget
from attnviz.notebook.picture import draw_heads
from attnviz.trace.model import Kind
from attnviz.trace.trace import Trace
from attnviz.trace.walk import Walk


class HeadsWidget(BaseWidget):
    """All layers and heads of a text, and the chosen heads as lines and heatmaps. Head −1 is the attention rollout.

    Raises:
        attnviz.notebook.base.ChoiceError: there is no such layer or head.
    """

    _esm = widget_module("heads")
    _styles = Unicode(styles("notebook/heads.css")).tag(sync=True)
    _payload = Bytes().tag(sync=True)
    """What is known of all heads, and the names of the files with their weights"""
    _shared = Bytes().tag(sync=True)
    """The file that all heads share; of a short text, it has all weights. Others are sent when they are asked for"""

    def __init__(self, trace: Trace, kind: Kind, **chosen: Any) -> None:
        every = AllHeads.of(trace, kind)
        layers, heads = trace.numbers_of(kind), every.survey.overview.shape[1]
        choices = {
            "layer": layers,
            "head": range(0 if kind == "cross" else ROLLOUT, heads),
            "q": range(len(trace.query_tokens(kind))),
            "k": range(len(trace.key_tokens(kind))),
        }
        self._every = every
        super().__init__(choices, **{"layer": layers[0], "head": 0, **chosen})
        here = {"layer": self.layer, "head": self.head, "chosen": [(self.layer, self.head)], "q": None, "k": None}
        header, arrays = every.payload(here)
        self._payload = pack(header, arrays)
        self._shared = every.file(header["files"]["shared"])

    @property
    def walk(self) -> Walk:
        """The current head, with all its numbers.

        Raises:
            IndexError: the rollout is shown, which is no head.
        """
        return self._every.trace.walk(self.layer, self.head, self._every.kind)

    def _picture(self) -> bytes:
        model, survey = self._every.trace.model, self._every.survey
        return draw_heads(survey.overview, survey.numbers, f"All heads of {model}" if model else "All heads")

    def _file(self, asked: Mapping[str, Any]) -> bytes:
        """Return a file with weights by its name."""
        return self._every.file(asked["file"])
