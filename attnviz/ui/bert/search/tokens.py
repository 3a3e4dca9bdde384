"""Token by token: how alike each token of the query and each of the hit are in the last hidden state."""

from __future__ import annotations

import streamlit as st
import torch

from attnviz.bert.search import TokenSimilarity
from attnviz.formatting import number
from attnviz.ui import state
from attnviz.ui.bert.look import in_torch
from attnviz.ui.bert.search.found import Found, similarity
from attnviz.ui.palette import palette
from attnviz.ui.plain import plain
from attnviz.ui.widgets import notice, plot

SPECIAL = ("[CLS]", "[SEP]")
CODE = """rows, columns = (
    model(**tokenizer(one, truncation=True, max_length=256, return_tensors="pt")).last_hidden_state[0]
    for one in (query, hit)
)  # (Tq, C), (Th, C)
cosine = torch.cosine_similarity(rows[:, None], columns[None], dim=-1)  # (Tq, Th)
score = torch.cosine_similarity(rows.mean(0), columns.mean(0), dim=0)  # of the sentence embeddings"""


def show(here: Found) -> None:
    """Show the cosines of all pairs of tokens."""
    from attnviz.figures.search import token_heatmap

    found = similarity(here)
    pair = most_alike(found)
    if pair is not None:
        own, other = (plain(labels[at]) for labels, at in zip((found.query, found.hit), pair, strict=True))
        st.markdown(
            f"Most alike of all pairs of different words: “{own}” of the query and “{other}” of the hit, cosine "
            f"**{number(float(found.cosine[pair]))}**."
        )
    plot(token_heatmap(found.cosine, found.query, found.hit, palette(), is_large=state.get("lecture")), "search_tokens")
    notice(
        "Tokens with similar meanings in these two sentences are alike, even where they are spelled differently. "
        "The score of the sentences is the mean of all products q · h of these pairs, over the norms of both means."
    )
    in_torch(CODE)


def most_alike(found: TokenSimilarity) -> tuple[int, int] | None:
    """Return the tokens of query and hit that are most alike among words that are spelled differently, if there are."""
    words = (
        [any(map(str.isalnum, one)) and one not in SPECIAL for one in labels] for labels in (found.query, found.hit)
    )
    rows, columns = (torch.tensor(one) for one in words)
    same = torch.tensor([[one == other for other in found.hit] for one in found.query])
    masked = found.cosine.masked_fill(~(rows[:, None] & columns) | same, -torch.inf)
    row, column = divmod(int(masked.argmax()), masked.shape[1])
    return None if masked[row, column].isinf() else (row, column)
