"""What all parts of the page BERT at work share: the built-in model, and their lines of torch."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

import streamlit as st

from attnviz.pretrained.names import BUILT_IN
from attnviz.sources import PRETRAINED
from attnviz.ui import state
from attnviz.ui.bert.parts import exports_of
from attnviz.ui.model_box import open_model
from attnviz.ui.sources import with_model

if TYPE_CHECKING:
    from attnviz.pretrained.built_in import BuiltInModel


def built_in() -> BuiltInModel:
    """Return the built-in model, which all sessions share. If it is not installed, the page ends with the reason."""
    return cast("BuiltInModel", open_model(PRETRAINED, with_model(state.get, BUILT_IN)))


def in_torch(lines: str | None = None) -> None:
    """Offer the lines of torch that compute what is shown, or else the part's script; a lecture has no place for them.

    They are sent when the expander is opened: the browser's code for listings takes as long as all the rest of a part.
    """
    if not state.get("lecture"):
        with st.expander("In torch", key="in_torch", on_change="rerun") as listing:
            if listing.open:
                shown = exports_of(state.get("bert_part")).script() if lines is None else lines
                st.code(shown, language="python", wrap_lines=True)
