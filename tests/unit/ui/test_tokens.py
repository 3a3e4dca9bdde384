"""Tokens as HTML, and the vocabulary as a table."""

from __future__ import annotations

from html.parser import HTMLParser

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from attnviz.tokens import CharVocab, RoundTrip, Tokens, WordPiece, WordTokenizer
from attnviz.ui.tokens.chips import (
    MAX_CHIPS,
    pair_rows,
    round_trip_view,
    shorten,
    token_strip,
    unknown_note,
    unknown_sentence,
)
from attnviz.ui.tokens.view import search_vocabulary, vocabulary_table

BERT = WordPiece()
OWN_TAGS = {"style", "div", "span", "ul", "li", "code", "mark"}
OWN_ATTRIBUTES = {"class", "title", "dir", "aria-label", "data-tokens"}


class Reader(HTMLParser):
    """Reads HTML back: each element with its attributes, and the text by the class that holds it."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.elements: list[tuple[str, dict[str, str]]] = []
        self.texts: dict[str, list[str]] = {}
        self.feed(html)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        attributes = {name: value or "" for name, value in attrs}
        self.elements.append((tag, attributes))
        self.open.append(attributes.get("class", tag))
        self.texts.setdefault(self.open[-1], []).append("")

    def handle_endtag(self, _tag: str) -> None:
        self.open.pop()

    def handle_data(self, data: str) -> None:
        self.texts[self.open[-1]][-1] += data

    def chips(self) -> list[dict[str, str]]:
        return [attributes for _, attributes in self.elements if "tv-chip" in attributes.get("class", "").split()]

    def classes(self) -> list[set[str]]:
        return [set(chip["class"].split()) for chip in self.chips()]


def words(text: str) -> Tokens:
    return WordTokenizer().tokenize(text)


def test_a_strip_shows_pieces_over_their_ids() -> None:
    read = Reader(token_strip(BERT.tokenize("Hello worlds"), "Tokens"))
    assert read.texts["tv-piece"] == ["[CLS]", "hello", "worlds", "[SEP]"]
    assert read.texts["tv-id"] == ["101", "7592", "8484", "102"]


def test_a_title_says_all_of_a_token() -> None:
    titles = [chip["title"] for chip in Reader(token_strip(BERT.tokenize("Tokenization", "b"), "Tokens")).chips()]
    assert titles == [
        "token 0 · piece [CLS] · id 101 · added by the tokenizer",
        "token 1 · piece token · id 19204 · characters 0 to 4 (Token)",
        "token 2 · piece ##ization · id 3989 · characters 5 to 11 (ization)",
        "token 3 · piece [SEP] · id 102 · added by the tokenizer",
        "token 4 · piece b · id 1038 · character 0 · second sentence",
        "token 5 · piece [SEP] · id 102 · added by the tokenizer · second sentence",
    ]


def test_kinds_of_chips() -> None:
    kinds = Reader(token_strip(BERT.tokenize("a 🙂 b", "c"), "Tokens")).classes()
    assert kinds == [
        {"tv-chip", "tv-special"},
        {"tv-chip", "tv-b"},
        {"tv-chip", "tv-a", "tv-unknown"},
        {"tv-chip", "tv-b"},
        {"tv-chip", "tv-special"},
        {"tv-chip", "tv-b", "tv-second"},
        {"tv-chip", "tv-special", "tv-second"},
    ]


def test_an_unknown_character_is_marked_and_has_no_id() -> None:
    read = Reader(token_strip(CharVocab.shakespeare().tokenize("né"), "Tokens"))
    assert read.texts["tv-piece"] == ["n", "é"]
    assert read.texts["tv-mark"] == ["?"]
    assert read.texts["tv-id"] == ["52", "no id"]
    assert read.chips()[1]["title"] == ("token 1 · piece é · no id · unknown: not in the vocabulary · character 1")


def test_long_words_lose_their_middle_but_not_in_the_title() -> None:
    word = "abcdefghij" * 20
    read = Reader(token_strip(words(word), "Tokens"))
    assert read.texts["tv-piece"] == ["abcdefghijabcdefgh…bcdefghij"]
    assert word in read.chips()[0]["title"]


def test_shorten_keeps_what_fits() -> None:
    assert shorten("a" * 28) == "a" * 28
    assert shorten("a" * 18 + "-" + "b" * 10, limit=28) == "a" * 18 + "…" + "b" * 9
    assert len(shorten("a" * 29)) == 28


def test_many_tokens_are_counted_not_shown() -> None:
    read = Reader(token_strip(CharVocab.from_text("ab").tokenize("ab" * 10_000), "Tokens"))
    assert len(read.chips()) == MAX_CHIPS == 600
    assert read.texts["tv-more"] == ["… and 19,400 more, not shown"]
    assert "tv-more" not in Reader(token_strip(words("a b"), "Tokens")).texts


def test_no_token_gives_an_empty_strip() -> None:
    assert Reader(token_strip(words(""), "Tokens")).chips() == []


HOSTILE = ["<script>alert(1)</script>", '"><img src=x onerror="alert(1)">', "</span></style>&lt;&amp;", "'\"`${1}"]


@pytest.mark.parametrize("text", HOSTILE)
def test_markup_stays_text(text: str) -> None:
    strip, rows = Reader(token_strip(words(text), "Tokens")), Reader(pair_rows(words(f"{text} {text}"), 8))
    view = Reader(round_trip_view(RoundTrip(text, "x", (text,)), text))
    note = Reader(unknown_note(CharVocab.from_text("a").tokenize(text)))
    for read in (strip, rows, view, note):
        assert {tag for tag, _ in read.elements} <= OWN_TAGS
        assert {name for _, attributes in read.elements for name in attributes} <= OWN_ATTRIBUTES
    assert "".join(strip.texts["tv-piece"]) == "".join(shorten(word) for word in text.split())
    assert view.texts["li"] == [text]


@given(st.text(max_size=40))
def test_any_text_stays_text(text: str) -> None:
    tokens = CharVocab.from_text("abc").tokenize(text)
    for html in (token_strip(tokens, "Tokens"), pair_rows(tokens, 4), round_trip_view(RoundTrip(text, "", (text,)))):
        read = Reader(html)
        assert {tag for tag, _ in read.elements} <= OWN_TAGS
        assert "\0" not in html
    assert len(Reader(token_strip(tokens, "Tokens")).chips()) == len(tokens)


def test_pairs_have_a_row_each() -> None:
    read = Reader(pair_rows(words("to be or not"), 2))
    assert read.texts["tv-count"] == ["1", "2"]
    assert read.texts["tv-piece"] == ["to", "be", "to", "be", "or"]
    assert ["tv-target" in kinds for kinds in read.classes()] == [False, True, False, False, True]


def test_pairs_of_one_token_are_none() -> None:
    assert Reader(pair_rows(words("to"), 8)).chips() == []


def test_unknown_characters_are_named_once() -> None:
    tokens = CharVocab.shakespeare().tokenize("né\0éé")
    assert unknown_sentence(tokens) == (
        "not in the vocabulary: 'é' (U+00E9) at position 1 and 2 more times, 'U+0000' (U+0000) at position 2"
    )
    assert unknown_sentence(CharVocab.shakespeare().tokenize("éé")).endswith("at position 0 and 1 more time")


def test_only_the_first_unknown_characters_are_named() -> None:
    for text, ending in (("012456789", ", and 4 more"), ("012456", ", and 1 more"), ("01245", "")):  # 3 is known
        sentence = unknown_sentence(CharVocab.shakespeare().tokenize(text))
        assert sentence.endswith(f"'5' (U+0035) at position 4{ending}")


def test_unknown_words_are_named_by_their_text() -> None:
    assert unknown_sentence(BERT.tokenize("a", "b 🙂🙂")) == (
        "not in the vocabulary: '🙂🙂' at position 2 of the second sentence"
    )


def test_nothing_unknown_says_nothing() -> None:
    assert unknown_sentence(words("a b")) == unknown_note(words("a b")) == ""


def test_a_round_trip_that_is_the_same() -> None:
    read = Reader(round_trip_view(RoundTrip("a", "a", ())))
    assert read.texts["rt-verdict"] == ["✓ ids → text: the same"]
    assert "mark" not in read.texts


def test_a_round_trip_marks_the_first_difference() -> None:
    before = "x" * 20
    read = Reader(round_trip_view(RoundTrip(f"{before} A\n", f"{before} a", ("why",)), "second sentence"))
    assert read.texts["rt-verdict"] == ["≠ ids → second sentence: not the same"]
    assert read.texts["code"] == ["…" + "x" * 15 + "␣⏎", "…" + "x" * 15 + "␣"]
    assert read.texts["mark"] == ["A", "a"]
    assert read.texts["li"] == ["why"]
    assert "first at position 21" in "".join(read.texts["rt"])


def test_a_text_that_ends_early_says_so() -> None:
    read = Reader(round_trip_view(RoundTrip("a ", "a", ("why",))))
    assert read.texts["mark"] == ["␣", "end"]


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
    for query, words in (("e", ["aje", "the"]), ("H", ["the"]), ("9345", ["abq", "aje"])):  # a letter of a word counts
        assert search_vocabulary(table, query)["word"].to_list() == words


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
    assert search_vocabulary(chars, expected)["id"].to_list() == ids


@pytest.mark.parametrize(
    ("expected", "some"),
    [("7592", "hello"), ("HELLO", "hello"), (" hello ", "hello"), ("##ization", "##ization"), ("[SEP]", "[SEP]")],
)
def test_search_pieces(pieces: pd.DataFrame, expected: str, some: str) -> None:
    found = search_vocabulary(pieces, expected)
    assert some in found["piece"].to_list()
    assert 0 < len(found) < 20


def test_search_for_nothing_finds_all(pieces: pd.DataFrame) -> None:
    assert len(search_vocabulary(pieces, "")) == 30_522


@pytest.mark.parametrize("expected", ["(", "*", "\\", ".*x.*y"])
def test_search_takes_no_patterns(pieces: pd.DataFrame, expected: str) -> None:
    found = search_vocabulary(pieces, expected)["piece"]
    assert all(expected in piece for piece in found)
    assert (expected in set(found)) == (len(expected) == 1)
