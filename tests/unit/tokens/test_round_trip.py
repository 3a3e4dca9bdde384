"""Text -> ids -> text: the verdict, the first difference, and only reasons that hold."""

from __future__ import annotations

import pytest
from hypothesis import given, settings

from attnviz.tokens import CharVocab, RoundTrip, WordPiece, WordTokenizer, round_trip
from tests.unit.tokens.test_value import ANY_TEXT

BERT = WordPiece()

LOWER = "BERT's tokenizer lower-cases the text."
ACCENTS = "It removes accents and other marks from letters."
FORM = "It replaces some characters by an equivalent Unicode form."
CONTROLS = "It removes control characters, other invisible ones, and �."
SPACES = "White space only separates words: it comes back as single spaces."
TYPED = "A typed [CLS], [SEP], [PAD], [MASK] or [UNK] is BERT's own token, which decoding leaves out."
RULE = "Spaces next to punctuation are put back by rule, not as they were typed."


def bert(text: str, pair: str | None = None, *, segment: int = 0, max_tokens: int = 512) -> RoundTrip:
    return round_trip(BERT, BERT.tokenize(text, pair, max_tokens=max_tokens), segment)


@pytest.mark.parametrize(
    ("original", "decoded", "position"),
    [("abc", "abc", None), ("abc", "axc", 1), ("abc", "ab", 2), ("ab", "abc", 2), ("", "a", 0), ("", "", None)],
)
def test_the_first_difference(original: str, decoded: str, position: int | None) -> None:
    trip = RoundTrip(original, decoded, ())
    assert trip.position == position
    assert trip.equal == (position is None)


@pytest.mark.parametrize(
    ("text", "decoded", "reasons"),
    [
        ("hello world", "hello world", ()),
        ("hello, world.", "hello, world.", ()),
        ("Hello", "hello", (LOWER,)),
        ("café", "cafe", (ACCENTS,)),
        ("Éa", "ea", (LOWER, ACCENTS)),
        ("\u1fef 한", "` \u1112\u1161\u11ab", (FORM,)),
        ("e\u0301", "e", (ACCENTS,)),
        ("\u0301", "", (ACCENTS,)),
        ("a\ufffdb", "ab", (CONTROLS,)),
        ("a\0b", "ab", (CONTROLS,)),
        (" a  b\n", "a b", (SPACES,)),
        ("(a)", "( a )", (RULE,)),
        ("a ,b", "a, b", (RULE,)),
        ("日本", "日 本", (RULE,)),
        ("a [SEP] b", "a b", (TYPED,)),
        ("a [UNK] b", "a b", (TYPED,)),
        ("a 🙂", "a", ("1 token became [UNK], and [UNK] has no spelling to bring back.",)),
    ],
    ids=ascii,
)
def test_berts_reasons(text: str, decoded: str, reasons: tuple[str, ...]) -> None:
    trip = bert(text)
    assert trip.decoded == decoded
    assert trip.reasons == reasons


def test_dropped_tokens_are_a_reason_where_the_sentence_was_cut() -> None:
    trip = bert("a b c d", max_tokens=4)
    assert (trip.decoded, trip.reasons) == ("a b", ("2 tokens past the limit were dropped.",))
    assert bert("A", "a b c d", max_tokens=6).reasons == (LOWER,)
    assert bert("A", "a b c d", segment=1, max_tokens=6).reasons == ("2 tokens past the limit were dropped.",)


def test_the_sentence_that_was_not_cut_has_no_dropped_tokens() -> None:
    assert bert("a b c d e f", "extraordinary", max_tokens=7).reasons == ("3 tokens past the limit were dropped.",)
    assert bert("a b c d e f", "Extraordinary", segment=1, max_tokens=7).reasons == (LOWER,)
    long = "a " * 2000 + "b"
    assert bert(long, "Yes").reasons == ("1,493 tokens past the limit were dropped.",)
    assert bert("a b c", max_tokens=4).reasons == ("1 token past the limit was dropped.",)
    assert bert(long, "Yes", segment=1).reasons == (LOWER,)
    assert bert("x", "Yes it is no", segment=0).equal
    assert bert("🙂 🙂 a", "🙂", segment=0).reasons[0].startswith("2 tokens became [UNK]")
    assert bert("🙂 🙂 a", "🙂", segment=1).reasons[0].startswith("1 token became [UNK]")


def test_each_sentence_of_a_pair_has_its_own_trip() -> None:
    assert bert("one", "two Ü", segment=0).equal
    second = bert("one", "two Ü", segment=1)
    assert (second.original, second.decoded) == ("two Ü", "two u")
    assert second.reasons == (LOWER, ACCENTS)


def test_words_lose_their_white_space() -> None:
    tokenizer = WordTokenizer.from_text("the  cat\n")
    trip = round_trip(tokenizer, tokenizer.tokenize("the  cat\n"))
    assert (trip.decoded, trip.position) == ("the cat", 4)
    assert trip.reasons == (
        "Words come back with one space between them: line ends, tabs and further spaces are lost.",
    )


def test_words_that_share_an_id_come_back_as_one() -> None:
    tokenizer = WordTokenizer.from_text("aje abq")
    trip = round_trip(tokenizer, tokenizer.tokenize("aje abq"))
    assert trip.decoded == "aje aje"
    assert trip.reasons == ("aje, abq share one id, so all of them come back as aje.",)


def test_characters_come_back_but_for_unknown_ones() -> None:
    vocab = CharVocab.shakespeare()
    assert round_trip(vocab, vocab.tokenize("To be,\n  or not")).equal
    trip = round_trip(vocab, vocab.tokenize("née"))
    assert (trip.decoded, trip.position) == ("n�e", 1)
    assert trip.reasons == ("1 character without an id came back as �.",)


@settings(max_examples=150)
@given(ANY_TEXT)
def test_every_difference_has_a_reason(text: str) -> None:
    for tokenizer in (CharVocab.shakespeare(), WordTokenizer.from_text(text), BERT):
        trip = round_trip(tokenizer, tokenizer.tokenize(text))
        assert trip.equal == (not trip.reasons)
