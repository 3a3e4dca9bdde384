"""The text as a query among the built-in sentences, with all heads and without some."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from attnviz.bert.ablation import spearman
from attnviz.bert.search import built_in as reference
from attnviz.formatting import number
from attnviz.ui.bert.without.controls import named
from attnviz.ui.bert.without.results import Found, ranked

SHOWN = 5
"""Sentences"""
CAPTION = (
    "was: the rank with all heads; before: the cosine with all heads. The sentences are embedded by the whole model."
)


def show(here: Found) -> None:
    """Show the first sentences of the ranking, each with the place that it had."""
    table = ranking(here)
    count, heads = len(table), here.model.description.layers["encoder"][1]
    if here.off:
        first = int(table["was"].iloc[0])
        same = "the same sentence comes first" if first == 1 else f"the sentence that comes first was number {first}"
        st.markdown(
            f"The text as a query among {count} sentences: without **{named(here.off, heads)}** {same}. The rank "
            f"correlation of both rankings is **{number(spearman(*ranked(here)), 3)}**."
        )
    else:
        st.markdown(f"The text as a query among {count} sentences. Nothing is switched off: click a head in the grid.")
    shown = table.head(SHOWN)
    st.table(shown.assign(cosine=shown["cosine"].map(number), before=shown["before"].map(number)).set_index("rank"))
    st.caption(CAPTION)


def ranking(here: Found) -> pd.DataFrame:
    """Return all sentences: their rank without the heads, the one before, and both cosines."""
    before, after = ranked(here)
    was = before.argsort(descending=True, stable=True).argsort()
    order = after.argsort(descending=True, stable=True)
    return pd.DataFrame(
        {
            "rank": range(1, len(order) + 1),
            "was": (was[order] + 1).tolist(),
            "cosine": after[order].tolist(),
            "before": before[order].tolist(),
            "sentence": [reference().sentences[place] for place in order.tolist()],
        }
    )
