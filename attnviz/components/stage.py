"""The stage component: a step's picture on a canvas, with transitions between steps, and zoom."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy.typing as npt

from attnviz.components.registration import mount


def stage(header: Mapping[str, Any], arrays: Mapping[str, npt.NDArray[Any]], *, key: str) -> None:
    """Mount a picture that fills its container.

    Args:
        header: the header that `figures.board.board_picture` returns, with `alt` (the text alternative), `walk` (an id:
            transitions are animated only between pictures with the same id), `order` (the index of the step), `step`.
        arrays: the matrices.
        key: the Streamlit key.
    """
    mount("stage", header, arrays, key=key)
