"""The chart component: a picture of matrices as a Plotly figure, made and updated in the browser.

Streamlit's chart element is removed and created again, twice, whenever its figure changes. This component keeps the
graph and lets plotly.js compute the difference, which is several times faster.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib.metadata import version
from typing import Any

import numpy.typing as npt

from attnviz.components.registration import mount

PLOTLY_PATH = f"/attnviz/plotly-{version('plotly')}.min.js"
"""Where the server offers plotly.js, which the Python package contains."""


def chart(header: Mapping[str, Any], arrays: Mapping[str, npt.NDArray[Any]], *, key: str) -> None:
    """Mount a chart that fills its container.

    Args:
        header: the header that `figures.board.board_picture` returns, with `alt` (the text alternative), and `q` and
            `k`, the pinned query and key, each a position or None.
        arrays: the matrices.
        key: the Streamlit key.
    """
    mount("chart", {**header, "plotly": PLOTLY_PATH}, arrays, key=key)
