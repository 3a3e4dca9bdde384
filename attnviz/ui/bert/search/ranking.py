"""Two rankings side by side: by meaning and by words."""

from __future__ import annotations

import streamlit as st

from attnviz.ui.bert.look import in_torch
from attnviz.ui.bert.search.found import Found
from attnviz.ui.bert.search.hits import by_meaning, by_words
from attnviz.ui.widgets import notice

CODE = """inputs = tokenizer([query, *sentences], padding=True, truncation=True, max_length=256, return_tensors="pt")
hidden = model(**inputs).last_hidden_state  # (1 + N, T, C)
is_token = inputs["attention_mask"][..., None]  # (1 + N, T, 1): 0 at padding
mean = (hidden * is_token).sum(1) / is_token.sum(1)
E = torch.nn.functional.normalize(mean, dim=-1)  # (1 + N, C): rows of length 1
cosine = E[1:] @ E[0]  # (N,): of each sentence with the query
ranking = cosine.argsort(descending=True)"""


def show(here: Found) -> None:
    """Show the best hits of both rankings; a click chooses the sentence that is looked at."""
    left, right = st.columns(2, gap="medium")
    with left, st.container(key="hits_meaning"):
        by_meaning(here)
    with right, st.container(key="hits_words"):
        by_words(here)
    notice(
        "Meaning finds sentences that share no word with the query, and words find sentences that mean something else. "
        "Rare names and numbers are what words find best. ▲ and ▼: places above or below its rank in the other list."
    )
    in_torch(CODE)
