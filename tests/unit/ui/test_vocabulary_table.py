"""Vocabularies as tables, and the search in them."""

from __future__ import annotations

import pandas as pd
import pytest

from attnviz.tokens import CharVocab, WordPiece, WordTokenizer
from attnviz.ui.tokens.vocabulary import search, vocabulary_table

BERT = WordPiece()


@pytest.fixture(scope="module")
def chars() -> pd.DataFrame:
    vocab = CharVocab.shakespeare()
    return vocabulary_table(vocab, vocab.tokenize("A cat é"))


@pytest.fixture(scope="module")
def pieces() -> pd.DataFrame:
    return vocabulary_table(BERT, BERT.tokenize("the The cat"))


def test_characters(chars: pd.DataFrame) -> None:
    assert list(chars.columns) == ["id", "character", "code point", "name", "in the text"]
    assert len(chars) == 65
    assert chars.iloc[0].to_list() == [0, "⏎", "U+000A", "(no name)", 0]
    assert chars.iloc[1].to_list() == [1, "␣", "U+0020", "space", 2]
    assert chars.iloc[39].to_list() == [39, "a", "U+0061", "latin small letter a", 1]


def test_pieces(pieces: pd.DataFrame) -> None:
    assert list(pieces.columns) == ["id", "piece", "in the text"]
    assert len(pieces) == 30_522
    assert pieces.iloc[1996].to_list() == [1996, "the", 2]
    assert pieces["in the text"].sum() == 5


def test_words_are_those_of_the_text() -> None:
    text = "the aje abq the"
    table = vocabulary_table(WordTokenizer.from_text(text), WordTokenizer().tokenize(text))
    assert table.to_numpy().tolist() == [[9345, "abq", 1], [9345, "aje", 1], [16590, "the", 2]]
    for query, found in (("e", ["aje", "the"]), ("H", ["the"]), ("9345", ["abq", "aje"])):  # a letter of a word counts
        assert search(table, query)["word"].to_list() == found


def test_no_words_no_rows() -> None:
    assert len(vocabulary_table(WordTokenizer.from_text(""), WordTokenizer().tokenize(""))) == 0


@pytest.mark.parametrize(
    ("expected", "ids"),
    [
        ("a", [13, 39]),
        ("A", [13, 39]),
        (" ", [1]),
        ("1", [1]),
        ("64", [64]),
        ("U+0020", [1]),
        ("u+000a", [0]),
        ("semicolon", [11]),
        ("letter q", [29, 55]),
        ("?", [12]),
        ("é", []),
        ("zzz", []),
    ],
)
def test_search_characters(chars: pd.DataFrame, expected: str, ids: list[int]) -> None:
    assert search(chars, expected)["id"].to_list() == ids


@pytest.mark.parametrize(
    ("expected", "some"),
    [("7592", "hello"), ("HELLO", "hello"), (" hello ", "hello"), ("##ization", "##ization"), ("[SEP]", "[SEP]")],
)
def test_search_pieces(pieces: pd.DataFrame, expected: str, some: str) -> None:
    found = search(pieces, expected)
    assert some in found["piece"].to_list()
    assert 0 < len(found) < 20


def test_search_for_nothing_finds_all(pieces: pd.DataFrame) -> None:
    assert len(search(pieces, "")) == 30_522


@pytest.mark.parametrize("expected", ["(", "*", "\\", ".*x.*y"])
def test_search_takes_no_patterns(pieces: pd.DataFrame, expected: str) -> None:
    found = search(pieces, expected)["piece"]
    assert all(expected in piece for piece in found)
    assert (expected in set(found)) == (len(expected) == 1)
