"""How every figure is put on a page: in the container that the inspector knows, with its own downloads."""

from __future__ import annotations

import streamlit as st

from attnviz.components.chart import chart
from attnviz.figures.compose import Spec, number_sizes
from attnviz.figures.style import DARK, LIGHT, Palette


def palette() -> Palette:
    """Return the colours of the theme that this browser shows."""
    return DARK if st.context.theme.type == "dark" else LIGHT


def show_figure(figure: Spec, *, alt: str) -> None:
    """Show the page's one figure of matrices, as high as the window allows; `alt` is for those who do not see it."""
    with st.container(key="picture"):
        st.html(f"<style>{number_sizes(figure)}</style>")
        chart(figure, key="chart", alt=alt)
