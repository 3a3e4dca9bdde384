"""What heads on subsets of the embeddings of the view's text give, once for all sessions."""

from __future__ import annotations

from functools import partial

from attnviz.bert.blocks import Subsets, attend_in_parts, embed, most_apart
from attnviz.pretrained.built_in import BuiltInModel
from attnviz.tokens import Tokens
from attnviz.ui import state
from attnviz.ui.bert.rows import last_of_text, words_of
from attnviz.ui.caches import result

NBYTES = 64 * 2**20
"""A text of 512 tokens in 12 parts has 40 MiB, one of 64 tokens less than one"""


def subsets_of(model: BuiltInModel, tokens: Tokens) -> Subsets:
    """Return both ways to attend, in as many parts as the view says."""
    heads = state.get("subset_heads")
    return result("subsets", NBYTES, (tokens.ids, heads), partial(_make, model, tokens, heads))


def telling_row(subsets: Subsets, tokens: Tokens) -> int:
    """Return the row of a word in which two heads differ most; of one head, that of the text's last word."""
    places = words_of(tokens)
    if subsets.heads < 2 or not places:
        return last_of_text(tokens)
    return places[int(most_apart(subsets)[places].argmax())]


def names(heads: int) -> list[str]:
    """Return what the one softmax and those of the parts are called."""
    return ["whole X", *(f"head {head}" for head in range(heads))]


def _make(model: BuiltInModel, tokens: Tokens, heads: int) -> Subsets:
    return attend_in_parts(embed(model, tokens.ids, tokens.segments, "embeddings"), heads)
