"""What classifier and search make of a text without some heads of the built-in model."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import streamlit as st

from attnviz.bert.ablation import Head, sentence_embedding, spearman, without
from attnviz.bert.encoding import embed_sentences
from attnviz.bert.search import built_in as reference
from attnviz.formatting import number, percent
from attnviz.ui.caches import result
from attnviz.ui.messages import plain

if TYPE_CHECKING:
    import pandas as pd
    from torch import Tensor

    from attnviz.ui.bert.ablation import Ablation

INDEX_BYTES = 2**20
"""The embeddings of the built-in sentences"""
QUERY_BYTES = 2**20
"""The embeddings of some hundred texts"""
SENTENCES = 5
"""Sentences shown of the ranking"""
SEARCH_CAPTION = (
    "was: the rank with all heads; before: the cosine with all heads. The sentences are embedded by the whole model."
)


def show_classifier(ablation: Ablation) -> None:
    """Show the probability of each class before and after."""
    table = probabilities(ablation)
    before, after = table.columns
    likeliest, likeliest_after = table[before].idxmax(), table[after].idxmax()
    without_heads = (
        f"; without **{ablation.off_text}** it is **{percent(table.loc[likeliest, after], 1)}**"
        if ablation.off
        else ". Nothing is switched off: click a head in the grid"
    )
    new_class = f", so that it says **{plain(likeliest_after)}**" if likeliest_after != likeliest else ""
    with st.container(key="hint_classifier"):
        st.markdown(
            f"The classifier of film reviews, a linear layer on the frozen model, says **{plain(likeliest)}** with a "
            f"probability of **{percent(table.loc[likeliest, before], 1)}**{without_heads}{new_class}."
        )
    st.table(table.map(percent, digits=1))
    st.caption("The layer was trained on the whole model’s output. It is made for reviews, whatever the text is.")


def probabilities(ablation: Ablation) -> pd.DataFrame:
    """Return the probabilities of the classes: a row for each, with all heads and without some."""
    import pandas as pd

    from attnviz.bert.classification.classifier import Pooled
    from attnviz.bert.classification.shipped import load

    classifier = load("classifier").classifier
    outputs = {"all heads": ablation.trace.last_hidden_state, "without": ablation.after}
    shares = {
        name: classifier.probabilities(Pooled(hidden[:1], sentence_embedding(hidden)[None]))[0].tolist()
        for name, hidden in outputs.items()
    }
    return pd.DataFrame(shares, index=list(classifier.labels))


def show_search(ablation: Ablation) -> None:
    """Show the first sentences of the ranking, each with its rank in the whole model."""
    table = ranking(ablation)
    count = len(table)
    if ablation.off:
        first = int(table["was"].iloc[0])
        same = "the same sentence comes first" if first == 1 else f"the sentence that comes first was number {first}"
        st.markdown(
            f"The text as a query among {count} sentences: without **{ablation.off_text}** {same}. The rank "
            f"correlation of both rankings is **{number(spearman(*sentence_cosines(ablation)), 3)}**."
        )
    else:
        with st.container(key="hint_search"):
            st.markdown(
                f"The text as a query among {count} sentences. Nothing is switched off: click a head in the grid."
            )
    shown = table.head(SENTENCES)
    st.table(shown.assign(cosine=shown["cosine"].map(number), before=shown["before"].map(number)).set_index("rank"))
    st.caption(SEARCH_CAPTION)


def ranking(ablation: Ablation) -> pd.DataFrame:
    """Return all sentences: their ranks without the heads and with all of them, and both cosines."""
    import pandas as pd

    before, after = sentence_cosines(ablation)
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


def sentence_cosines(ablation: Ablation) -> tuple[Tensor, Tensor]:
    """Return the cosine of each built-in sentence with the text, with all heads and without some: (N,) each.

    The sentences are embedded by the whole model; only the text's embedding differs.
    """
    sentences = reference().sentences
    index: Tensor = result(
        "sentences", INDEX_BYTES, ablation.model.name, partial(embed_sentences, sentences, model=ablation.model)
    )
    text = ablation.trace.tokens.text

    def query(off: tuple[Head, ...]) -> Tensor:
        with without(ablation.model, off, ablation.means):
            return embed_sentences([text], model=ablation.model)[0]

    before, after = (
        result("queries", QUERY_BYTES, (ablation.key, off), partial(query, off)) for off in ((), ablation.off)
    )
    return (index @ before).clamp(-1, 1), (index @ after).clamp(-1, 1)
