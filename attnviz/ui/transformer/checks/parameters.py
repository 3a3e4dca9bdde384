"""Parameters: how many each part has, beside BERT-base's and the original paper's."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd
import streamlit as st

from attnviz.measures.cost import BERT_BASE, PAPER_BASE, maps_in_words, parameters
from attnviz.ui.plain import plain

if TYPE_CHECKING:
    from attnviz.sources.transformer import ShownPart

NAMES = {"feed_forward": "feed-forward"}


def show(here: ShownPart) -> None:
    """Show the numbers of parameters as a table."""
    own = {NAMES.get(name, name): count for name, count in here.model.description.parameters.items()}
    columns = {
        here.model.name: own,
        "BERT-base": parameters(BERT_BASE),
        "the paper's base": parameters(PAPER_BASE),
    }
    parts = list(dict.fromkeys(part for counts in columns.values() for part in counts))
    table = pd.DataFrame(
        {name: [counts.get(part, 0) for part in parts] + [sum(counts.values())] for name, counts in columns.items()},
        index=[*parts, "together"],
    )
    st.table(table.map(lambda count: f"{count:,}" if count else "–"))
    sizes = here.model.description.sizes
    st.caption(
        plain(
            "In BERT and in the paper, an attention has 4 · (C² + C) and a feed-forward 2 · C · F + F + C. The number "
            "of heads changes nothing: the same matrices are split among them. "
            + ("" if sizes is None else f"{here.model.name}: {maps_in_words(sizes)}")
        )
    )
