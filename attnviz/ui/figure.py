"""How every figure is put on a page: in the container that the inspector knows, with its own downloads."""

from __future__ import annotations

import plotly.graph_objects as go
import streamlit as st

from attnviz.figures.compose import number_sizes
from attnviz.figures.style import DARK, LIGHT, Palette

CONFIG = {
    "displaylogo": False,
    "toImageButtonOptions": {"format": "svg", "scale": 2, "filename": "attnviz"},
    "modeBarButtonsToRemove": ["select2d", "lasso2d", "autoScale2d"],
}


def palette() -> Palette:
    """Return the colours of the theme that this browser shows."""
    return DARK if st.context.theme.type == "dark" else LIGHT


def show_figure(figure: go.Figure, *, alt: str) -> None:
    """Show the page's one figure of matrices, as high as the window allows; `alt` is for those who do not see it."""
    with st.container(key="picture"):
        st.html(f"<style>{number_sizes(figure)}</style>")
        st.plotly_chart(figure, height=470, config=CONFIG, alt=alt)
