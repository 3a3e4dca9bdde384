"""The tabs of Export on the page on BERT: how to save its plots, the shown part's numbers, and a script."""

from __future__ import annotations

from functools import partial
from types import MappingProxyType

import streamlit as st

from attnviz.export.csv_files import table_csv
from attnviz.ui import state
from attnviz.ui.bert.parts import chosen_part
from attnviz.ui.long_work import failures_shown
from attnviz.ui.shell import Tabs
from attnviz.ui.widgets import FileOffer, offer_files

PICTURES = (
    "Point at a plot, and press the camera at its upper right corner: it is saved as SVG, which slides and papers take "
    "in any size."
)
PICTURES_ONLY, WITH_PICTURES = ("language", "subsets", "blank"), "without"
"""The parts whose matrices and bars are all our own, not Plotly's, and the one that also has a plot of Plotly's"""
NOTHING = "This part has none yet: there is nothing to be saved."


def _show_pictures() -> None:
    """Offer the pictures of a part that has some, and say how to save a plot of another."""
    part = state.get("bert_part")
    if part in PICTURES_ONLY or part == WITH_PICTURES:
        from attnviz.ui.export import show_picture_export

        show_picture_export("bert")
    if part not in PICTURES_ONLY and not (part == WITH_PICTURES and state.get("off_view") != "measures"):
        with st.container(key="hint_pictures"):
            st.caption(PICTURES)


def _show_numbers() -> None:
    """Offer each table of the shown part as CSV."""
    with failures_shown():
        files = [
            FileOffer(f"{name}.csv", f"{name}.csv", partial(table_csv, table), f"export_{name}")
            for name, table in chosen_part().tables().items()
        ]
        if files:
            offer_files("bert_numbers_export", *files)
        else:
            st.caption(NOTHING)


def _show_script() -> None:
    """Offer the script of the shown part."""
    with failures_shown():
        script, file = chosen_part().script(), f"bert_{state.get('bert_part')}.py"
        if not script:
            st.caption(NOTHING)
            return
        offer_files("bert_script_export", FileOffer("Script", file, script.encode, "export_script"))
        st.caption("Plain torch and transformers, without attnviz: it prints the numbers that are shown.")


EXPORTS: Tabs = MappingProxyType({"Pictures": _show_pictures, "Numbers": _show_numbers, "Script": _show_script})
"""Keyed by title"""
