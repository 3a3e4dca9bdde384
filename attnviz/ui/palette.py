"""The colours of figures in this browser's theme."""

from __future__ import annotations

from typing import TYPE_CHECKING

import streamlit as st

if TYPE_CHECKING:  # figures import torch, which the first view does not wait for
    from attnviz.figures.style import Palette


def palette() -> Palette:
    """Return the palette of this browser's theme."""
    from attnviz.figures.style import DARK, LIGHT

    return DARK if st.context.theme.type == "dark" else LIGHT
