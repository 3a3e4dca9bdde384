"""The stage: the picture of a step on a canvas, which morphs from step to step and can be zoomed and covered."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy.typing as npt

from attnviz.components.packing import pack
from attnviz.components.registration import component


def stage(header: Mapping[str, Any], arrays: Mapping[str, npt.NDArray[Any]], *, key: str) -> None:
    """Mount a picture, as large as the container that it stands in.

    Args:
        header: what `figures.board.board_picture` gives, and beside it `alt` (what it shows, for those who do not see
            it), `walk` (names what stays the same from step to step: only then the picture morphs), `order` (the
            step's place among the steps), `step`, `layer`, `head`, `predict` (whether the pinned row of the
            panel `result` is covered until somebody guesses).
        arrays: the matrices.
        key: the Streamlit key.
    """
    component("stage", isolated=False)(data=pack(header, arrays), key=key)
