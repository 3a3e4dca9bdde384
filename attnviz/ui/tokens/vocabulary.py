"""A tokenizer's vocabulary as a searchable table. Independent of Streamlit."""

from __future__ import annotations

import unicodedata
from collections import Counter

import pandas as pd

from attnviz.tokens import CharVocab, Tokens, WordPiece, WordTokenizer, code_point, printable


def vocabulary_table(tokenizer: CharVocab | WordTokenizer | WordPiece, tokens: Tokens) -> pd.DataFrame:
    """Return one row per entry, sorted by id: id, spelling, and number of occurrences in `tokens`.

    Characters also have their code point and Unicode name. Of hashed words, only those of the text are known.
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
    return _with_counts(table, tokenizer, tokens)


def search(table: pd.DataFrame, query: str) -> pd.DataFrame:
    """Return the rows whose spelling contains `query`, ignoring case, or whose id or code point equals it.

    A single character matches only itself, in both cases; "" matches all rows.
    """
    query = query if query.isspace() else query.strip()
    if not query:
        return table
    low, spelled = query.lower(), printable(query).lower()
    found = table["id"].astype(str) == query
    for column in table.columns.drop(["id", "in the text"]):
        cells = table[column].str.lower()
        if column == "code point":
            found |= cells == low
        elif len(query) == 1 and column == "character":
            found |= cells == spelled
        elif len(query) > 1 or column != "name":
            found |= cells.str.contains(low, regex=False)
    return table[found]


def _with_counts(table: pd.DataFrame, tokenizer: CharVocab | WordTokenizer | WordPiece, tokens: Tokens) -> pd.DataFrame:
    """Add the number of occurrences in the text. Words are counted by spelling, because several may share an id."""
    if isinstance(tokenizer, WordTokenizer):
        words = Counter(printable(piece) for piece in tokens.pieces)
        return table.assign(**{"in the text": [words[word] for word in table["word"]]})
    ids = Counter(tokens.ids)
    return table.assign(**{"in the text": [ids[id_] for id_ in table["id"]]})
