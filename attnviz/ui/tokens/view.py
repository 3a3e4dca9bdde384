"""The parts of the page Tokens: a card per tokenizer, the pairs of next-token training, the vocabulary."""

from __future__ import annotations

from html import escape

import streamlit as st

from attnviz.formatting import number
from attnviz.tokens import MAX_POSITIONS, CharVocab, Tokens, WordPiece, WordTokenizer, round_trip
from attnviz.ui.tokens.chips import pair_rows, token_strip, unknown_note
from attnviz.ui.tokens.round_trip import round_trip_view
from attnviz.ui.tokens.vocabulary import search, vocabulary_table

Tokenizer = CharVocab | WordTokenizer | WordPiece

NOTICE = {
    "char": "One token per character. The vocabulary is tiny, but texts become long, and a character that is not in it "
    "has no id at all.",
    "word": "Cut at white space. A word's id is a hash of it, one of 20,000, so no word is unknown: but “tired.” and "
    "“tired” are two words, and two words may share an id.",
    "bert": "Words among the 30,522 pieces stay whole, others are split: ## continues the piece before. "
    "[CLS] and [SEP] are added, and lower-casing comes first.",
}
"""What to notice, for each value of the link's `tokenizer`."""


def card(title: str, kind: str, tokenizer: Tokenizer, tokens: Tokens) -> None:
    """Show one tokenizer's tokens: count, chips, unknown and dropped tokens, and the round trip."""
    size = f"{_plural(len(tokens), 'token')} · vocabulary of {tokens.vocab_size:,}"
    st.html(f"<b>{escape(title)}</b><br><small>{size}</small>{_rule_of_thumb(kind, tokens)}")
    st.caption(NOTICE[kind])
    with st.container(key=f"strip_{kind}"):
        st.html(token_strip(tokens, title))
    if tokens.pair is not None:
        st.caption("Underlined: the second sentence, segment 1. The rest is segment 0.")
    if tokens.dropped:
        st.warning(f"BERT takes {len(tokens)} tokens: {_plural(tokens.dropped, 'token')} past that were dropped.")
    lost = unknown_note(tokens)
    if lost:
        st.html(lost)
    st.html(round_trip_view(round_trip(tokenizer, tokens)))
    if tokens.pair is not None:
        st.html(round_trip_view(round_trip(tokenizer, tokens, segment=1), "second sentence"))


def _rule_of_thumb(kind: str, tokens: Tokens) -> str:
    """Say how many characters a token has on this text, and what that means for the number that BERT takes."""
    ratio = tokens.characters_per_token
    if kind == "char" or ratio is None:  # a character each
        return ""
    limit = MAX_POSITIONS
    fits = f"; at that rate {limit} tokens are {limit * ratio:,.0f} characters" if kind == "bert" else ""
    return f'<br><small class="rate">{number(ratio, 1)} characters per token{fits}</small>'


def training_pairs(tokens: Tokens, block_size: int) -> None:
    """Show the (context, next token) pairs of the text's first block."""
    count = min(block_size, max(0, len(tokens) - 1))
    if not count:
        st.info("One token has no next token. Type a longer text.")
        return
    st.caption(
        f"Next-token training cuts a block of {count + 1} tokens out of a text and learns {_plural(count, 'pair')} "
        "from it at once: each context on the left, the token to be guessed on the right."
    )
    if block_size > count:
        st.caption(f"The text has {_plural(len(tokens), 'token')}, so its block is shorter than {block_size}.")
    if tokens.tokenizer == "bert":
        st.caption("BERT itself was trained otherwise: it guesses words that were masked, from both sides.")
    if any(tokens.unknown[: count + 1]) and tokens.tokenizer == "char":
        st.caption("A character without an id can't be trained on: such a block would have to be left out.")
    st.html(pair_rows(tokens, block_size))


def vocabulary(tokenizer: Tokenizer, tokens: Tokens) -> None:
    """Show the entries of a vocabulary with a search field; of hashed words, only those of the text."""
    table = vocabulary_table(tokenizer, tokens)
    query = st.text_input("Search the vocabulary", key="vocabulary_search", placeholder="a piece, or an id")
    found = search(table, query or "")
    if isinstance(tokenizer, WordTokenizer):
        _word_ids(tokenizer)
    shown = f"{_plural(len(found), 'entry')} found, of {len(table):,}." if query else f"All {len(table):,} entries."
    st.caption(shown)
    st.dataframe(found, hide_index=True)


def _word_ids(tokenizer: WordTokenizer) -> None:
    st.caption(
        f"A hash has no list of words: of the {tokenizer.buckets:,} ids only those of your text's words can be named."
    )
    for id_, words in tokenizer.collisions.items():
        st.html(f"Collision: {escape(' and '.join(words))} share the id {id_}. A model can't tell them apart.")


def _plural(count: int, noun: str) -> str:
    several = noun[:-1] + "ies" if noun.endswith("y") else noun + "s"
    return f"{count:,} {noun if count == 1 else several}"
