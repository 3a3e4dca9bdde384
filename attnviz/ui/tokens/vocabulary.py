"""A tokenizer's vocabulary as a table that can be searched. No Streamlit: tables in, tables out."""

from __future__ import annotations

import unicodedata
from collections import Counter

import pandas as pd

from attnviz.tokens import CharVocab, Tokens, WordPiece, WordTokenizer, code_point, printable


def vocabulary_table(tokenizer: CharVocab | WordTokenizer | WordPiece, tokens: Tokens) -> pd.DataFrame:
    """Return one row an entry, by id: id, its spelling, and how often `tokens` has it.

    Characters have their code point and Unicode name besides; of the words only those of the text are known.
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


def search(table: pd.DataFrame, wanted: str) -> pd.DataFrame:
    """Return the rows whose spelling holds `wanted`, large or small letters alike, or whose id or code point it is.

    A single character finds itself only, in both cases of a letter; "" finds all.
    """
    wanted = wanted if wanted.isspace() else wanted.strip()
    if not wanted:
        return table
    low, spelled = wanted.lower(), printable(wanted).lower()
    found = table["id"].astype(str) == wanted
    for column in table.columns.drop(["id", "in the text"]):
        cells = table[column].str.lower()
        if column == "code point":
            found |= cells == low
        elif len(wanted) == 1 and column == "character":
            found |= cells == spelled
        elif len(wanted) > 1 or column != "name":
            found |= cells.str.contains(low, regex=False)
    return table[found]


def _with_counts(table: pd.DataFrame, tokenizer: CharVocab | WordTokenizer | WordPiece, tokens: Tokens) -> pd.DataFrame:
    """Add how often the text has each entry. Words are counted by spelling: an id may be shared by several."""
    if isinstance(tokenizer, WordTokenizer):
        words = Counter(printable(piece) for piece in tokens.pieces)
        return table.assign(**{"in the text": [words[word] for word in table["word"]]})
    ids = Counter(tokens.ids)
    return table.assign(**{"in the text": [ids[id_] for id_ in table["id"]]})
