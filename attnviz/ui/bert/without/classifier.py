"""What the classifier of film reviews says of the text, with all heads and without some."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from attnviz.bert.ablation import sentence_embedding
from attnviz.bert.classification.classifier import Pooled
from attnviz.bert.classification.shipped import load
from attnviz.formatting import number
from attnviz.ui.bert.without.controls import named
from attnviz.ui.bert.without.results import Found
from attnviz.ui.plain import plain


def show(here: Found) -> None:
    """Show the probability of each class before and after."""
    table = probabilities(here)
    before, after = table.columns
    likeliest, now = table[before].idxmax(), table[after].idxmax()
    heads = here.model.description.layers["encoder"][1]
    said = (
        f"; without **{named(here.off, heads)}** it is **{number(100 * table.loc[likeliest, after], 1)} %**"
        if here.off
        else ". Nothing is switched off: click a head in the grid"
    )
    turned = f", so that it says **{plain(now)}**" if now != likeliest else ""
    st.markdown(
        f"The classifier of film reviews, a linear layer on the frozen model, says **{plain(likeliest)}** with a "
        f"probability of **{number(100 * table.loc[likeliest, before], 1)} %**{said}{turned}."
    )
    st.table(table.map(lambda share: f"{number(100 * share, 1)} %"))
    st.caption("The layer was trained on the whole model’s output. It is made for reviews, whatever the text is.")


def probabilities(here: Found) -> pd.DataFrame:
    """Return the probabilities of the classes: a row for each, with all heads and without some."""
    classifier = load("classifier").classifier
    outputs = {"all heads": here.trace.last_hidden_state, "without": here.after}
    found = {
        name: classifier.probabilities(Pooled(hidden[:1], sentence_embedding(hidden)[None]))[0].tolist()
        for name, hidden in outputs.items()
    }
    return pd.DataFrame(found, index=list(classifier.labels))
