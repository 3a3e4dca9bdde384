"""The parts of the page BERT at work, by their names in links: each is a module of this package with a `PART`."""

from __future__ import annotations

from importlib import import_module

import streamlit as st

from attnviz.ui import state
from attnviz.ui.bert.part import Exports, Part
from attnviz.ui.lessons import bar as lesson_bar
from attnviz.ui.waiting import starting

CSS = """
<style>
/* All parts in a row at 1280 px. */
.st-key-bert_part button { padding-inline: 0.6rem; }
</style>
"""
LOOK = """
<style>
/* Plots have the height that fits a window of 720 px; in a higher one they grow with it, and their letters stay. */
@media (min-width: 769px) and (min-height: 721px) {
  @supports (zoom: tan(atan2(100vh, 720px))) {
    .stMain .stElementContainer:has(> * > .stPlotlyChart) { zoom: tan(atan2(100vh, 720px)); }
    .stMain .stElementContainer > :has(> .stPlotlyChart) { zoom: tan(atan2(720px, 100vh)); height: 100%; }
  }
}
@media (max-width: 640px) {
  .stMain [data-testid="stPageLink"] :is(span, div, p) { white-space: normal; }
  .st-key-class_bar .stButtonGroup > div { flex-wrap: wrap; }
}
</style>
"""
TITLES = {
    "configuration": "Configuration",
    "back": "There and back",
    "language": "Language model",
    "subsets": "Subsets",
    "classifier": "Classifier",
    "agent": "Agent",
    "search": "Search",
    "without": "Without a head",
    "blank": "Fill the blank",
}
"""In the order in which they are offered: last is what the built-in model can't do"""


def choose_part() -> Part:
    """Show the choice of a part, except in a lecture and in a lesson, and return the chosen one."""
    if not state.get("lecture"):
        st.html(LOOK)
    if state.get("lecture") or lesson_bar.is_open():
        state.keep_within("bert_part", "Part", list(TITLES))
    else:
        st.html(CSS)
        state.choice(
            "bert_part", st.segmented_control, "What BERT does", list(TITLES), required=True,
            format_func=TITLES.get, label_visibility="collapsed",
        )  # fmt: skip
    name = state.get("bert_part")
    with starting(f"bert, {name}"):
        return part_of(name)


def part_of(name: str) -> Part:
    """Return the part with this name."""
    part: Part = import_module(f"attnviz.ui.bert.{name}").PART
    return part


def exports_of(name: str) -> Exports:
    """Return what Export gives of the part with this name."""
    exports: Exports = import_module(f"attnviz.ui.bert.{name}.exports")
    return exports
