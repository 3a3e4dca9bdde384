"""Getting the chosen model with a note while it loads, and falling back to the built-in one with a reason."""

from __future__ import annotations

from typing import TYPE_CHECKING

import streamlit as st

from attnviz.ui import caches
from attnviz.ui.plain import plain

if TYPE_CHECKING:
    from attnviz.pretrained import PretrainedModel


def model_or_built_in(name: str) -> PretrainedModel:
    """Return the model of this name; where it can't be loaded, say why and return the built-in one."""
    with st.spinner(f"Loading {plain(name)} …"):
        from attnviz.pretrained import BUILT_IN, ModelError

        try:
            return caches.model(name)
        except ModelError as why:
            st.error(plain(f"{why} Showing {BUILT_IN}."), icon="⚠️")
    return caches.model(BUILT_IN)
