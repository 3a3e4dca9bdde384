"""All heads as a table: their effects beside the measures of their attention."""

from __future__ import annotations

from functools import partial

import pandas as pd
import streamlit as st

from attnviz.bert.ablation import MEASURES, Effects, HeadMeasures
from attnviz.formatting import number
from attnviz.ui import state
from attnviz.ui.bert.without.measures import NOT_YET
from attnviz.ui.bert.without.results import Found, effects_of, measures_of

HEIGHT, IN_LECTURE = 390, 8
"""px; rows"""
TITLES = {
    "sentence": "1 − cosine, sentence", "tokens": "1 − cosine, tokens", "largest": "largest weight",
    "words": "weight on words", "entropy": "entropy (bits)", "distance": "distance (tokens)", "norm": "norm",
}  # fmt: skip


def show(here: Found) -> None:
    """Show all heads, the one with the largest effect first."""
    effects = effects_of(here)
    if effects is None:
        st.info(NOT_YET)
        return
    table = heads_table(effects, measures_of(here))
    if state.get("lecture"):
        shown = {TITLES[name]: digits for name, digits in (("sentence", 4), ("largest", 2), ("norm", 2))}
        few = table.head(IN_LECTURE).set_index(["layer", "head"])
        st.table(pd.DataFrame({name: few[name].map(partial(number, digits=digits)) for name, digits in shown.items()}))
        return
    cells = st.column_config.NumberColumn
    columns = {name: cells(width="small", pinned=True) for name in ("layer", "head")}
    formats = {name: cells(format="%.4f" if name.startswith("1") else "%.3f") for name in TITLES.values()}
    st.dataframe(table, height=HEIGHT, hide_index=True, column_config={**columns, **formats})


def heads_table(effects: Effects, measures: HeadMeasures) -> pd.DataFrame:
    """Return a row for each head: layer, head, its effects, and the measures; that with the largest effect first."""
    layers, heads = effects.sentence.shape
    numbers = {"sentence": effects.sentence, "tokens": effects.tokens}
    numbers |= {name: getattr(measures, name) for name in MEASURES}
    places = [divmod(place, heads) for place in range(layers * heads)]
    table = pd.DataFrame(places, columns=["layer", "head"])
    table = table.assign(**{TITLES[name]: values.flatten().numpy() for name, values in numbers.items()})
    return table.sort_values(TITLES["sentence"], ascending=False, kind="stable", ignore_index=True)
