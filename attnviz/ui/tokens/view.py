"""The parts of the page Tokens: a card per tokenizer, the pairs of next-token training, the vocabulary as a table."""

from __future__ import annotations

import unicodedata
from collections import Counter
from html import escape

import pandas as pd
import streamlit as st

from attnviz.formatting import counted, number, were
from attnviz.tokens import MAX_POSITIONS, CharVocab, Tokens, WordPiece, WordTokenizer, code_point, printable, round_trip
from attnviz.ui.tokens.chips import pair_rows, round_trip_view, token_strip, unknown_note

Tokenizer = CharVocab | WordTokenizer | WordPiece

NOTICE = {
    "char": "One token per character. The vocabulary is tiny, but texts become long, and a character that is not in it "
    "has no id at all.",
    "word": "Cut at white space. A word's id is a hash of it, one of 20,000, so no word is unknown: but “tired.” and "
    "“tired” are two words, and two words may share an id.",
    "bert": "Words among the 30,522 pieces stay whole, others are split: ## continues the piece before. "
    "[CLS] and [SEP] are added, and lower-casing comes first.",
}
"""The notice for each value of the link key `tokenizer`."""


def card(title: str, kind: str, tokenizer: Tokenizer, tokens: Tokens) -> None:
    """Show one tokenizer's tokens: count, chips, unknown and dropped tokens, and the round trip."""
    size = f"{counted(len(tokens), 'token')} · vocabulary of {tokens.vocab_size:,}"
    st.html(f"<b>{escape(title)}</b><br><small>{size}</small>{_rule_of_thumb(kind, tokens)}")
    st.caption(NOTICE[kind])
    with st.container(key=f"strip_{kind}"):
        st.html(token_strip(tokens, title))
    if tokens.pair is not None:
        st.caption("Underlined: the second sentence, segment 1. The rest is segment 0.")
    if tokens.dropped:
        dropped = f"{counted(tokens.dropped, 'token')} past that {were(tokens.dropped)} dropped."
        st.warning(f"BERT takes {counted(len(tokens), 'token')}: {dropped}")
    lost = unknown_note(tokens)
    if lost:
        st.html(lost)
    st.html(round_trip_view(round_trip(tokenizer, tokens)))
    if tokens.pair is not None:
        st.html(round_trip_view(round_trip(tokenizer, tokens, segment=1), "second sentence"))


def _rule_of_thumb(kind: str, tokens: Tokens) -> str:
    """Return the number of characters per token of this text, and for BERT how long a text can be at that rate."""
    ratio = tokens.characters_per_token
    if kind == "char" or ratio is None:  # always one character per token
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
        f"Next-token training cuts a block of {count + 1} tokens out of a text and learns {counted(count, 'pair')} "
        "from it at once: each context on the left, the token to be guessed on the right."
    )
    if block_size > count:
        st.caption(f"The text has {counted(len(tokens), 'token')}, so its block is shorter than {block_size}.")
    if tokens.tokenizer == "bert":
        st.caption("BERT itself was trained otherwise: it guesses words that were masked, from both sides.")
    if any(tokens.unknown[: count + 1]) and tokens.tokenizer == "char":
        st.caption("A character without an id can't be trained on: such a block would have to be left out.")
    st.html(pair_rows(tokens, block_size))


def vocabulary(tokenizer: Tokenizer, tokens: Tokens) -> None:
    """Show the entries of a vocabulary with a search field; for hashed words, only those of the text are known."""
    table = vocabulary_table(tokenizer, tokens)
    query = st.text_input("Search the vocabulary", key="vocabulary_search", placeholder="a piece, or an id")
    entries = search_vocabulary(table, query or "")
    if isinstance(tokenizer, WordTokenizer):
        st.caption(
            f"A hash has no list of words: of the {tokenizer.buckets:,} ids only those of your text's words can be "
            "named."
        )
        for id_, words in tokenizer.collisions.items():
            st.html(f"Collision: {escape(' and '.join(words))} share the id {id_}. A model can't tell them apart.")
    shown = f"{counted(len(entries), 'entry')} found, of {len(table):,}." if query else f"All {len(table):,} entries."
    st.caption(shown)
    st.dataframe(entries, hide_index=True)


def vocabulary_table(tokenizer: Tokenizer, tokens: Tokens) -> pd.DataFrame:
    """Return one row per entry, sorted by id: id, spelling, and number of occurrences in `tokens`.

    Characters also have their code point and Unicode name. For hashed words, only those of the text are known.
    """
    if isinstance(tokenizer, CharVocab):
        table = pd.DataFrame(
            {
                "id": range(len(tokenizer)),
                "character": [printable(character) for character in tokenizer.characters],
                "code point": [code_point(character) for character in tokenizer.characters],
                "name": [unicodedata.name(character, "(no name)").lower() for character in tokenizer.characters],
            }
        )
    elif isinstance(tokenizer, WordTokenizer):
        rows = sorted((id_, printable(word)) for id_, words in tokenizer.lexicon.items() for word in words)
        table = pd.DataFrame(rows, columns=["id", "word"])
    else:
        table = pd.DataFrame(tokenizer.vocabulary(), columns=["id", "piece"])
    if isinstance(tokenizer, WordTokenizer):  # words are counted by spelling, because several may share an id
        words = Counter(printable(piece) for piece in tokens.pieces)
        return table.assign(**{"in the text": [words[word] for word in table["word"]]})
    ids = Counter(tokens.ids)
    return table.assign(**{"in the text": [ids[id_] for id_ in table["id"]]})


def search_vocabulary(table: pd.DataFrame, query: str) -> pd.DataFrame:
    """Return the rows whose spelling contains `query`, ignoring case, or whose id or code point equals it.

    A single character matches only itself, in both cases; "" matches all rows.
    """
    query = query if query.isspace() else query.strip()
    if not query:
        return table
    low, spelled = query.lower(), printable(query).lower()
    matches = table["id"].astype(str) == query
    for column in table.columns.drop(["id", "in the text"]):
        cells = table[column].str.lower()
        if column == "code point":
            matches |= cells == low
        elif len(query) == 1 and column == "character":
            matches |= cells == spelled
        elif len(query) > 1 or column != "name":
            matches |= cells.str.contains(low, regex=False)
    return table[matches]
