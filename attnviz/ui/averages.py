"""The page "From averages to attention": a walk through its ways, which the browser shows from a document."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from attnviz.links.pages import PAGES
from attnviz.runtime.arrays import array_store
from attnviz.sources.models import averages_of, left_out_of_averages, tokenizer
from attnviz.tokens import CharVocab, NoTokensError, Tokens
from attnviz.toy.config import MAX_AVERAGED
from attnviz.ui import shell, state
from attnviz.ui.sources import RESOURCES, AppResources
from attnviz.ui.tokens.choices import char_vocab
from attnviz.ui.walk import mount_walk

KEYS = {"step": "way", "q": "q", "k": "k", "drawing": "drawing", "focus": "focus"}
"""The user's choices in the walk, with their link keys"""
SETTINGS = ("text", "tokenizer", "charset", "positions", "seed")
"""The link keys of the settings on which the document depends"""


OF_THE_TOY = (
    "Queries and keys are those of one head of the toy, with the scale 1/√D and a causal mask: without position bias, "
    "soft cap, sink or window."
)
"""What the last way has, and leaves out"""


def leave_out_positions() -> None:
    """Replace positions of the toy that are no part of X by none, with a note."""
    sentence = left_out_of_averages(state.get)
    if sentence:
        state.note(sentence)
        state.put("positions", "none")


def show_ways() -> None:
    """Show the ways on the first tokens of the text.

    Raises:
        attnviz.tokens.NoTokensError: the text has no tokens.
    """
    tokens = tokenizer(state.get, RESOURCES, limit=MAX_AVERAGED)(state.get("text"))
    if not len(tokens):
        raise NoTokensError
    shell.token_notes(tokens)
    state.keep_pin(tokens.labels, tokens.labels)
    mount_walk(PAGES["averages"], [_offer(tokens)], KEYS)


def _offer(tokens: Tokens) -> str:
    """Offer the document without computing it, and return its digest."""
    view = {name: state.get(name) for name in SETTINGS}
    key = "averages", tuple(view.values()), tokens.labels, tokens.ids
    return array_store().offer(key, partial(_document, view, char_vocab(view["text"])))


def _document(view: Mapping[str, Any], vocabulary: CharVocab) -> bytes:
    from attnviz.document import document_of_layer, write

    return write(document_of_layer(averages_of(view.__getitem__, AppResources(vocabulary))))
