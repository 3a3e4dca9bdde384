"""The stage component: a step's picture on a canvas, with transitions between steps, zoom and covered rows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy.typing as npt

from attnviz.components.packing import pack
from attnviz.components.registration import component


def stage(header: Mapping[str, Any], arrays: Mapping[str, npt.NDArray[Any]], *, key: str) -> None:
    """Mount a picture that fills its container.

    Args:
        header: the header that `figures.board.board_picture` returns, with `alt` (the text alternative), `walk` (an id:
            transitions are animated only between pictures with the same id), `order` (the index of the step), `step`,
            `layer`, `head`, `predict` (whether the pinned row of the panel `result` is covered until the user guesses).
        arrays: the matrices.
        key: the Streamlit key.
    """
    component("stage", isolated=False)(data=pack(header, arrays), key=key)
