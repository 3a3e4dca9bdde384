"""Shows a layout of matrices: interactive on the stage, or as a Plotly chart to zoom and download."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import streamlit as st

from attnviz.components.chart import chart
from attnviz.components.stage import stage
from attnviz.ui import state

if TYPE_CHECKING:  # figures import torch, which the first view does not wait for
    from attnviz.figures.panels import Layout, Pin
    from attnviz.figures.style import Palette

PICTURES = {"stage": "Animated", "chart": "Plotly"}


def palette() -> Palette:
    """Return the palette of this browser's theme."""
    from attnviz.figures.style import DARK, LIGHT

    return DARK if st.context.theme.type == "dark" else LIGHT


def show_picture(
    layout: Layout, labels: Mapping[str, Sequence[str]], about: Mapping[str, Any], *, pin: Pin | None = None
) -> None:
    """Show the page's picture of matrices, as high as the window allows.

    Args:
        layout: the matrices.
        labels: the tokens of the axis kinds "query" and "key".
        about: further header fields of the stage (see `components.stage.stage`); `alt` is the alternative text.
        pin: the pinned cell, for the chart; on the stage the inspector highlights it.
    """
    from attnviz.figures.board import board_picture
    from attnviz.figures.panels import Pin

    header, arrays = board_picture(layout, labels)
    if state.get("drawing") == "stage":
        stage({**header, **about}, arrays, key="picture")
        return
    pin = pin or Pin()
    with st.container(key="picture"):
        chart({**header, "alt": about["alt"], "q": pin.q, "k": pin.k}, arrays, key="chart")
